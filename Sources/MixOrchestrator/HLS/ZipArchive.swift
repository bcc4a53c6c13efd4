import MixModel

/// A ZIP file whose entries are stored as they are (APPNOTE 6.3.10), laid out without looking into them: its length is
/// known beforehand and any part of it can be made. Beyond 4 GiB or 65 534 entries it is a ZIP64 (§4.3.14).
struct ZipArchive: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        /// ASCII.
        var name: String
        /// Below 4 GiB.
        var size: Int
        /// CRC-32.
        var checksum: UInt32
        /// Absolute; `nil` = `content`.
        var path: String?
        var content: [UInt8] = []
    }

    enum Part: Hashable, Sendable {
        case bytes([UInt8])
        case file(path: String, size: Int)

        var length: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .file(_, let size): size
            }
        }
    }

    private(set) var parts: [Part] = []
    private(set) var length = 0

    init(_ entries: [Entry]) {
        var directory: [UInt8] = []
        for entry in entries {
            let offset = length
            let name = Array(entry.name.utf8)
            add(
                .bytes(
                    [0x50, 0x4B, 3, 4] + Self.common(entry, version: 20) + Self.little(UInt64(name.count), 2) + [0, 0]
                        + name))
            add(entry.path.map { .file(path: $0, size: entry.size) } ?? .bytes(entry.content))
            // What does not fit stands in an extra field (§4.5.3).
            let isFar = offset >= 0xFFFF_FFFF
            let extra = isFar ? Self.little(1, 2) + Self.little(8, 2) + Self.little(UInt64(offset), 8) : []
            directory +=
                [0x50, 0x4B, 1, 2] + Self.little(isFar ? 45 : 20, 2) + Self.common(entry, version: isFar ? 45 : 20)
            directory += Self.little(UInt64(name.count), 2) + Self.little(UInt64(extra.count), 2)
            directory +=
                [UInt8](repeating: 0, count: 10) + Self.little(UInt64(min(offset, 0xFFFF_FFFF)), 4) + name + extra
        }
        let start = length
        add(.bytes(directory))
        var end: [UInt8] = []
        if start >= 0xFFFF_FFFF || directory.count >= 0xFFFF_FFFF || entries.count >= 0xFFFF {
            let count = UInt64(entries.count)
            end += [0x50, 0x4B, 6, 6] + Self.little(44, 8) + Self.little(45, 2) + Self.little(45, 2)
            end += [UInt8](repeating: 0, count: 8) + Self.little(count, 8) + Self.little(count, 8)
            end += Self.little(UInt64(directory.count), 8) + Self.little(UInt64(start), 8)
            end += [0x50, 0x4B, 6, 7, 0, 0, 0, 0] + Self.little(UInt64(length), 8) + Self.little(1, 4)
        }
        let count = UInt64(min(entries.count, 0xFFFF))
        end += [0x50, 0x4B, 5, 6, 0, 0, 0, 0] + Self.little(count, 2) + Self.little(count, 2)
        end += Self.little(UInt64(min(directory.count, 0xFFFF_FFFF)), 4)
        end += Self.little(UInt64(min(start, 0xFFFF_FFFF)), 4) + [0, 0]
        add(.bytes(end))
    }

    /// The parts of a part of the file: each with the range of it that is meant.
    func slices(of range: Range<Int>) -> [(part: Part, range: Range<Int>)] {
        var slices: [(part: Part, range: Range<Int>)] = []
        var position = 0
        for part in parts {
            let wanted = range.clamped(to: position..<position + part.length)
            if !wanted.isEmpty { slices.append((part, wanted.lowerBound - position..<wanted.upperBound - position)) }
            position += part.length
        }
        return slices
    }

    private mutating func add(_ part: Part) {
        guard part.length > 0 else { return }
        length += part.length
        parts.append(part)
    }

    /// What stands alike in both headers, from the version to the sizes. Stored; the first day that DOS knew.
    private static func common(_ entry: Entry, version: UInt64) -> [UInt8] {
        let sizes = little(UInt64(entry.size), 4)
        return little(version, 2) + [0, 0, 0, 0, 0, 0, 0x21, 0] + little(UInt64(entry.checksum), 4) + sizes + sizes
    }

    private static func little(_ value: UInt64, _ bytes: Int) -> [UInt8] {
        (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}
