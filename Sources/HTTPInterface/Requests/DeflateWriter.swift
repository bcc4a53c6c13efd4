/// Writes a DEFLATE stream of one block with codes of its own (RFC 1951 §3.2.7).
struct DeflateWriter {
    private var bytes: [UInt8] = []
    private var bits: UInt64 = 0
    private var count = 0

    private static let end = 256
    /// Smallest lengths and distances of their codes, and the bits that follow a code (§3.2.5).
    private static let lengths = ranges(first: 3, codes: 28, direct: 8, shift: 4) + [(258, 0)]
    private static let distances = ranges(first: 1, codes: 30, direct: 4, shift: 2)
    /// Order in which the lengths of the codes for lengths are written (§3.2.7).
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    private static func ranges(first: Int, codes: Int, direct: Int, shift: Int) -> [(base: Int, extra: Int)] {
        var base = first
        return (0..<codes).map { code in
            let extra = code < direct ? 0 : (code - direct) / shift + 1
            defer { base += 1 << extra }
            return (base, extra)
        }
    }

    /// Returns the number of the last range that begins at or below a value.
    private static func code(of value: Int, in ranges: [(base: Int, extra: Int)]) -> Int {
        var (low, high) = (0, ranges.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if ranges[middle].base <= value { low = middle } else { high = middle }
        }
        return low
    }

    /// Writes the last block.
    mutating func write(_ symbols: [DeflateSymbol]) {
        var literals = [Int](repeating: 0, count: 286)
        var distances = [Int](repeating: 0, count: 30)
        literals[Self.end] = 1
        for symbol in symbols {
            switch symbol {
            case .literal(let byte): literals[Int(byte)] += 1
            case .copy(let length, let distance):
                literals[257 + Self.code(of: length, in: Self.lengths)] += 1
                distances[Self.code(of: distance, in: Self.distances)] += 1
            }
        }
        // A block without repetitions still describes one distance.
        if distances.allSatisfy({ $0 == 0 }) { distances[0] = 1 }
        let literalCode = HuffmanCode(frequencies: literals, longest: 15)
        let distanceCode = HuffmanCode(frequencies: distances, longest: 15)
        put(1, 1)
        put(2, 2)
        write(literalCode, distanceCode)
        for symbol in symbols {
            switch symbol {
            case .literal(let byte): put(literalCode, Int(byte))
            case .copy(let length, let distance):
                put(length, literalCode, Self.lengths, offset: 257)
                put(distance, distanceCode, Self.distances, offset: 0)
            }
        }
        put(literalCode, Self.end)
    }

    /// Writes the lengths of the codes, themselves coded (§3.2.7).
    private mutating func write(_ literals: HuffmanCode, _ distances: HuffmanCode) {
        func used(_ code: HuffmanCode, least: Int) -> Int {
            max(least, (code.lengths.lastIndex { $0 > 0 } ?? 0) + 1)
        }
        let (literalCount, distanceCount) = (used(literals, least: 257), used(distances, least: 1))
        let runs = Self.runs(of: Array(literals.lengths[..<literalCount]) + Array(distances.lengths[..<distanceCount]))
        var frequencies = [Int](repeating: 0, count: 19)
        for run in runs { frequencies[run.symbol] += 1 }
        let code = HuffmanCode(frequencies: frequencies, longest: 7)
        let orderCount = max(4, (Self.order.lastIndex { code.lengths[$0] > 0 } ?? 0) + 1)
        put(literalCount - 257, 5)
        put(distanceCount - 1, 5)
        put(orderCount - 4, 4)
        for symbol in Self.order[..<orderCount] { put(code.lengths[symbol], 3) }
        for run in runs {
            put(code, run.symbol)
            switch run.symbol {
            case 16: put(run.count - 3, 2)
            case 17: put(run.count - 3, 3)
            case 18: put(run.count - 11, 7)
            default: break
            }
        }
    }

    /// Describes lengths by themselves, and by 16 (the one before 3…6 times), 17 (3…10 zeros) and 18 (11…138 zeros).
    private static func runs(of lengths: [Int]) -> [(symbol: Int, count: Int)] {
        var runs: [(symbol: Int, count: Int)] = []
        var at = 0
        while at < lengths.count {
            let length = lengths[at]
            let same = lengths[at...].prefix { $0 == length }.count
            if length == 0, same >= 3 {
                let count = min(same, 138)
                runs.append((count < 11 ? 17 : 18, count))
                at += count
            } else {
                runs.append((length, 1))
                at += 1
                var left = length == 0 ? 0 : same - 1
                while left >= 3 {
                    let count = min(left, 6)
                    runs.append((16, count))
                    (at, left) = (at + count, left - count)
                }
            }
        }
        return runs
    }

    private mutating func put(_ code: HuffmanCode, _ symbol: Int) { put(code.codes[symbol], code.lengths[symbol]) }

    private mutating func put(_ value: Int, _ code: HuffmanCode, _ ranges: [(base: Int, extra: Int)], offset: Int) {
        let range = Self.code(of: value, in: ranges)
        put(code, range + offset)
        put(value - ranges[range].base, ranges[range].extra)
    }

    /// Writes the lowest bits of a value, the lowest one first.
    private mutating func put(_ value: Int, _ width: Int) {
        bits |= UInt64(value) << UInt64(count)
        count += width
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            count -= 8
        }
    }

    /// Returns the stream, filled up to whole bytes.
    func finished() -> [UInt8] { count > 0 ? bytes + [UInt8(truncatingIfNeeded: bits)] : bytes }
}

/// A canonical Huffman code (RFC 1951 §3.2.2).
struct HuffmanCode {
    /// Length of each symbol's code in bits; 0 for symbols that do not occur.
    private(set) var lengths: [Int]
    /// Codes with their first bit lowest, as they are written.
    private(set) var codes: [Int]

    /// - Parameters:
    ///   - frequencies: How often each symbol occurs.
    ///   - longest: Most bits of a code.
    init(frequencies: [Int], longest: Int) {
        lengths = [Int](repeating: 0, count: frequencies.count)
        codes = lengths
        var weights = frequencies
        repeat {
            lengths = Self.lengths(weights)
            // Rare symbols become less rare, until no code is too long.
            weights = weights.map { $0 == 0 ? 0 : $0 / 2 + 1 }
        } while lengths.contains { $0 > longest }
        var next = 0
        for length in 1...longest {
            next <<= 1
            for symbol in lengths.indices where lengths[symbol] == length {
                codes[symbol] = (0..<length).reduce(0) { $0 << 1 | next >> $1 & 1 }
                next += 1
            }
        }
    }

    private static func lengths(_ weights: [Int]) -> [Int] {
        var lengths = [Int](repeating: 0, count: weights.count)
        var trees = weights.indices.filter { weights[$0] > 0 }.map { (weight: weights[$0], symbols: [$0]) }
        if trees.count == 1 { lengths[trees[0].symbols[0]] = 1 }
        trees.sort { $0.weight > $1.weight }
        while trees.count > 1 {
            let (least, next) = (trees.removeLast(), trees.removeLast())
            let symbols = least.symbols + next.symbols
            for symbol in symbols { lengths[symbol] += 1 }
            let weight = least.weight + next.weight
            let place = trees.firstIndex { $0.weight <= weight } ?? trees.count
            trees.insert((weight, symbols), at: place)
        }
        return lengths
    }
}
