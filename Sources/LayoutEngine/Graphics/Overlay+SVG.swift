extension Overlay {
    /// Returns a text or a clock as an SVG picture of the overlay's size, or `nil` for an image or a page.
    ///
    /// The picture does not include `opacity`; the compositor applies it. A text is broken into as many lines as the
    /// rectangle has room for, then shortened. Sides below 1 count as 1.
    ///
    /// - Parameter time: Seconds since 1970-01-01T00:00:00Z; only clocks and countdowns use it.
    public func svg(time: Int) -> String? {
        let (width, height) = (SVG.side(width), SVG.side(height))
        return drawing(time: time).map { SVG.document(width: width, height: height, $0) }
    }

    /// Returns the drawing without the surrounding document.
    func drawing(time: Int) -> String? {
        switch content {
        case .image, .page: nil
        case .text(let text, let style):
            style.drawing(
                Content.filled(text, style, time: time), width: SVG.side(width), height: SVG.side(height))
        case .clock(let format, let utcOffset, let style):
            style.drawing(
                format.text(time: time, utcOffset: utcOffset), width: SVG.side(width), height: SVG.side(height))
        }
    }
}

extension TextStyle {
    fileprivate func drawing(_ text: String, width: Int, height: Int) -> String {
        let size = min(max(size, 1), 8192)
        let ground =
            background.map {
                SVG.rectangle(
                    width: width, height: height, radius: min(max(radius ?? 0, 0), min(width, height) / 2),
                    fill: "\($0)",
                    opacity: backgroundOpacity)
            } ?? ""
        let opacity = background == nil ? .zero : backgroundOpacity
        // Without a background the letters may be as close to the edge as their contour allows.
        let padding = min(opacity == .zero ? size / 8 : size / 2, width / 16 + 1)
        let lineHeight = size * 5 / 4
        let lines = TextLines(size: size, isBold: isBold, width: width - padding * 2)
            .wrapped(text, most: max(height / max(lineHeight, 1), 1))
        let (x, anchor): (Int, SVG.Anchor) =
            switch align.column {
            case 0: (padding * 10, .start)
            case 1: (width * 5, .middle)
            default: ((width - padding) * 10, .end)
            }
        let free = (height - lines.count * lineHeight) * 10
        let top = align.row == 0 ? min(free, padding * 5) : align.row == 1 ? free / 2 : free - min(free, padding * 5)
        return lines.enumerated().reduce(ground) { drawn, line in
            drawn
                + SVG.text(
                    line.element, x: x, baseline: top + line.offset * lineHeight * 10 + lineHeight * 5 + size * 36 / 10,
                    size: size, fill: colour, isBold: isBold, family: font, anchor: anchor,
                    contour: opacity < UnitFraction(0.25) && hasOutline ?? true ? colour.contrast : nil)
        }
    }
}
