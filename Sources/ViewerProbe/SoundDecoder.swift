import Foundation
import MediaFormats

/// The decoded sound of consecutive AAC frames that share one configuration.
struct SoundRun: Sendable {
    /// Sample rate in Hz.
    var sampleRate: Int
    var samplesPerFrame: Int
    /// Presentation time of each frame in ms, as in the stream.
    var frameTimes: [Int64]
    /// The samples of one channel, the mean of all; frame `k` begins at `k · samplesPerFrame`.
    var samples: [Float]

    /// Returns the time of sample `index` in ms, with the rounding of the frame times near it averaged out.
    func time(ofSample index: Double) -> Double {
        let frameLength = Double(samplesPerFrame) * 1000 / Double(sampleRate)
        let frame = min(max(0, Int(index) / samplesPerFrame), frameTimes.count - 1)
        let near = max(0, frame - 24)...min(frameTimes.count - 1, frame + 24)
        let start = near.map { Double(frameTimes[$0]) - Double($0) * frameLength }.mean ?? 0
        return start + index * 1000 / Double(sampleRate)
    }

    /// Returns the sample that is heard at `time` (ms); `nil` outside the run.
    func sample(at time: Double) -> Int? {
        guard let first = frameTimes.first, let last = frameTimes.last, time >= Double(first) else { return nil }
        // Timestamps may have gaps, so the frame is looked up and not computed.
        guard time <= Double(last) + Double(samplesPerFrame) * 1000 / Double(sampleRate) else { return nil }
        let frame = (frameTimes.firstIndex { Double($0) > time } ?? frameTimes.count) - 1
        let inside = Int((time - Double(frameTimes[frame])) * Double(sampleRate) / 1000)
        return frame * samplesPerFrame + min(inside, samplesPerFrame - 1)
    }
}

/// Decodes the sound of a program with `ffmpeg`. Blocking.
enum SoundDecoder {
    /// - Returns: The runs, and the decoder's complaints.
    static func decode(_ trace: ProgramTrace) throws(ProbeError) -> (runs: [SoundRun], errors: [String]) {
        var runs: [SoundRun] = []
        var errors: [String] = []
        var start = 0
        while start < trace.audio.count {
            let index = trace.audio[start].configuration
            guard trace.configurations.indices.contains(index),
                let configuration = AudioSpecificConfig(trace.configurations[index].bytes)
            else { throw .malformed("an AAC frame comes before any usable AudioSpecificConfig") }
            // Repeated, equal sequence headers do not end a run.
            let end =
                trace.audio[start...].firstIndex {
                    trace.configurations[$0.configuration].bytes != trace.configurations[index].bytes
                } ?? trace.audio.count
            let frames = trace.audio[start..<end]
            let (samples, complaints) = try decode(frames.map(\.frame.payload), configuration)
            errors += complaints
            runs.append(
                SoundRun(
                    sampleRate: configuration.sampleRate, samplesPerFrame: configuration.samplesPerFrame,
                    frameTimes: frames.map(\.frame.pts.roundedMilliseconds), samples: samples))
            start = end
        }
        return (runs, errors)
    }

    private static func decode(
        _ frames: [[UInt8]], _ configuration: AudioSpecificConfig
    ) throws(ProbeError) -> ([Float], [String]) {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("probe-\(UUID().uuidString).aac").path
        var stream: [UInt8] = []
        for frame in frames {
            guard let header = ADTSHeader(configuration, payload: frame.count) else {
                throw .malformed("AAC that cannot be written as ADTS: \(configuration)")
            }
            stream += header.bytes
            stream += frame
        }
        guard FileManager.default.createFile(atPath: path, contents: Data(stream)) else {
            throw .file("cannot write \(path)")
        }
        defer { try? FileManager.default.removeItem(atPath: path) }
        let child = try ChildProcess(
            "ffmpeg",
            [
                "-hide_banner", "-nostdin", "-nostats", "-loglevel", "level+error", "-f", "aac", "-i", path, "-ac", "1",
                "-f", "f32le", "pipe:1",
            ])
        let bytes = child.readAll()
        var errors: [String] = []
        while let line = child.nextLine() {
            if let message = PictureDecoder.errorMessage(line) { errors.append(message) }
        }
        let samples = bytes.withUnsafeBytes { raw in
            (0..<raw.count / 4).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: Float.self) }
        }
        let expected = frames.count * configuration.samplesPerFrame
        if samples.count != expected {
            errors.append("the AAC decoder gave \(samples.count) samples of \(expected)")
        }
        return (samples, errors)
    }
}

/// The header that makes an AAC frame a frame of an ADTS stream (ISO/IEC 13818-7 §6.2).
struct ADTSHeader: Hashable {
    let bytes: [UInt8]

    /// Creates a header; `nil` for object types, rates, channels or lengths that ADTS does not have.
    init?(_ configuration: AudioSpecificConfig, payload: Int) {
        let rates = [96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350]
        let length = payload + 7
        guard let rate = rates.firstIndex(of: configuration.sampleRate), (1...4).contains(configuration.objectType),
            length < 1 << 13, (1...7).contains(configuration.channels)
        else { return nil }
        let channels = configuration.channels
        bytes = [
            0xFF, 0xF1,
            UInt8((configuration.objectType - 1) << 6 | rate << 2 | channels >> 2),
            UInt8((channels & 3) << 6 | length >> 11),
            UInt8(length >> 3 & 0xFF),
            UInt8((length & 7) << 5 | 0x1F),
            0xFC,
        ]
    }
}
