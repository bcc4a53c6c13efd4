extension Label {
    /// Height of the bar in canvas pixels, even.
    public var height: Int { letters * 2 }

    /// Returns the bar as an SVG picture of this width and of `height` pixels, as transparent as its background.
    ///
    /// A text that does not fit is shortened. On a background with less than 25 % opacity the letters get a contour. A
    /// width below 1 counts as 1. The result is well-formed for any text, and the same label gives the same picture.
    public func svg(width: Int) -> String {
        let width = SVG.side(width)
        return SVG.document(width: width, height: height, drawing(width: width))
    }

    /// Returns the drawing without the surrounding document.
    func drawing(width: Int) -> String {
        let ground =
            backgroundOpacity == .zero
            ? "" : SVG.rectangle(width: width, height: height, fill: "\(background)", opacity: backgroundOpacity)
        let padding = min(letters * 3 / 4, width / 16 + 1)
        let text = TextLines(size: letters, width: width - padding * 2).shortened(self.text)
        guard !text.isEmpty else { return ground }
        let (x, anchor): (Int, SVG.Anchor) =
            switch side {
            case .left: (padding * 10, .start)
            case .centre: (width * 5, .middle)
            case .right: ((width - padding) * 10, .end)
            }
        return ground
            + SVG.text(
                text, x: x, baseline: height * 5 + letters * 36 / 10, size: letters, fill: colour, anchor: anchor,
                contour: backgroundOpacity < UnitFraction(0.25) ? colour.contrast : nil)
    }

    private var letters: Int { min(max(size, 1), 8192) }
}
