/// Writes the few kinds of SVG that graphics are made of. Total: whatever goes in, well-formed XML comes out.
enum SVG {
    /// Known widths first (`LetterWidths`), then whatever the machine has.
    static let fontFamily = "DejaVu Sans,Verdana,sans-serif"

    /// A length within what pictures have, so that no product of lengths overflows.
    static func side(_ length: Int) -> Int { min(max(length, 1), 32_768) }

    /// The whole picture; `body` is SVG already.
    static func document(width: Int, height: Int, _ body: String) -> String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(height)" width="\(width)" height="\(height)" \
        font-family="\(fontFamily)">\(body)</svg>
        """
    }

    /// A picture of its own coordinates inside another one, scaled to the rectangle; `body` is SVG already.
    static func nested(
        x: Int, y: Int, width: Int, height: Int, viewWidth: Int, viewHeight: Int, _ body: String
    ) -> String {
        """
        <svg x="\(x)" y="\(y)" width="\(width)" height="\(height)" viewBox="0 0 \(viewWidth) \(viewHeight)">\(body)</svg>
        """
    }

    static func rectangle(
        x: Int = 0, y: Int = 0, width: Int, height: Int, fill: String, opacity: UnitFraction = .whole
    ) -> String {
        """
        <rect x="\(x)" y="\(y)" width="\(width)" height="\(height)" fill="\(escaped(fill))"\
        \(attribute("fill-opacity", opacity))/>
        """
    }

    /// Nothing for what is fully there.
    static func attribute(_ name: String, _ share: UnitFraction) -> String {
        share == .whole ? "" : " \(name)=\"\(decimal(millionths: share.millionths))\""
    }

    /// Where a text lies to the left and right of its x.
    enum Anchor: String {
        case start, middle, end
    }

    /// One line of text.
    ///
    /// - Parameters:
    ///   - x: In tenths of a pixel.
    ///   - baseline: In tenths of a pixel.
    ///   - contour: Drawn around the letters so that they can be read on anything.
    static func text(
        _ text: String, x: Int, baseline: Int, size: Int, fill: RGB, opacity: UnitFraction = .whole,
        isBold: Bool = false, anchor: Anchor = .middle, contour: RGB? = nil
    ) -> String {
        let weight = isBold ? " font-weight=\"bold\"" : ""
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

    /// `escaped` for attributes too.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\t", "\n", "\r": result += " "
            // Control characters and the two noncharacters have no place in XML 1.0, not even escaped.
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
