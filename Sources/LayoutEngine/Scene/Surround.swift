/// The blurred copy of a pane's own picture that fills the rest of the pane where `contain` leaves room.
public struct Surround: Hashable, Codable, Sendable {
    /// Radius in canvas pixels within which the copy is blurred, 0…`mostBlur`.
    public var blur: Int
    /// Share of black laid over the copy.
    public var dim: UnitFraction

    /// The largest `blur` of a plausible scene, in pixels: a tenth of the shorter side of the largest canvas.
    public static let mostBlur = 768

    public init(blur: Int, dim: UnitFraction) {
        self.blur = blur
        self.dim = dim
    }
}
