/// The machine-readable mark in each picture of a synthetic publisher, which identifies the source and the picture.
///
/// 25 bits, drawn as 5 × 5 black and white cells, row by row, lowest bit first: 16 bits of counter, 4 bits of source, 5
/// bits of checksum. The checksum is a residue modulo 31, so any single wrong cell is detected, and an all-black or
/// all-white square is never a mark.
public struct SourceMark: Hashable, Codable, Sendable {
    /// Number of cells in a row and in a column.
    public static let side = 5
    /// Number of pictures after which the counter restarts (54 minutes at 20 a second).
    public static let counterPeriod = 65536

    /// Number of the source, 0…15.
    public var source: Int
    /// Number of the picture, 0…65535.
    public var counter: Int

    public init(source: Int, counter: Int) {
        self.source = source & 0xF
        self.counter = counter & 0xFFFF
    }

    /// Reads a mark; `nil` if the checksum shows that the cells were misread.
    public init?(cells: [Bool]) {
        guard cells.count == SourceMark.side * SourceMark.side else { return nil }
        func number(_ range: Range<Int>) -> Int {
            range.reduce(0) { $0 | (cells[$1] ? 1 << ($1 - range.lowerBound) : 0) }
        }
        let mark = SourceMark(source: number(16..<20), counter: number(0..<16))
        guard number(20..<25) == mark.checksum else { return nil }
        self = mark
    }

    /// The cells of the mark, row by row; `true` is white.
    public var cells: [Bool] {
        let word = counter | source << 16 | checksum << 20
        return (0..<SourceMark.side * SourceMark.side).map { word >> $0 & 1 == 1 }
    }

    private var checksum: Int { (counter * 11 + source * 5 + 3) % 31 }

    /// Returns the cells as expressions over the picture number `n`, for ffmpeg's timeline editing: a value other than
    /// zero is white.
    static func cellExpressions(source: Int) -> [String] {
        let counter = "mod(n,\(counterPeriod))"
        let checksum = "mod(\(counter)*11+\(source * 5 + 3),31)"
        return (0..<16).map { "bitand(n,\(1 << $0))" }
            + (0..<4).map { "\(source >> $0 & 1)" }
            + (0..<5).map { "bitand(\(checksum),\(1 << $0))" }
    }

    /// Returns the number of pictures from `earlier` to `later`, accounting for the counter's wrap; negative means
    /// backwards in time.
    static func steps(from earlier: Int, to later: Int) -> Int {
        let difference = (later - earlier) % counterPeriod
        if difference > counterPeriod / 2 { return difference - counterPeriod }
        if difference < -counterPeriod / 2 { return difference + counterPeriod }
        return difference
    }
}
