/// Rows or columns that fill the whole space; the first people get the larger panes.
struct MosaicAlgorithm: LayoutAlgorithm {
    static let name = "mosaic"
    static let summary = "rows or columns that fill the space, the first participants larger"
    static let keys: [AlgorithmKey] = []

    init() {}

    init(_ reader: inout JSONObjectReader, issues: inout [LayoutIssue]) {}

    func rectangles(among count: Int, in space: LayoutSpace) -> [Rectangle] { space.mosaic(count) }
}

extension Algorithm {
    /// Rows or columns that fill the whole space; the first people get the larger panes.
    public static let mosaic = Algorithm(MosaicAlgorithm())
}

extension LayoutSpace {
    /// Returns panes in lines that are all as long as the content.
    ///
    /// Of all numbers of rows and of columns it chooses the one whose smallest pane shows the most of a camera, as for
    /// `grid`. Lines differ by at most one pane, and those with fewer, hence larger panes come first.
    func mosaic(_ count: Int) -> [Rectangle] {
        let numbers = 1...max(count, 1)
        // The first of several equal ones is chosen: rows of the same length, which are read like text, then lines
        // across the longer side.
        let even = numbers.filter { count % $0 == 0 }.map { (lines: $0, isInRows: true) }
        let others = [orientation != .landscape, orientation == .landscape].flatMap { isInRows in
            numbers.map { (lines: $0, isInRows: isInRows) }
        }
        var best: (seen: Int, panes: [Rectangle]) = (-1, [])
        for candidate in even + others {
            let panes = self.panes(count, inLines: candidate.lines, isInRows: candidate.isInRows)
            guard panes.count == count else { continue }
            let seen = panes.map { visibleArea(of: $0) }.min() ?? 0
            if seen > best.seen { best = (seen, panes) }
        }
        // There are too many people for the space.
        return best.panes.isEmpty ? grid(count, nil) : best.panes
    }

    private func panes(_ count: Int, inLines lines: Int, isInRows: Bool) -> [Rectangle] {
        let (across, along) = isInRows ? (content.height, content.width) : (content.width, content.height)
        return parts(of: across, into: lines).enumerated().flatMap { line, depth in
            let isLonger = line >= lines - count % lines
            return parts(of: along, into: count / lines + (isLonger ? 1 : 0)).map { part in
                isInRows
                    ? Rectangle(
                        x: content.x + part.start, y: content.y + depth.start, width: part.length, height: depth.length)
                    : Rectangle(
                        x: content.x + depth.start, y: content.y + part.start, width: depth.length, height: part.length)
            }
        }
    }

    /// Divides a length into even parts without a remainder; none if there are not 2 pixels for each.
    private func parts(of length: Int, into count: Int) -> [(start: Int, length: Int)] {
        let (parts, gap, _) = divide(length, into: count)
        guard parts == count else { return [] }
        let starts = (0...count).map { (length + gap) * $0 / count & ~1 }
        return zip(starts, starts.dropFirst()).map { ($0, ($1 - gap - $0) & ~1) }
    }
}
