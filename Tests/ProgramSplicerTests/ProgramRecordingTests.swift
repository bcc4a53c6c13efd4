import MixModel
import TestSupport
import Testing

@testable import ProgramSplicer

@Suite struct ProgramRecordingTests {
    @Test func everyFrameIsInOneFragmentOfAboutASecond() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 10)
        let parts = script.record()
        #expect(parts.count == 1)
        let part = try #require(parts.first)
        #expect(part.reason == .stopped)
        let video = part.times(of: MP4Movie.videoTrack)
        let expected = script.frames.filter { $0.track == .video }
        #expect(video.map(\.pts) == expected.map { ($0.pts - script.start).units(rate: 90_000) })
        #expect(video.map(\.dts) == expected.map { ($0.dts - script.start).units(rate: 90_000) })
        #expect(video.map(\.isSync) == expected.map(\.isIDR))
        // On the sample grid, without a step, although the stream's times are rounded to milliseconds.
        let audio = part.times(of: MP4Movie.audioTrack).map(\.dts)
        #expect(audio.count == script.frames.count { $0.track == .audio })
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $1 - $0 == 1024 })
        let lengths = part.fragments.compactMap { fragment in
            fragment.runs.first { $0.track == MP4Movie.videoTrack }.map { run in
                run.samples.reduce(0) { $0 + Int($1.duration) }
            }
        }
        #expect(lengths.allSatisfy { $0 <= 90_000 + 3_600 }, "\(lengths)")
        #expect(abs(part.duration - 10) < 0.1)
    }

    @Test func itBeginsWithAKeyframeAndLeavesOutWhatWasBefore() throws {
        var script = RecordingScript()
        script.program(seconds: 3)
        let cut = try #require(
            script.items.firstIndex { if case .frame(let frame) = $0 { frame.track == .video } else { false } })
        var items = Array(script.items[..<cut]) + Array(script.items[(cut + 5)...])
        items.removeAll {
            if case .frame(let frame) = $0 { frame.isIDR && frame.dts < script.start + .seconds(1) } else { false }
        }
        let part = try #require(RecordingScript.record(items).first)
        let video = part.times(of: MP4Movie.videoTrack)
        #expect(video.first?.dts == 0 && video.first?.isSync == true)
        #expect(part.begin == script.start + .seconds(1))
        #expect(part.times(of: MP4Movie.audioTrack).allSatisfy { $0.dts >= 0 })
    }

    @Test func otherPicturesStayInTheSameFile() throws {
        var script = RecordingScript()
        script.program(seconds: 2)
        script.configure(video: RecordingScript.otherVideo)
        script.program(seconds: 2)
        let parts = script.record()
        #expect(parts.count == 1)
        // Parameter sets are in band at every IDR, the second ones of the second configuration.
        let data = try #require(parts.first).payloads(of: MP4Movie.videoTrack)
        let syncs = zip(try #require(parts.first).times(of: MP4Movie.videoTrack), data).filter(\.0.isSync).map(\.1)
        #expect(syncs.count == 4)
        let types = syncs.map { NALUnits($0).map { $0.first ?? 0 } }
        #expect(types.allSatisfy { $0.prefix(3).map { $0 & 0x1F } == [7, 8, 5] })
        let sets = [syncs[0], syncs[3]].map { NALUnits($0).map(Array.init)[0] }
        #expect(sets[0] != sets[1])
    }

    @Test func otherSoundBeginsANewFileWithTheKeyframe() throws {
        for isLate in [false, true] {
            var script = RecordingScript()
            script.program(seconds: 2)
            if !isLate { script.configure(audio: RecordingScript.mono) }
            // A picture or two of the next group come first, as at a splice.
            script.program(seconds: 2, configuringAfter: isLate ? RecordingScript.mono : nil)
            let parts = script.record()
            #expect(parts.count == 2 && parts.first?.reason == .tracksChanged)
            let second = try #require(parts.last)
            #expect(second.movie.audio == RecordingScript.mono)
            #expect(second.times(of: MP4Movie.videoTrack).first?.isSync == true)
            let pictures = parts.reduce(0) { $0 + $1.times(of: MP4Movie.videoTrack).count }
            #expect(pictures == script.frames.count { $0.track == .video }, "no picture is lost")
            let sounds = parts.reduce(0) { $0 + $1.times(of: MP4Movie.audioTrack).count }
            #expect(sounds >= script.frames.count { $0.track == .audio } - 1)
        }
    }

    @Test func aHoleStaysAHole() throws {
        var script = RecordingScript()
        script.program(seconds: 2)
        script.skip(seconds: 5)
        script.program(seconds: 2)
        let part = try #require(script.record().first)
        for track in [MP4Movie.videoTrack, MP4Movie.audioTrack] {
            let scale = Double(track == MP4Movie.videoTrack ? 90_000 : 48_000)
            let times = part.times(of: track).map { Double($0.dts) / scale }
            let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(gaps.count { $0 > 1 } == 1 && abs((gaps.max() ?? 0) - 5) < 0.1)
        }
        #expect(abs(part.duration - 9) < 0.1)
    }

    @Test func soundAloneIsRecorded() throws {
        var script = RecordingScript(hasVideo: false)
        script.program(seconds: 5)
        let part = try #require(script.record().first)
        #expect(part.movie.video == nil && part.fragments.count >= 4)
        #expect(part.times(of: MP4Movie.audioTrack).count == script.frames.count)
    }

    @Test func picturesThatComeLaterBeginANewFile() throws {
        var script = RecordingScript(hasVideo: false)
        script.program(seconds: 5)
        script.configure(video: RecordingScript.video)
        script.hasVideo = true
        script.program(seconds: 3)
        let parts = script.record()
        #expect(parts.map { $0.movie.video == nil } == [true, false])
    }

    @Test func partsAndLimits() throws {
        var script = RecordingScript()
        script.program(seconds: 12)
        let parts = script.record(limits: .init(partSeconds: 4))
        #expect(parts.map(\.reason) == [.partSeconds, .partSeconds, .stopped])
        #expect(parts.allSatisfy { abs($0.duration - 4) < 0.1 })
        #expect(parts.allSatisfy { $0.times(of: MP4Movie.videoTrack).first?.isSync == true })
        let short = script.record(limits: .init(seconds: 5))
        #expect(short.map(\.reason) == [.maxSeconds] && abs(short[0].duration - 5) < 1.1)
        let small = script.record(limits: .init(bytes: 20_000))
        #expect(small.map(\.reason) == [.maxBytes])
    }

    @Test func oneThatGoesOnNeverStepsBack() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 4)
        let first = try #require(script.record().first)
        // The other relay's clock says that no time has passed at all.
        for origin in [script.start + .seconds(1), script.start - .seconds(10)] {
            let recording = ProgramRecording(
                continuation: .init(movie: first.movie, origin: origin, duration: first.duration))
            let next = try #require(RecordingScript.record(script.items, recording).first)
            #expect(next.begin == nil, "no new file")
            let video = next.times(of: MP4Movie.videoTrack).map(\.dts)
            #expect(Double(video.first ?? 0) / 90_000 >= first.duration - 0.001)
            #expect(zip(video, video.dropFirst()).allSatisfy { $0 < $1 })
            let audio = next.times(of: MP4Movie.audioTrack).map(\.dts)
            #expect(Double(audio.first ?? 0) / 48_000 >= first.duration - 0.03)
        }
    }

    @Test func theIndexSaysWhatTheFragmentsSay() throws {
        var script = RecordingScript(bFrames: 2)
        script.program(seconds: 5)
        script.skip(seconds: 2)
        script.program(seconds: 3)
        let part = try #require(script.record().first)
        let header = part.movie.header
        let movie = Array(header[MP4Index.movieOffset...])
        #expect(MP4Movie(box: movie)?.audio == part.movie.audio)
        #expect(MP4Movie(box: movie)?.video?.count == part.movie.video?.count)
        var index = try #require(MP4Index(movie: movie))
        var offset = Int64(header.count)
        for fragment in part.encoded {
            let isOurs = index.add(moof: fragment, at: offset)
            #expect(isOurs)
            offset += Int64(fragment.count)
        }
        #expect(abs(index.duration - part.duration) < 0.001)
        let file = header + part.encoded.flatMap(\.self)
        let tables = try #require(MovieTables(index.movie))
        for track in [MP4Movie.videoTrack, MP4Movie.audioTrack] {
            let samples = part.times(of: track)
            let base = samples.first?.dts ?? 0
            #expect(tables.times[track] == samples.map { $0.dts - base })
            let data = part.payloads(of: track)
            let read = try #require(tables.ranges[track]).map { Array(file[$0]) }
            #expect(read == data, "every sample is where the index says")
        }
        #expect(index.movie.count < MP4Index.estimatedSize(afterSeconds: part.duration))
    }
}

