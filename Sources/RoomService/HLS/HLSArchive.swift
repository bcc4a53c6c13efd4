import EncodedMedia
import EventSubscription
import Foundation

/// Lays out a session with kept segments as one archive. Unpacked, it plays from its `index.m3u8`.
enum HLSArchive {
    /// Maximum size of an index or playlist that is read, in bytes. This is enough for two million segments.
    private static let longestFile = 256 << 20

    /// Returns the session's archive, or `nil` if the session has not ended with on-demand playlists.
    ///
    /// Reads playlists, not segments.
    static func make(_ directory: String) -> ZipArchive? {
        guard let master = contents("\(directory)/vod.m3u8"), let lines = contents("\(directory)/segments.jsonl") else {
            return nil
        }
        let marks = HLSMarks.read(directory)
        var entries = [entry("index.m3u8", master)]
        /// Segments named by playlists; `nil` = all segments, because none is left out.
        var named: Set<Substring>?
        for line in String(decoding: master, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
            let name = String(line)
            guard HLSFiles.kind(of: name) == .playlist, let bytes = contents("\(directory)/\(name)") else { return nil }
            guard !marks.isEmpty else {
                entries.append(entry(name, bytes))
                continue
            }
            let text = marks.applied(to: String(decoding: bytes, as: UTF8.self), isComplete: true)
            entries.append(entry(name, Array(text.utf8)))
            named = (named ?? []).union(text.split(separator: "\n").filter { !$0.hasPrefix("#") })
        }
        var names: Set<String> = []
        // From the end: if a number occurs twice, the later line is the newer file.
        for line in lines.split(separator: 0x0A).reversed() {
            guard let segment = segment(line), named?.contains(segment.name[...]) ?? true,
                names.insert(segment.name).inserted
            else { continue }
            entries.append(segment)
        }
        return ZipArchive(entries, directory: directory)
    }

    /// Parses a line of `segments.jsonl`. `nil` for a gap, and for a line that packagers never write.
    private static func segment(_ line: ArraySlice<UInt8>) -> ZipArchive.Entry? {
        guard case .object(let fields) = try? JSONValue(parsing: line), case .object(let entry) = fields["entry"],
            case .string(let name) = entry["uri"], entry["isGap"] == .boolean(false),
            case .number(let bytes) = entry["bytes"], let size = UInt32(exactly: bytes),
            case .number(let number) = entry["checksum"], let checksum = UInt32(exactly: number),
            HLSFiles.kind(of: name) == .segment
        else { return nil }
        return ZipArchive.Entry(name: name, size: Int(size), checksum: checksum)
    }

    private static func entry(_ name: String, _ content: [UInt8]) -> ZipArchive.Entry {
        var checksum = CRC32()
        checksum.update(content)
        return ZipArchive.Entry(name: name, size: content.count, checksum: checksum.value, content: content)
    }

    private static func contents(_ path: String) -> [UInt8]? {
        var info = stat()
        guard stat(path, &info) == 0, info.st_size <= longestFile else { return nil }
        return FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }
}
