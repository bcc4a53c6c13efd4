/// A rectangle in whole pixels.
struct Rectangle: Hashable, Sendable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int
}

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

    var area: Int { width * height }

    /// Returns the rectangle without `margin` pixels at each side. At least half of each length is left.
    func inset(by margin: Int) -> Rectangle {
        let (across, down) = (min(margin, width / 4 & ~1), min(margin, height / 4 & ~1))
        return Rectangle(x: x + across, y: y + down, width: width - across * 2, height: height - down * 2)
    }
}
