import EncodedMedia
import Foundation
import TestSupport
import Testing

@testable import MediaFormats

/// Streams of codecs that relays transcode, made by real encoders.
enum CodecStreams {
    /// Returns AV1 or VP9 video in Enhanced RTMP: 320×240, 20 pictures per second, a keyframe each second.
    ///
    /// - Parameter rounds: Number of times that the seconds are played in succession.
    static func enhancedVideo(_ codec: ForeignCodec, seconds: Int, rounds: Int = 1) async throws -> [FLVTag] {
        let file = FileManager.default.temporaryDirectory.appending(path: "codec-\(UUID().uuidString).ivf")
        defer { try? FileManager.default.removeItem(at: file) }
        let encoder =
            codec == .av1
            ? ["-c:v", "libsvtav1", "-preset", "12"]
            : ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"]
        let result = try await outputTool(
            "/usr/bin/env",
            [
                "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=20", "-t",
                "\(seconds)", "-pix_fmt", "yuv420p",
            ] + encoder + ["-b:v", "400k", "-g", "20", file.path])
        try #require(result == 0)
        let fourCC = Array((codec == .av1 ? "av01" : "vp09").utf8)
        // Profile and level; the sequence header is in the stream.
        let configuration: [UInt8] = codec == .av1 ? [0x81, 0, 0x0C, 0] : [1, 0, 0, 0, 0, 10, 0x82, 2, 2, 2, 0, 0]
        var tags = [FLVTag(role: .sequenceHeader(.video), timestamp: 0, body: [0x90] + fourCC + configuration)]
        let units = Self.units(try Data(contentsOf: file))
        for index in 0..<units.count * rounds {
            let unit = units[index % units.count]
            let isKey = index % units.count % 20 == 0
            // FLV has no temporal delimiters.
            let payload = codec == .av1 && unit.starts(with: [0x12, 0]) ? Array(unit.dropFirst(2)) : unit
            tags.append(
                FLVTag(
                    role: .frame(.video, isIDR: isKey), timestamp: UInt32(index * 50),
                    body: [isKey ? 0x91 : 0xA1] + fourCC + payload))
        }
        return tags
    }

    /// Returns the frames of an IVF file, which has a header of 32 bytes, and 12 bytes with size and time before each
    /// frame.
    private static func units(_ file: Data) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var rest = Array(file)[32...]
        while rest.count > 12 {
            let size = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            units.append(Array(rest.dropFirst(12).prefix(size)))
            rest = rest.dropFirst(12 + size)
        }
        return units
    }
}
