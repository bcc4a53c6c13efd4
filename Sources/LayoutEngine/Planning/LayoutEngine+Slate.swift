extension LayoutEngine {
    /// Returns the scene of an empty room: the layout's message on the layout's background, or on that of the
    /// built-in layout if neither the layout nor the room has a background of its own. Without a layout, the message is that
    /// of the built-in one.
    public static func slate(_ template: LayoutTemplate? = nil, canvas room: Canvas) -> Scene {
        let canvas = (template?.canvas(over: room) ?? room).withinLimits
        // A canvas that the built-in layout has coloured has the colour at which its gradient begins.
        let isPlain = canvas.background == .black || canvas.background == Gradient.evening.from
        let ground = template?.ground(over: room) ?? (isPlain ? Scene.Backdrop(.evening) : nil)
        let colour = ground?.image.isEmpty == false ? RGB.white : canvas.background.contrast
        let message = template?.slate ?? SlateTemplate()
        let lines: [(text: String, size: Double, y: Double, opacity: Double)] = [
            (message.title, 0.068, 0.42, 1), (message.subtitle, 0.034, 0.53, 0.72),
        ]
        let overlays = lines.enumerated().compactMap { index, line -> Overlay? in
            guard line.text.contains(where: { !$0.isWhitespace }) else { return nil }
            let style = OverlayTemplate.Style(
                size: UnitFraction(line.size), colour: colour, isBold: index == 0, font: message.font,
                hasOutline: ground?.image.isEmpty == false)
            let area = Area(
                x: .zero, y: UnitFraction(line.y), width: .whole, height: UnitFraction(0.1))
            return OverlayTemplate(
                id: "slate-\(index + 1)", place: .area(area), opacity: UnitFraction(line.opacity),
                content: .text(line.text, style)
            ).overlay(on: canvas)
        }
        return Scene(canvas: canvas, background: ground, panes: [], overlays: overlays)
    }
}
