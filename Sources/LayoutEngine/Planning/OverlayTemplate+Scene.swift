extension OverlayTemplate {
    /// Whether the text may contain names in braces.
    var hasNames: Bool {
        if case .text(let text, _) = content { text.utf8.contains(UInt8(ascii: "{")) } else { false }
    }

    /// Returns the overlay with the names in its text replaced by their values; `nil` if the resulting text is empty.
    func filling(_ values: TextValues) -> OverlayTemplate? {
        guard case .text(let text, let style) = content else { return self }
        var filled = values.filling(text)
        if style.until == nil { filled = filled.replacing(Overlay.Content.countdownName, with: "") }
        guard filled != text else { return self }
        guard filled.contains(where: { !$0.isWhitespace }) else { return nil }
        var overlay = self
        overlay.content = .text(filled, style)
        return overlay
    }

    /// Returns the overlay in pixels of this canvas.
    func overlay(on canvas: Canvas) -> Overlay {
        let shorter = min(canvas.width, canvas.height)
        let rectangle: Rectangle
        switch place {
        case .area(let area):
            rectangle = Rectangle(area, on: canvas) ?? Rectangle(x: 0, y: 0, width: 2, height: 2)
        case .at(let alignment, let margin):
            let space = Rectangle(canvas).inset(by: margin.evenPixels(of: shorter))
            let content = size(on: shorter, within: space.width)
            rectangle = space.aligned(
                (min(content.width, space.width), min(content.height, space.height)), alignment)
        }
        let content: Overlay.Content =
            switch content {
            case .image(let image, let align, _): .image(image, align: align)
            case .text(let text, let style): .text(text, style.style(on: shorter))
            case .clock(let format, let offset, let style):
                .clock(format, utcOffset: offset, style.style(on: shorter))
            case .page(let address, let picture):
                .page(address, picture: picture.map { "\($0)-\(rectangle.width)x\(rectangle.height).png" })
            }
        return Overlay(
            id: id, x: rectangle.x, y: rectangle.y, width: rectangle.width, height: rectangle.height,
            z: z == Overlay.usualLevel ? nil : z, opacity: opacity, content: content)
    }

    private func size(on shorter: Int, within width: Int) -> (width: Int, height: Int) {
        switch content {
        case .image(_, _, let size):
            let side = max(size.evenPixels(of: shorter), 2)
            return (side, side)
        case .text(let text, let style): return style.box(of: text, on: shorter, within: width)
        case .clock(let format, let utcOffset, let style):
            return style.box(of: format.text(time: 0, utcOffset: utcOffset), on: shorter, within: width)
        case .page: return (2, 2)
        }
    }
}

extension [OverlayTemplate] {
    /// The overlays of a scene: by `z`, and those of equal `z` in the order of the list.
    var fromBackToFront: [OverlayTemplate] {
        // Most layouts have none or one, and plans are frequent.
        guard count > 1 else { return self }
        return prefix(LayoutLimits.mostOverlays).enumerated()
            .sorted { ($0.element.z, $0.offset) < ($1.element.z, $1.offset) }.map(\.element)
    }
}

extension OverlayTemplate.Style {
    fileprivate func style(on shorter: Int) -> TextStyle {
        TextStyle(
            size: max(size.pixels(of: shorter), 1), colour: colour, isBold: isBold, align: align,
            background: background, backgroundOpacity: backgroundOpacity,
            radius: radius == .zero ? nil : radius.pixels(of: shorter), font: font == .sans ? nil : font,
            hasOutline: hasOutline ? nil : false, utcOffset: utcOffset == 0 ? nil : utcOffset, until: until)
    }

    private static let mostLines = 8

    /// Returns the size in pixels of a box for the text.
    ///
    /// The box is as wide as the text with half a letter at each side, and twice as high as the letters, like the bar
    /// of a label. A text that is wider than `most` gets more lines.
    fileprivate func box(of text: String, on shorter: Int, within most: Int) -> (width: Int, height: Int) {
        let letters = max(size.pixels(of: shorter), 1)
        let natural = text.split(separator: "\n").map { LetterWidths.width(of: String($0), isBold: isBold) }.max() ?? 0
        let width = min((natural * letters + 999) / 1000 + letters, most)
        let lines = TextLines(size: letters, isBold: isBold, width: width - letters)
            .wrapped(text, most: Self.mostLines).count
        let height = letters * 2 + (max(lines, 1) - 1) * letters * 5 / 4
        return (max((width + 1) & ~1, 2), (height + 1) & ~1)
    }
}

extension Rectangle {
    /// Returns a rectangle of this even size, aligned inside this one.
    fileprivate func aligned(_ size: (width: Int, height: Int), _ alignment: Pane.Alignment) -> Rectangle {
        func lead(_ free: Int, _ place: Int) -> Int { free * place / 4 * 2 }
        return Rectangle(
            x: x + lead(width - size.width, alignment.column), y: y + lead(height - size.height, alignment.row),
            width: size.width, height: size.height)
    }
}
