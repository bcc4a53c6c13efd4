/// A rectangle in whole pixels.
struct Rectangle: Hashable, Sendable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int
}

extension Rectangle {
    var area: Int { width * height }

    /// Returns the rectangle without `margin` pixels at each side. At least half of each length is left.
    func inset(by margin: Int) -> Rectangle {
        let (across, down) = (min(margin, width / 4 & ~1), min(margin, height / 4 & ~1))
        return Rectangle(x: x + across, y: y + down, width: width - across * 2, height: height - down * 2)
    }
}
