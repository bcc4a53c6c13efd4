/// A soft shadow below a pane, in canvas pixels.
public struct Shadow: Hashable, Codable, Sendable {
    /// Width of the soft edge, even, 0…`mostBlur`: the shadow is a Gaussian with half of it as standard deviation.
    public var blur: Int
    /// Distance by which the shadow is lower than the pane, even.
    public var offset: Int
    public var colour: RGB
    public var opacity: UnitFraction

    /// The largest `blur` of a plausible scene, in pixels: a tenth of the shorter side of the largest canvas.
    public static let mostBlur = 768

    public init(blur: Int, offset: Int, colour: RGB = .black, opacity: UnitFraction = UnitFraction(0.45)) {
        self.blur = blur
        self.offset = offset
        self.colour = colour
        self.opacity = opacity
    }

    /// Distance in pixels, even, beyond which the shadow cannot be seen.
    public var reach: Int { (blur * 5 / 4 + 1) & ~1 }
}
