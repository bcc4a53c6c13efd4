extension Scene {
    /// The scene as a picture for people: one rectangle a pane with its user, its size and its fit.
    ///
    /// Well-formed XML whatever users are called; the colour of a pane depends on its user only.
    public func svg() -> String {
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(canvas.width) \(canvas.height)" \
            width="\(canvas.width)" height="\(canvas.height)" font-family="sans-serif">
            """,
            "<rect width=\"100%\" height=\"100%\" fill=\"\(canvas.background)\"/>",
        ]
        for pane in panes {
            let size = max(min(pane.width, pane.height) / 8, 1)
            let middle = (x: pane.x + pane.width / 2, y: pane.y + pane.height / 2)
            lines += [
                """
                <rect x="\(pane.x)" y="\(pane.y)" width="\(pane.width)" height="\(pane.height)" \
                fill="hsl(\(Self.hue(of: pane.user)),55%,45%)" stroke="white" stroke-width="2"/>
                """,
                """
                <text x="\(middle.x)" y="\(middle.y)" font-size="\(size)" fill="white" text-anchor="middle">\
                \(Self.escaped(pane.user))</text>
                """,
                """
                <text x="\(middle.x)" y="\(middle.y + size)" font-size="\(max(size / 2, 1))" fill="white" \
                text-anchor="middle">\(pane.width)×\(pane.height) \(pane.fit.rawValue)</text>
                """,
            ]
        }
        return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    /// FNV-1a: `Hasher` has another seed in each process.
    private static func hue(of user: String) -> UInt32 {
        user.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 } % 360
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            // Control characters and the two noncharacters have no place in XML 1.0, not even escaped.
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF:
                result.unicodeScalars.append("\u{FFFD}")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
