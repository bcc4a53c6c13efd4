import Foundation
import MixModel

/// Everything of a session whose segments are kept, as one file that plays when it is unpacked: `index.m3u8` in it.
enum HLSArchive {
    /// A line of `segments.jsonl`.
    private struct Line: Decodable {
        struct Entry: Decodable {
            var uri: String
            var isGap: Bool
            var bytes: Int
            var checksum: UInt32
        }
        var entry: Entry
    }

    /// `nil` if the session has not ended with on-demand playlists. Reads playlists, not segments.
    static func make(_ directory: String) -> ZipArchive? {
        guard let master = contents("\(directory)/vod.m3u8"), let lines = contents("\(directory)/segments.jsonl") else {
            return nil
        }
        var entries = [entry("index.m3u8", [UInt8](master))]
        for line in String(decoding: master, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            let name = String(line)
            guard HLSFiles.kind(of: name) == .playlist, let bytes = contents("\(directory)/\(name)") else { return nil }
            entries.append(entry(name, [UInt8](bytes)))
        }
        var names: Set<String> = []
        // From the last: a number that was used again is the newer file.
        for line in lines.split(separator: 0x0A).reversed() {
            guard let segment = try? JSONDecoder().decode(Line.self, from: line).entry, !segment.isGap,
                HLSFiles.kind(of: segment.uri) == .segment, names.insert(segment.uri).inserted
            else { continue }
            entries.append(
                ZipArchive.Entry(
                    name: segment.uri, size: segment.bytes, checksum: segment.checksum,
                    path: "\(directory)/\(segment.uri)"))
        }
        return ZipArchive(entries)
    }

    private static func entry(_ name: String, _ content: [UInt8]) -> ZipArchive.Entry {
        var checksum = CRC32()
        checksum.update(content)
        return ZipArchive.Entry(name: name, size: content.count, checksum: checksum.value, path: nil, content: content)
    }

    private static func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }
}
