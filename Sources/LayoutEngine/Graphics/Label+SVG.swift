extension Label {
    /// Height of the bar or pill in canvas pixels, even.
    public var height: Int { letters * 2 }

    /// Distance of a pill from the pane's edges in canvas pixels, even; 0 for a bar.
    public var inset: Int { isPill ? (letters * 2 / 3 + 1) & ~1 : 0 }

    /// Returns the width of the label in a pane of this width: the pane's for a bar, that of the name for a pill. The
    /// width is even.
    public func width(in pane: Int) -> Int {
        let pane = SVG.side(pane)
        guard isPill else { return pane }
        let most = max(pane - inset * 2, 2) & ~1
        let text = TextLines(size: letters, isBold: isBold, width: most - padding * 2 - markWidth).shortened(self.text)
        let letterWidth = (LetterWidths.width(of: text, isBold: isBold) * letters + 999) / 1000
        let width = letterWidth + padding * 2 + markWidth
        return min((width + 1) & ~1, most)
    }

    /// Returns the label as an SVG picture for a pane of this width. Its size is `width(in:)` by `height` pixels; it is
    /// as transparent as its background.
    ///
    /// A text that does not fit is shortened. On a background with less than 25 % opacity the letters get a contour. A
    /// width below 1 counts as 1. The result is well-formed for any text, and the same label gives the same picture.
    public func svg(width: Int) -> String {
        let width = self.width(in: width)
        return SVG.document(width: width, height: height, drawing(width: width))
    }

    /// Returns the drawing of a label of this width without the surrounding document.
    func drawing(width: Int) -> String {
        let ground =
            backgroundOpacity == .zero
            ? ""
            : SVG.rectangle(
                width: width, height: height, radius: isPill ? height / 2 : 0, fill: "\(background)",
                opacity: backgroundOpacity)
        let padding = isPill ? self.padding : min(self.padding, width / 16 + 1)
        let room = width - padding * 2 - markWidth
        let text = TextLines(size: letters, isBold: isBold, width: room).shortened(self.text)
        guard !text.isEmpty else { return ground }
        let textWidth = min(LetterWidths.width(of: text, isBold: isBold) * letters / 100, room * 10)
        let (x, anchor, left): (Int, SVG.Anchor, Int) =
            switch isPill ? .left : side {
            case .left: ((padding + markWidth) * 10, .start, padding * 10)
            case .centre: (width * 5 + markWidth * 5, .middle, width * 5 - textWidth / 2 - markWidth * 5)
            case .right: ((width - padding) * 10, .end, (width - padding - markWidth) * 10 - textWidth)
            }
        // Fonts are narrower than estimated, which would show at one side of a pill: its letters are centred in their
        // space.
        let isCentred = isPill && anchor == .start
        return ground + (isMuted == true ? mark(x: left) : "")
            + SVG.text(
                text, x: isCentred ? x + (width - padding * 2 - markWidth) * 5 : x,
                baseline: height * 5 + letters * 36 / 10, size: letters, fill: colour, isBold: isBold,
                family: font?.family, anchor: isCentred ? .middle : anchor,
                contour: backgroundOpacity < UnitFraction(0.25) ? colour.contrast : nil)
    }

    /// Draws a crossed-out microphone, slightly higher than the letters. `x` is in tenths of a pixel.
    private func mark(x: Int) -> String {
        let size = letters * 12
        return """
            <svg x="\(SVG.decimal(tenths: x))" y="\(SVG.decimal(tenths: height * 5 - size / 2))" \
            width="\(SVG.decimal(tenths: size))" height="\(SVG.decimal(tenths: size))" viewBox="0 0 24 24">\
            <g fill="none" stroke="#FF6B6B" stroke-width="2.4" stroke-linecap="round">\
            <rect x="9" y="2" width="6" height="12" rx="3" fill="#FF6B6B" stroke="none"/>\
            <path d="M5 11a7 7 0 0 0 14 0M12 18v4M3 3l18 18"/></g></svg>
            """
    }

    private var isPill: Bool { style == .pill }
    private var isBold: Bool { font?.isBold ?? false }
    private var padding: Int { isPill ? letters * 9 / 10 : letters * 3 / 4 }
    /// Width of the mark and the gap after it.
    private var markWidth: Int { isMuted == true ? letters * 3 / 2 : 0 }
    private var letters: Int { min(max(size, 1), 8192) }
}
