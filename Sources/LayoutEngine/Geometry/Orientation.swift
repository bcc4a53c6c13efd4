/// The orientation of a rectangle such as a canvas.
public enum Orientation: String, Hashable, Sendable, CaseIterable {
    case portrait, landscape, square

    init(width: Int, height: Int) {
        self = width > height ? .landscape : width < height ? .portrait : .square
    }
}
