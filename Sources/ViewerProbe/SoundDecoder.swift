import Foundation
import MediaFormats

/// The decoded audio of consecutive AAC frames that share one configuration.
struct SoundRun: Sendable {
    /// Sample rate in Hz.
    var sampleRate: Int
    var samplesPerFrame: Int
    /// Presentation time of each frame in ms, as in the stream.
    var frameTimes: [Int64]
    /// The samples of one channel, the mean of all channels; frame `k` begins at `k · samplesPerFrame`.
    var samples: [Float]

    /// Returns the time of sample `index` in ms, with the rounding of the frame times near it averaged out.
    func time(ofSample index: Double) -> Double {
        let frameLength = Double(samplesPerFrame) * 1000 / Double(sampleRate)
        let frame = min(max(0, Int(index) / samplesPerFrame), frameTimes.count - 1)
        let near = max(0, frame - 24)...min(frameTimes.count - 1, frame + 24)
        let start = near.map { Double(frameTimes[$0]) - Double($0) * frameLength }.mean ?? 0
        return start + index * 1000 / Double(sampleRate)
    }

    /// Returns the index of the sample that is heard at `time` (ms); `nil` outside the run.
    func sample(at time: Double) -> Int? {
        guard let first = frameTimes.first, let last = frameTimes.last, time >= Double(first) else { return nil }
        // Timestamps may have gaps, so the frame is looked up rather than computed.
        guard time <= Double(last) + Double(samplesPerFrame) * 1000 / Double(sampleRate) else { return nil }
        let frame = (frameTimes.firstIndex { Double($0) > time } ?? frameTimes.count) - 1
        let inside = Int((time - Double(frameTimes[frame])) * Double(sampleRate) / 1000)
        return frame * samplesPerFrame + min(inside, samplesPerFrame - 1)
    }
}

/// Decodes the audio of a program with `ffmpeg`. Blocking.
enum SoundDecoder {
    /// - Returns: The runs, and the decoder's errors.
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
        guard let header = ADTSHeader(configuration), frames.allSatisfy({ $0.count <= ADTSHeader.longestFrame }) else {
            throw .malformed("AAC that cannot be written as ADTS: \(configuration)")
        }
        var stream: [UInt8] = []
        for frame in frames {
            stream += header.bytes(frame: frame.count)
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
