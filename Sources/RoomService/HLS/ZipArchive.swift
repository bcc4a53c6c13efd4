/// A ZIP file with uncompressed entries (APPNOTE 6.3.10).
///
/// It is laid out without reading the entries' files, so its length is known beforehand and any part of it can be
/// produced. Beyond 4 GiB or 65 534 entries it is a ZIP64 file (§4.3.14).
package struct ZipArchive: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        /// File name, in ASCII.
        var name: String
        /// Length of the content, in bytes. Below 4 GiB.
        var size: Int
        /// CRC-32 of the content.
        var checksum: UInt32
        /// The content. `nil` = the file of this name in the archive's directory.
        var content: [UInt8]?
    }

    package enum Part: Hashable, Sendable {
        case bytes([UInt8])
        case file(path: String, size: Int)
    }

    /// An entry with the offset of its header.
    private struct Placed: Hashable {
        var entry: Entry
        var offset: Int

        /// Offset of the entry's content.
        var start: Int { offset + 30 + entry.name.utf8.count }
        var header: [UInt8] {
            [0x50, 0x4B, 3, 4] + ZipArchive.common(entry, version: 20)
                + ZipArchive.little(UInt64(entry.name.utf8.count), 2) + [0, 0] + Array(entry.name.utf8)
        }
    }

    /// Directory of the files.
    private let directory: String
    private var entries: [Placed] = []
    /// The central directory and the records after it.
    private var end: [UInt8] = []
    package private(set) var length = 0

    var entryCount: Int { entries.count }

    init(_ entries: [Entry], directory path: String) {
        self.directory = path
        self.entries.reserveCapacity(entries.count)
        var directory: [UInt8] = []
        for entry in entries {
            let placed = Placed(entry: entry, offset: length)
            self.entries.append(placed)
            length = placed.start + entry.size
            // An offset that does not fit into 32 bits is in an extra field (§4.5.3).
            let isFar = placed.offset >= 0xFFFF_FFFF
            let extra = isFar ? Self.little(1, 2) + Self.little(8, 2) + Self.little(UInt64(placed.offset), 8) : []
            directory +=
                [0x50, 0x4B, 1, 2] + Self.little(isFar ? 45 : 20, 2) + Self.common(entry, version: isFar ? 45 : 20)
            directory += Self.little(UInt64(entry.name.utf8.count), 2) + Self.little(UInt64(extra.count), 2)
            directory += [UInt8](repeating: 0, count: 10) + Self.little(UInt64(min(placed.offset, 0xFFFF_FFFF)), 4)
            directory += Array(entry.name.utf8) + extra
        }
        end = directory + Self.endRecords(start: length, directory: directory.count, count: entries.count)
        length += end.count
    }

    private static func endRecords(start: Int, directory: Int, count: Int) -> [UInt8] {
        var end: [UInt8] = []
        if start >= 0xFFFF_FFFF || directory >= 0xFFFF_FFFF || count >= 0xFFFF {
            let count = UInt64(count)
            end += [0x50, 0x4B, 6, 6] + little(44, 8) + little(45, 2) + little(45, 2)
            end += [UInt8](repeating: 0, count: 8) + little(count, 8) + little(count, 8)
            end += little(UInt64(directory), 8) + little(UInt64(start), 8)
            end += [0x50, 0x4B, 6, 7, 0, 0, 0, 0] + little(UInt64(start + directory), 8) + little(1, 4)
        }
        let count = UInt64(min(count, 0xFFFF))
        end += [0x50, 0x4B, 5, 6, 0, 0, 0, 0] + little(count, 2) + little(count, 2)
        end += little(UInt64(min(directory, 0xFFFF_FFFF)), 4)
        end += little(UInt64(min(start, 0xFFFF_FFFF)), 4) + [0, 0]
        return end
    }

    /// Returns the part in which a range of the file begins, and the range within that part. `nil` for an empty range.
    package func slice(at range: Range<Int>) -> (part: Part, range: Range<Int>)? {
        let range = range.clamped(to: 0..<length)
        guard !range.isEmpty else { return nil }
        let (start, part) = part(at: range.lowerBound)
        let size =
            switch part {
            case .bytes(let bytes): bytes.count
            case .file(_, let size): size
            }
        return (part, range.lowerBound - start..<min(range.upperBound - start, size))
    }

    private func part(at position: Int) -> (start: Int, part: Part) {
        let tail = length - end.count
        guard position < tail else { return (tail, .bytes(end)) }
        // Find the last entry that begins at or before the position.
        var found = 0..<entries.count
        while found.count > 1 {
            let middle = found.lowerBound + found.count / 2
            found =
                entries[middle].offset <= position ? middle..<found.upperBound : found.lowerBound..<middle
        }
        let placed = entries[found.lowerBound]
        guard position >= placed.start else { return (placed.offset, .bytes(placed.header)) }
        let part =
            placed.entry.content.map { Part.bytes($0) }
            ?? .file(path: "\(directory)/\(placed.entry.name)", size: placed.entry.size)
        return (placed.start, part)
    }

    /// Returns the fields that both headers share, from the version to the sizes. The method is "stored", and the date
    /// is DOS's first day.
    fileprivate static func common(_ entry: Entry, version: UInt64) -> [UInt8] {
        let sizes = little(UInt64(entry.size), 4)
        return little(version, 2) + [0, 0, 0, 0, 0, 0, 0x21, 0] + little(UInt64(entry.checksum), 4) + sizes + sizes
    }

    fileprivate static func little(_ value: UInt64, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}
