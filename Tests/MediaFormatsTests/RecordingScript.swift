import Testing

@testable import EncodedMedia
@testable import MediaFormats

/// A program as received by a recorder, and the resulting recording.
struct RecordingScript {
    /// Small parameter sets of two pictures, and two formats of sound.
    static let video: [UInt8] = record(
        sps: [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x7B, 0x01, 0x10], pps: [0x68, 0xCE, 0x38, 0x80])
    static let otherVideo: [UInt8] = record(
        sps: [0x67, 0x42, 0xC0, 0x0B, 0xDA, 0x7B, 0x01, 0x10], pps: [0x68, 0xCE, 0x3C, 0x80])
    static let stereo: [UInt8] = [0x11, 0x90]
    static let mono: [UInt8] = [0x11, 0x88]

    /// Program time at the start of a recording, which is never 0.
    let start = MediaTime.seconds(86_400)
    var hasVideo: Bool
    let bFrames: Int
    private(set) var items: [MediaItem] = []
    private var pictures = 0
    private var sounds = 0
    private var offset = MediaTime.zero

    init(bFrames: Int = 0, hasVideo: Bool = true) {
        self.bFrames = bFrames
        self.hasVideo = hasVideo
        if hasVideo { configure(video: Self.video) }
        configure(audio: Self.stereo)
    }

    var frames: [EncodedFrame] { items.compactMap { if case .frame(let frame) = $0 { frame } else { nil } } }

    mutating func configure(video: [UInt8]) { items.append(.configuration(.init(track: .video, bytes: video))) }
    mutating func configure(audio: [UInt8]) { items.append(.configuration(.init(track: .audio, bytes: audio))) }
    mutating func skip(seconds: Int) { offset += .seconds(Double(seconds)) }

    /// Adds groups of one second with 25 pictures each, with sound in between. Times are in milliseconds.
    mutating func program(seconds: Int, configuringAfter audio: [UInt8]? = nil) {
        var new: [EncodedFrame] = []
        if hasVideo {
            for _ in 0..<seconds * 25 {
                let isIDR = pictures % 25 == 0
                let dts = start + offset + .milliseconds(pictures * 40)
                // I0 B B P: each is displayed after those that come later in decoding order.
                let place = pictures % (bFrames + 1)
                let delay = bFrames == 0 ? 0 : place == 0 || isIDR ? bFrames : 0
                let unit: [UInt8] = [isIDR ? 0x65 : 0x41, UInt8(pictures & 0xFF), 1, 2, 3]
                new.append(
                    EncodedFrame(
                        track: .video, pts: dts + .milliseconds(delay * 40), dts: dts, isIDR: isIDR,
                        payload: [0, 0, 0, 5] + unit + [0, 0, 0, 200] + [0x41] + [UInt8](repeating: 7, count: 199)))
                pictures += 1
            }
        }
        let end =
            new.last.map { $0.dts + .milliseconds(40) } ?? start + offset + .seconds(Double(seconds))
            + .units(Int64(sounds) * 1024, rate: 48_000)
        while true {
            let time = start + offset + .units(Int64(sounds) * 1024, rate: 48_000)
            guard time < end else { break }
            let rounded = MediaTime.milliseconds(time.roundedMilliseconds)
            new.append(
                EncodedFrame(track: .audio, pts: rounded, dts: rounded, payload: [0x21, UInt8(sounds & 0xFF), 9]))
            sounds += 1
        }
        let sorted = new.enumerated().sorted { ($0.element.dts, $0.offset) < ($1.element.dts, $1.offset) }.map(
            \.element)
        for (index, frame) in sorted.enumerated() {
            if index == 3, let audio { configure(audio: audio) }
            items.append(.frame(frame))
        }
    }

    func record(limits: ProgramRecording.Limits = .init()) -> [Part] {
        Self.record(items, ProgramRecording(limits: limits))
    }

    static func record(_ items: [MediaItem], _ recording: ProgramRecording = ProgramRecording()) -> [Part] {
        var recording = recording
        var actions = items.flatMap { recording.take($0) }
        actions += recording.finish()
        #expect(actions.count { if case .finished = $0 { true } else { false } } == 1)
        var parts: [Part] = []
        for action in actions {
            switch action {
            case .begin(let movie, let time): parts.append(Part(movie: movie, begin: time))
            case .write(let bytes, let duration):
                if parts.isEmpty { parts.append(Part(movie: MP4Movie(video: nil, audio: nil), begin: nil)) }
                parts[parts.count - 1].encoded.append(bytes)
                parts[parts.count - 1].duration = duration
            case .end(let reason): parts[parts.count - 1].reason = reason
            case .finished: break
            }
        }
        return parts
    }

    struct Part {
        var movie: MP4Movie
        var begin: MediaTime?
        var encoded: [[UInt8]] = []
        var duration = 0.0
        var reason: ProgramRecording.EndReason?

        var fragments: [MP4Fragment] { encoded.compactMap { MP4Fragment(moof: $0) } }

        func times(of track: Int) -> [(dts: Int64, pts: Int64, isSync: Bool)] {
            fragments.flatMap(\.runs).filter { $0.track == track }.flatMap { run in
                var time = run.decodeTime
                return run.samples.map { sample in
                    defer { time += Int64(sample.duration) }
                    return (time, time + Int64(sample.compositionOffset), sample.isSync)
                }
            }
        }

        func payloads(of track: Int) -> [[UInt8]] {
            zip(encoded, fragments).flatMap { bytes, fragment in
                fragment.runs.filter { $0.track == track }.flatMap { run in
                    var position = run.dataOffset
                    return run.samples.map { sample in
                        defer { position += Int(sample.size) }
                        return Array(bytes[position..<position + Int(sample.size)])
                    }
                }
            }
        }
    }

    private static func record(sps: [UInt8], pps: [UInt8]) -> [UInt8] {
        [1, sps[1], sps[2], sps[3], 0xFF, 0xE1, 0, UInt8(sps.count)] + sps + [1, 0, UInt8(pps.count)] + pps
    }
}
