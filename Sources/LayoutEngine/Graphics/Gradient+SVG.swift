extension Gradient {
    /// Returns the ends of the gradient on a rectangle of this size, in tenths of a pixel: `from` at the start, `to` at
    /// the end. The corners in the gradient's direction have exactly these colours, as with CSS's `linear-gradient`.
    public func line(width: Int, height: Int) -> (start: (x: Int, y: Int), end: (x: Int, y: Int)) {
        let (sine, cosine) = (Self.sine(angle), Self.sine(angle + 90))
        let (width, height) = (SVG.side(width), SVG.side(height))
        let half = (width * abs(sine) + height * abs(cosine)) / 2
        let (x, y) = (half * sine / 100_000, -half * cosine / 100_000)
        return ((width * 5 - x, height * 5 - y), (width * 5 + x, height * 5 + y))
    }

    /// Returns the sine of an angle in thousandths. The angle is rounded down to a multiple of 15 degrees.
    private static func sine(_ angle: Int) -> Int {
        let step = (angle % 360 + 360) % 360 / 15
        let quarter = [0, 259, 500, 707, 866, 966, 1000]
        let inHalf = step % 12
        let value = quarter[inHalf <= 6 ? inHalf : 12 - inHalf]
        return step < 12 ? value : -value
    }

    /// Returns the definition of the gradient on a rectangle of this size, and the fill that refers to it.
    func definition(width: Int, height: Int) -> (definition: String, fill: String) {
        let line = line(width: width, height: height)
        let id = "g\(from)\(to)\(angle)-\(width)x\(height)".replacing("#", with: "")
        let ends = [("x1", line.start.x), ("y1", line.start.y), ("x2", line.end.x), ("y2", line.end.y)]
            .map { "\($0)=\"\(SVG.decimal(tenths: $1))\"" }.joined(separator: " ")
        return (
            """
            <linearGradient id="\(id)" gradientUnits="userSpaceOnUse" \(ends)><stop stop-color="\(from)"/>\
            <stop offset="1" stop-color="\(to)"/></linearGradient>
            """, "url(#\(id))"
        )
    }
}
