import EncodedMedia

/// Compresses into the gzip format (RFC 1952), one member with one block of DEFLATE (RFC 1951). Pure.
///
/// For files of up to a few hundred kilobytes that are compressed once and sent often: it looks for long repetitions, and holds all
/// of the file in memory.
enum Gzip {
    static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var writer = DeflateWriter()
        writer.write(DeflateMatcher.symbols(of: bytes))
        // No name and no time, so that the same content has the same bytes everywhere.
        let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255]
        var sum = CRC32()
        sum.update(bytes)
        return header + writer.finished() + littleEndian(sum.value)
            + littleEndian(UInt32(truncatingIfNeeded: bytes.count))
    }

    private static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}

/// A piece of a file as DEFLATE writes it.
enum DeflateSymbol {
    case literal(UInt8)
    /// The `length` bytes (3…258) that stand `distance` bytes (1…32768) before.
    case copy(length: Int, distance: Int)
}

/// Finds repetitions.
enum DeflateMatcher {
    private static let window = 32_768
    private static let lengths = 3...258
    /// Most earlier places that are compared at a byte.
    private static let mostCompared = 128

    /// Returns pieces that put together are the bytes.
    static func symbols(of bytes: [UInt8]) -> [DeflateSymbol] {
        var symbols: [DeflateSymbol] = []
        symbols.reserveCapacity(bytes.count / 2)
        // The latest place of a hash of three bytes, and for each place the one before it with the same hash.
        var latest = [Int32](repeating: -1, count: 1 << 15)
        var earlier = [Int32](repeating: -1, count: bytes.count)
        func hash(_ at: Int) -> Int {
            (Int(bytes[at]) << 10 ^ Int(bytes[at + 1]) << 5 ^ Int(bytes[at + 2])) & 0x7FFF
        }
        func note(_ at: Int) {
            guard at + 2 < bytes.count else { return }
            let hash = hash(at)
            earlier[at] = latest[hash]
            latest[hash] = Int32(at)
        }
        func longest(_ at: Int) -> (length: Int, distance: Int) {
            guard at + 2 < bytes.count else { return (0, 0) }
            let most = min(lengths.upperBound, bytes.count - at)
            var best = (length: 0, distance: 0)
            var place = Int(latest[hash(at)])
            var compared = 0
            while place >= 0, at - place <= window, compared < mostCompared, best.length < most {
                compared += 1
                // A place that is no better ends before the best one does.
                if best.length == 0 || bytes[place + best.length] == bytes[at + best.length] {
                    var length = 0
                    while length < most, bytes[place + length] == bytes[at + length] { length += 1 }
                    if length > best.length { best = (length, at - place) }
                }
                place = Int(earlier[place])
            }
            return best.length >= lengths.lowerBound ? best : (0, 0)
        }

        var at = 0
        while at < bytes.count {
            let here = longest(at)
            note(at)
            // A longer repetition that begins one byte on is worth a byte by itself.
            if here.length == 0 || (here.length < 32 && at + 1 < bytes.count && longest(at + 1).length > here.length) {
                symbols.append(.literal(bytes[at]))
                at += 1
                continue
            }
            symbols.append(.copy(length: here.length, distance: here.distance))
            for place in at + 1..<at + here.length { note(place) }
            at += here.length
        }
        return symbols
    }
}
