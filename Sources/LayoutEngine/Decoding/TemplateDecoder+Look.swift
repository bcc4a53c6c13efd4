// MARK: - The look of panes
extension TemplateDecoder {
    /// Reads corners, shadow, the surround of pictures, the border of speakers and the look of cards.
    mutating func look(_ reader: inout JSONObjectReader, _ style: inout PaneStyle) {
        if let radius = reader.fraction("radius", in: Self.lengths, issues: &issues) { style.radius = radius }
        if let card = reader.choice("card", of: Card.Style.self, issues: &issues) { style.card = card }
        shadow(&reader, &style)
        surround(&reader, &style)
        style.speaking = border("speaking", over: style.speaking, standard: .ofSpeakers, &reader)
    }

    mutating func border(_ reader: inout JSONObjectReader, _ style: inout PaneStyle) {
        style.border = border("border", over: style.border, standard: PaneStyle.BorderStyle(), &reader)
    }

    /// Reads a border, or `false` for none. Without the key, the border is inherited.
    private mutating func border(
        _ key: String, over inherited: PaneStyle.BorderStyle?, standard: PaneStyle.BorderStyle,
        _ parent: inout JSONObjectReader
    ) -> PaneStyle.BorderStyle? {
        if parent.isFalse(key) { return nil }
        guard var reader = parent.object(key, or: "false", issues: &issues) else { return inherited }
        var border = inherited ?? standard
        if let width = reader.fraction("width", in: 0...0.05, issues: &issues) { border.width = width }
        if let colour = reader.colour("color", issues: &issues) { border.colour = colour }
        reader.finish(issues: &issues)
        return border
    }

    private mutating func shadow(_ parent: inout JSONObjectReader, _ style: inout PaneStyle) {
        if parent.isFalse("shadow") {
            style.shadow = nil
            return
        }
        guard var reader = parent.object("shadow", or: "false", issues: &issues) else { return }
        var shadow = style.shadow ?? PaneStyle.ShadowStyle()
        if let blur = reader.fraction("blur", in: 0...0.1, issues: &issues) { shadow.blur = blur }
        if let offset = reader.fraction("offset", in: 0...0.05, issues: &issues) { shadow.offset = offset }
        if let colour = reader.colour("color", issues: &issues) { shadow.colour = colour }
        if let opacity = reader.fraction("opacity", in: 0...1, issues: &issues) { shadow.opacity = opacity }
        reader.finish(issues: &issues)
        style.shadow = shadow
    }

    private mutating func surround(_ parent: inout JSONObjectReader, _ style: inout PaneStyle) {
        if parent.isFalse("surround") {
            style.surround = nil
            return
        }
        guard var reader = parent.object("surround", or: "false", issues: &issues) else { return }
        var surround = style.surround ?? PaneStyle.SurroundStyle()
        if let blur = reader.fraction("blur", in: 0...0.1, issues: &issues) { surround.blur = blur }
        if let dim = reader.fraction("dim", in: 0...1, issues: &issues) { surround.dim = dim }
        reader.finish(issues: &issues)
        style.surround = surround
    }

    mutating func label(_ parent: inout JSONObjectReader, _ style: inout PaneStyle) {
        if parent.isFalse("label") {
            style.label = nil
            return
        }
        guard var reader = parent.object("label", or: "false", issues: &issues) else { return }
        var label = style.label ?? PaneStyle.LabelStyle()
        if let form = reader.choice("style", of: Label.Style.self, issues: &issues) { label.style = form }
        if let edge = reader.choice("edge", of: Label.Edge.self, issues: &issues) { label.edge = edge }
        if let side = reader.choice("side", of: Label.Side.self, issues: &issues) { label.side = side }
        if let size = reader.fraction("size", in: 0.01...0.2, issues: &issues) { label.size = size }
        if let colour = reader.colour("color", issues: &issues) { label.colour = colour }
        if let background = reader.colour("background", issues: &issues) { label.background = background }
        if let opacity = reader.fraction("backgroundOpacity", in: 0...1, issues: &issues) {
            label.backgroundOpacity = opacity
        }
        if let marks = reader.boolean("muted", issues: &issues) { label.marksMuted = marks }
        if let family = reader.choice("font", of: Font.Family.self, issues: &issues) { label.font.family = family }
        if let isBold = reader.boolean("bold", issues: &issues) { label.font.isBold = isBold }
        reader.finish(issues: &issues)
        style.label = label
    }
}

// MARK: - The background of the panes
extension TemplateDecoder {
    /// Reads the canvas's background: a colour, or a gradient, whose `from` also becomes the background colour.
    mutating func background(_ parent: inout JSONObjectReader, _ canvas: inout CanvasOverride) {
        guard let node = parent.optional("background") else { return }
        let path = parent.path(of: "background")
        if case .string(let text) = node.value, let colour = RGB(hex: text) {
            canvas.background = colour
            return
        }
        guard case .object = node.value, var reader = JSONObjectReader(node, path: path, issues: &issues) else {
            issues.append(
                LayoutIssue(
                    node, path, expected: "a colour like \"#1A2B3C\", or {\"from\": …, \"to\": …, \"angle\": …}"))
            return
        }
        let colour = "a colour like \"#1A2B3C\""
        let ends = ["from", "to"].map { key in
            reader.required(key, expected: colour) == nil ? nil : reader.colour(key, issues: &issues)
        }
        let angle = reader.integer("angle", in: 0...345, multipleOf: 15, issues: &issues) ?? 180
        reader.finish(issues: &issues)
        guard let from = ends[0], let to = ends[1] else { return }
        canvas.background = from
        canvas.gradient = Gradient(from: from, to: to, angle: angle)
    }

    /// Reads the effects applied to the canvas's image.
    mutating func backdrop(_ parent: inout JSONObjectReader, _ canvas: inout CanvasOverride) {
        guard var reader = parent.object("backdrop", issues: &issues) else { return }
        canvas.blur = reader.fraction("blur", in: 0...0.1, issues: &issues)
        // Read also if there is no image, so that the key is known.
        let dim = reader.fraction("dim", in: 0...1, issues: &issues)
        canvas.backdrop?.dim = dim
        reader.finish(issues: &issues)
    }
}
