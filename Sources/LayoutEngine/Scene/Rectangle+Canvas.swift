extension Rectangle {
    /// Creates the rectangle of an area on a canvas; `nil` if it is too small for a single chroma sample (2×2 pixels).
    init?(_ area: Area, on canvas: Canvas) {
        x = area.x.evenPixels(of: canvas.width)
        y = area.y.evenPixels(of: canvas.height)
        let right = UnitFraction.evenPixels(millionths: area.x.millionths + area.width.millionths, of: canvas.width)
        let bottom = UnitFraction.evenPixels(
            millionths: area.y.millionths + area.height.millionths, of: canvas.height)
        width = min(right, canvas.width) - x
        height = min(bottom, canvas.height) - y
        guard width >= 2, height >= 2 else { return nil }
    }

    init(_ canvas: Canvas) {
        self.init(x: 0, y: 0, width: canvas.width, height: canvas.height)
    }
}