/// A program as a recorder gets it, and what it makes of it.
struct RecordingScript {
    /// Small parameter sets of two pictures, and two formats of sound.
    static let video: [UInt8] = record(
        sps: [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x7B, 0x01, 0x10], pps: [0x68, 0xCE, 0x38, 0x80])
    static let otherVideo: [UInt8] = record(
        sps: [0x67, 0x42, 0xC0, 0x0B, 0xDA, 0x7B, 0x01, 0x10], pps: [0x68, 0xCE, 0x3C, 0x80])
    static let stereo: [UInt8] = [0x11, 0x90]
    static let mono: [UInt8] = [0x11, 0x88]

    /// Program time is never 0 when a recording is started.
    let start = MediaTime.seconds(86_400)
    var hasVideo: Bool
    let bFrames: Int
    private(set) var items: [FLVReader.Item] = []
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

    /// Groups of a second of 25 pictures, sound in between; times in milliseconds.
    mutating func program(seconds: Int, configuringAfter audio: [UInt8]? = nil) {
        var new: [EncodedFrame] = []
        if hasVideo {
            for _ in 0..<seconds * 25 {
                let isIDR = pictures % 25 == 0
                let dts = start + offset + .milliseconds(pictures * 40)
                // I0 B B P: each is shown after those that come later in decoding order.
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

    static func record(_ items: [FLVReader.Item], _ recording: ProgramRecording = ProgramRecording()) -> [Part] {
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

/// Sample tables, read as a player does (ISO/IEC 14496-12 §8.6, §8.7).
private struct MovieTables {
    var times: [Int: [Int64]] = [:]
    var ranges: [Int: [Range<Int>]] = [:]

    init?(_ bytes: [UInt8]) {
        let reader = MP4Reader(bytes: bytes)
        guard let movie = reader.box("moov", in: 0..<bytes.count) else { return nil }
        for track in reader.boxes(in: movie.range) where track.type == "trak" {
            guard let header = reader.box("tkhd", in: track.range),
                let table = reader.box("mdia", "minf", "stbl", in: track.range),
                let stts = reader.box("stts", in: table.range), let stsz = reader.box("stsz", in: table.range),
                let stsc = reader.box("stsc", in: table.range), let co64 = reader.box("co64", in: table.range)
            else { return nil }
            let id = Int(reader.uint32(header.range.lowerBound + 20))
            func entries(_ box: MP4Reader.Box, width: Int, from start: Int = 8) -> [[Int]] {
                let count = Int(reader.uint32(box.range.lowerBound + start - 4))
                return (0..<count).map { row in
                    (0..<width).map { Int(reader.uint32(box.range.lowerBound + start + (row * width + $0) * 4)) }
                }
            }
            var time: Int64 = 0
            times[id] = entries(stts, width: 2).flatMap { run in
                (0..<run[0]).map { _ in
                    defer { time += Int64(run[1]) }
                    return time
                }
            }
            let sizes = entries(stsz, width: 1, from: 12).map { $0[0] }
            let chunks = entries(co64, width: 2).map { $0[0] << 32 | $0[1] }
            let runs = entries(stsc, width: 3)
            var found: [Range<Int>] = []
            for (number, start) in chunks.enumerated() {
                let count = runs.last { $0[0] <= number + 1 }?[1] ?? 0
                var position = start
                for _ in 0..<count {
                    let size = sizes[found.count]
                    found.append(position..<position + size)
                    position += size
                }
            }
            ranges[id] = found
        }
    }
}
