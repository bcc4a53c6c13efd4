import TextFormats

// MARK: - Overlays
extension TemplateDecoder {
    private static let kinds = ["image", "text", "clock", "page"]

    mutating func overlays(_ parent: inout JSONObjectReader) -> [OverlayTemplate]? {
        let elements = parent.array("overlays", of: "overlays", atMost: LayoutLimits.mostOverlays, issues: &issues)
        guard parent.has("overlays") else { return nil }
        return elements.enumerated().compactMap { index, element in
            overlay(element, "\(parent.path(of: "overlays"))[\(index)]", id: "overlay-\(index + 1)")
        }
    }

    private mutating func overlay(_ node: JSONNode, _ path: String, id: String) -> OverlayTemplate? {
        guard var reader = JSONObjectReader(node, path: path, issues: &issues) else { return nil }
        let given = Self.kinds.filter(reader.has)
        guard let kind = given.first, given.count == 1 else {
            issues.append(
                LayoutIssue(
                    path: path, at: node.position,
                    found: given.isEmpty ? "an overlay without content" : given.joined(separator: " and "),
                    expected: "exactly one of \"image\", \"text\", \"clock\" and \"page\""))
            return nil
        }
        let isAnchored = !["x", "y", "width", "height"].contains(where: reader.has)
        // A page is as large as its rectangle, and has no separate size.
        let place = isAnchored && kind != "page" ? anchor(&reader) : area(&reader).map { .area($0) }
        if !isAnchored, reader.has("place"), let place = reader.optional("place") {
            issues.append(
                LayoutIssue(
                    path: reader.path(of: "place"), at: place.position, found: "both a place and a rectangle",
                    expected: "one of the two"))
        }
        let z = reader.integer("z", in: Overlay.levels, issues: &issues) ?? Overlay.usualLevel
        let opacity = reader.fraction("opacity", in: 0...1, issues: &issues) ?? .whole
        let content: OverlayTemplate.Content? =
            switch kind {
            case "image": imageContent(&reader, place, isAnchored)
            case "text":
                reader.text("text", issues: &issues).flatMap { text in
                    noteUnknownNames(in: text, reader)
                    let offset = reader.integer("utcOffset", in: -840...840, issues: &issues) ?? 0
                    let until = reader.time("until", issues: &issues)
                    var style = style(&reader, isAnchored)
                    style.utcOffset = offset
                    style.until = until
                    return .text(text, style)
                }
            case "page": reader.page("page", issues: &issues).map { .page($0, picture: nil) }
            default: clock(&reader, isAnchored)
            }
        if content == nil, kind == "text" {
            _ = style(&reader, isAnchored)
            _ = (reader.optional("utcOffset"), reader.optional("until"))
        }
        let isVisible = reader.boolean("visible", issues: &issues) ?? true
        reader.finish(issues: &issues)
        guard let place, let content, isVisible else { return nil }
        return OverlayTemplate(id: id, place: place, z: z, opacity: opacity, content: content)
    }

    private mutating func anchor(_ reader: inout JSONObjectReader) -> OverlayTemplate.Position? {
        let words = JSONPath.list(Pane.Alignment.allCases.map(\.rawValue))
        let isThere = reader.required("place", expected: "\(words), or x, y, width and height") != nil
        let place = isThere ? reader.choice("place", of: Pane.Alignment.self, issues: &issues) : nil
        let margin = reader.fraction("margin", in: Self.lengths, issues: &issues) ?? UnitFraction(0.02)
        return place.map { .at($0, margin: margin) }
    }

    private mutating func imageContent(
        _ reader: inout JSONObjectReader, _ place: OverlayTemplate.Position?, _ isAnchored: Bool
    ) -> OverlayTemplate.Content? {
        let image = reader.image("image", issues: &issues)
        guard isAnchored else {
            let align = reader.choice("align", of: Pane.Alignment.self, issues: &issues) ?? .centre
            return image.map { .image($0, align: align) }
        }
        let size = reader.fraction("size", in: 0.02...1, issues: &issues) ?? OverlayTemplate.defaultImageSize
        guard case .at(let align, _) = place else { return nil }
        return image.map { .image($0, align: align, size: size) }
    }

    private mutating func clock(_ reader: inout JSONObjectReader, _ isAnchored: Bool) -> OverlayTemplate.Content? {
        let format = reader.choice("clock", of: Overlay.ClockFormat.self, issues: &issues)
        let offset = reader.integer("utcOffset", in: -840...840, issues: &issues) ?? 0
        let style = style(&reader, isAnchored)
        return format.map { .clock($0, utcOffset: offset, style) }
    }

    private mutating func style(_ reader: inout JSONObjectReader, _ isAnchored: Bool) -> OverlayTemplate.Style {
        var style = OverlayTemplate.Style()
        if let size = reader.fraction("size", in: 0.01...0.2, issues: &issues) { style.size = size }
        if let colour = reader.colour("color", issues: &issues) { style.colour = colour }
        if let isBold = reader.boolean("bold", issues: &issues) { style.isBold = isBold }
        style.background = reader.colour("background", issues: &issues)
        if let opacity = reader.fraction("backgroundOpacity", in: 0...1, issues: &issues) {
            style.backgroundOpacity = opacity
        }
        if let radius = reader.fraction("radius", in: Self.lengths, issues: &issues) { style.radius = radius }
        if let family = reader.choice("font", of: Font.Family.self, issues: &issues) { style.font = family }
        if let outline = reader.boolean("outline", issues: &issues) { style.hasOutline = outline }
        // A rectangle as large as its text leaves no room for alignment.
        if !isAnchored, let align = reader.choice("align", of: Pane.Alignment.self, issues: &issues) {
            style.align = align
        }
        return style
    }
}
