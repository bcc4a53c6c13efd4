/// A rectangle in shares of the canvas.
public struct Area: Hashable, Sendable {
    public var x: UnitFraction
    public var y: UnitFraction
    public var width: UnitFraction
    public var height: UnitFraction

    public init(x: UnitFraction, y: UnitFraction, width: UnitFraction, height: UnitFraction) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    public static let canvas = Area(x: .zero, y: .zero, width: .whole, height: .whole)

    func overlaps(_ other: Area) -> Bool {
        x.millionths < other.x.millionths + other.width.millionths
            && other.x.millionths < x.millionths + width.millionths
            && y.millionths < other.y.millionths + other.height.millionths
            && other.y.millionths < y.millionths + height.millionths
    }
}
