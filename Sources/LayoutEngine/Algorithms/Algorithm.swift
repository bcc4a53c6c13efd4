/// The algorithm of an arrangement, with its settings.
///
/// Each algorithm adds a static member that creates it, so that code reads as if this were an enumeration.
public struct Algorithm: Hashable, Sendable {
    private let rule: any LayoutAlgorithm

    init(_ rule: any LayoutAlgorithm) { self.rule = rule }

    public static func == (left: Self, right: Self) -> Bool { left.rule.isEqual(to: right.rule) }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(type(of: rule)))
        rule.hash(into: &hasher)
    }

    /// The number of levels on which its rectangles overlap.
    var levels: Int { type(of: rule).levels }

    /// Returns a rectangle and its level for each of the first of `count` people, in their order.
    func tiles(among count: Int, in space: LayoutSpace) -> [(rectangle: Rectangle, level: Int)] {
        guard count > 0 else { return [] }
        return rule.rectangles(among: count, in: space).enumerated().map { ($1, rule.level(of: $0)) }
    }
}

extension LayoutAlgorithm {
    fileprivate func isEqual(to other: any LayoutAlgorithm) -> Bool { self == other as? Self }
}
