extension Card {
    /// Returns the card as an SVG picture of this size in pixels: initials in a circle and the name, on the card's
    /// colour, and a notice if it fits.
    ///
    /// The name is below the circle, or beside it on wide and low cards. It is left out where it would be too small to
    /// read. A name without letters gets a silhouette instead of initials. Sides below 1 count as 1. The result is
    /// well-formed for any name, and the same card gives the same text.
    public func svg(width: Int, height: Int, notice: Notice? = nil) -> String {
        let (width, height) = (SVG.side(width), SVG.side(height))
        let withNotice = notice.flatMap { drawing(width: width, height: height, $0) }
        return SVG.document(
            width: width, height: height, withNotice ?? drawing(width: width, height: height))
    }

    /// The colour that stands for the card where it is not drawn: near the middle of its gradient, or its own.
    public var ground: RGB { style == .gradient ? colour.mixed(with: Self.night, UnitFraction(0.7)) : colour }

    /// Returns the drawing without the surrounding document.
    func drawing(width: Int, height: Int) -> String {
        let ground = background(width: width, height: height)
        let shorter = min(width, height)
        let isBeside = Self.isBeside(width: width, height: height)
        let size = isBeside ? height * 3 / 10 : Self.letters(width: width, height: height)
        let text = TextLines(
            size: size, width: isBeside ? width - height * 5 / 4 - size : width - size
        ).shortened(name)
        guard size >= Self.smallest, !text.isEmpty, isBeside || shorter >= 72, text != "…" else {
            return ground + badge(x: width * 5, y: height * 5, radius: shorter * 7 / 2)
        }
        if isBeside {
            let radius = height * 7 / 2
            let baseline = height * 5 + size * 36 / 10
            return ground + badge(x: height * 6, y: height * 5, radius: radius)
                + SVG.text(text, x: height * 21 / 2, baseline: baseline, size: size, fill: .white, anchor: .start)
        }
        // Circle, gap and name are centred together.
        let radius = min(shorter * 9 / 4, (height * 10 - size * 22) * 9 / 20)
        let gap = size * 6
        let top = (height * 10 - radius * 2 - gap - size * 8) / 2
        return ground + badge(x: width * 5, y: top + radius, radius: radius)
            + SVG.text(
                text, x: width * 5, baseline: top + radius * 2 + gap + size * 7, size: size, fill: .white)
    }

    /// The smallest size of letters that are legible in a video, in pixels.
    static let smallest = 11

    /// Returns whether the name is beside the circle, and not below it.
    static func isBeside(width: Int, height: Int) -> Bool { width >= height * 2 && height < 120 }

    /// Returns the size in pixels of a name below the circle.
    static func letters(width: Int, height: Int) -> Int {
        min(max(min(width, height) / 10, smallest), max(height / 9, smallest))
    }

    /// Draws the circle with the initials. All lengths are in tenths of a pixel.
    func badge(x: Int, y: Int, radius: Int) -> String {
        let circle = """
            <circle cx="\(SVG.decimal(tenths: x))" cy="\(SVG.decimal(tenths: y))" r="\(SVG.decimal(tenths: radius))" \
            fill="\(style == .gradient ? colour : colour.mixed(with: .white, UnitFraction(0.2)))"\(ring(radius))/>
            """
        let size = radius * 8 / 100
        let letters = TextLines(size: max(size, 1), isBold: true, width: radius * 2 / 10).shortened(initials)
        guard size >= 1 else { return circle }
        guard !letters.isEmpty, letters != "…" else { return circle + silhouette(x: x, y: y, radius: radius) }
        return circle
            + SVG.text(letters, x: x, baseline: y + size * 36 / 10, size: size, fill: .white, isBold: true)
    }

    func background(width: Int, height: Int) -> String {
        guard style == .gradient else { return SVG.rectangle(width: width, height: height, fill: "\(colour)") }
        let gradient = Gradient(
            from: colour.mixed(with: Self.night, UnitFraction(0.55)),
            to: colour.mixed(with: Self.night, UnitFraction(0.85)),
            angle: 165
        ).definition(width: width, height: height)
        return gradient.definition + SVG.rectangle(width: width, height: height, fill: gradient.fill)
    }

    /// Returns the attributes of a translucent ring around the circle of this radius, in tenths of a pixel.
    private func ring(_ radius: Int) -> String {
        style == .gradient
            ? " stroke=\"#FFFFFF\" stroke-opacity=\"0.22\" stroke-width=\"\(SVG.decimal(tenths: max(radius / 14, 10)))\""
            : ""
    }

    /// The dark end of the gradients.
    private static let night = RGB(red: 0x0B, green: 0x0E, blue: 0x17)

    /// Draws head and shoulders. All lengths are in tenths of a pixel.
    private func silhouette(x: Int, y: Int, radius: Int) -> String {
        let (left, right) = (SVG.decimal(tenths: x - radius / 2), SVG.decimal(tenths: x + radius / 2))
        let (bend, base) = (SVG.decimal(tenths: radius / 2), SVG.decimal(tenths: y + radius * 11 / 20))
        return """
            <circle cx="\(SVG.decimal(tenths: x))" cy="\(SVG.decimal(tenths: y - radius / 4))" \
            r="\(SVG.decimal(tenths: radius * 3 / 10))" fill="#FFFFFF"/>\
            <path d="M\(left) \(base)A\(bend) \(bend) 0 0 1 \(right) \(base)Z" fill="#FFFFFF"/>
            """
    }
}
