/// A linear gradient between two colours.
public struct Gradient: Hashable, Codable, Sendable {
    public var from: RGB
    public var to: RGB
    /// Direction from `from` to `to` in degrees: 0 = up, 90 = right, 180 = down. A multiple of 15, 0…345.
    public var angle: Int

    public init(from: RGB, to: RGB, angle: Int = 180) {
        self.from = from
        self.to = to
        self.angle = angle
    }
}
