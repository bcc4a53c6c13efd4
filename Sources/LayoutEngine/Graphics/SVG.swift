/// Writes the few kinds of SVG elements used in graphics.
///
/// Any input gives well-formed XML.
enum SVG {
    /// Fonts in order of preference: first the ones whose widths `LetterWidths` knows, then any available font.
    static let fontFamily = "DejaVu Sans,Verdana,sans-serif"

    /// Limits a length to 1…32 768 pixels, so that no product of lengths overflows.
    static func side(_ length: Int) -> Int { min(max(length, 1), 32_768) }

    /// Returns the whole document around `body`, which must already be SVG.
    static func document(width: Int, height: Int, _ body: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
        font-family="\(fontFamily)">\(body)</svg>
        """
    }

    /// Returns a picture with its own coordinates inside another one, scaled to the rectangle; `body` must already be
    /// SVG.
    static func nested(
        x: Int, y: Int, width: Int, height: Int, viewWidth: Int, viewHeight: Int, _ body: String
    ) -> String {
        """
        <svg x="\(x)" y="\(y)" width="\(width)" height="\(height)" viewBox="0 0 \(viewWidth) \(viewHeight)">\(body)</svg>
        """
    }

    static func rectangle(
        x: Int = 0, y: Int = 0, width: Int, height: Int, radius: Int = 0, fill: String, opacity: UnitFraction = .whole
    ) -> String {
        """
        <rect x="\(x)" y="\(y)" width="\(width)" height="\(height)"\(radius > 0 ? " rx=\"\(radius)\"" : "") \
        fill="\(escaped(fill))"\(attribute("fill-opacity", opacity))/>
        """
    }

    /// Returns an attribute, or an empty text for a share of 1.
    static func attribute(_ name: String, _ share: UnitFraction) -> String {
        share == .whole ? "" : " \(name)=\"\(decimal(millionths: share.millionths))\""
    }

    /// The horizontal alignment of a text at its x.
    enum Anchor: String {
        case start, middle, end
    }

    /// Returns one line of text.
    ///
    /// - Parameters:
    ///   - x: Position in tenths of a pixel.
    ///   - baseline: Position in tenths of a pixel.
    ///   - contour: Colour of the outline that makes the letters legible on any background.
    static func text(
        _ text: String, x: Int, baseline: Int, size: Int, fill: RGB, opacity: UnitFraction = .whole,
        isBold: Bool = false, family: Font.Family? = nil, anchor: Anchor = .middle, contour: RGB? = nil
    ) -> String {
        let weight =
            (isBold ? " font-weight=\"bold\"" : "") + (family.map { " font-family=\"\($0.names)\"" } ?? "")
        let outline = contour.map { colour in
            " stroke=\"\(colour)\" stroke-opacity=\"0.55\" stroke-width=\"\(decimal(tenths: size * 3 / 2))\""
                + " stroke-linejoin=\"round\" paint-order=\"stroke\""
        }
        return """
            <text x="\(decimal(tenths: x))" y="\(decimal(tenths: baseline))" font-size="\(size)"\(weight) \
            fill="\(fill)"\(attribute("fill-opacity", opacity))\(outline ?? "") text-anchor="\(anchor.rawValue)"\
            >\(escaped(text))</text>
            """
    }

    /// Escapes a text for content and for attributes.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t", "\n", "\r": result += " "
            // XML 1.0 forbids C0 controls, U+FFFE and U+FFFF, even escaped, and discourages C1 controls and the
            // noncharacters at the end of other planes.
            case _ where scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value || scalar.value & 0xFFFE == 0xFFFE:
                result.unicodeScalars.append("\u{FFFD}")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    static func decimal(tenths: Int) -> String {
        let (whole, rest) = tenths.magnitude.quotientAndRemainder(dividingBy: 10)
        return (tenths < 0 ? "-" : "") + (rest == 0 ? "\(whole)" : "\(whole).\(rest)")
    }

    private static func decimal(millionths: Int) -> String {
        let digits = String(UnitFraction.one + millionths).dropFirst()
        return "\(millionths / UnitFraction.one).\(digits)"
    }
}
