import GStreamerKit
import LayoutEngine

/// The part of a picture that a pane shows, and its place on the canvas.
struct PanePlacement: Hashable {
    /// The visible part, in pixels of the picture.
    var source: VideoRect
    /// The place of that part, in pixels of the canvas.
    var destination: VideoRect

    /// Creates a placement; `nil` if the pane is not within the canvas.
    ///
    /// All edges are even, as I420 needs. A picture with non-square pixels is placed by its display aspect ratio.
    init?(_ pane: Pane, picture: VideoFormat, canvas: Canvas) {
        guard pane.x >= 0, pane.y >= 0, pane.width >= 2, pane.height >= 2, pane.x + pane.width <= canvas.width,
            pane.y + pane.height <= canvas.height
        else { return nil }
        source = VideoRect(x: 0, y: 0, width: picture.width, height: picture.height)
        destination = VideoRect(x: pane.x, y: pane.y, width: pane.width, height: pane.height)
        let ratio = picture.pixelAspectRatio
        let pixel =
            ratio.numerator > 0 && ratio.denominator > 0
            ? Double(ratio.numerator) / Double(ratio.denominator) : 1
        let pictureShape = Double(picture.width) * pixel / Double(picture.height)
        let paneShape = Double(pane.width) / Double(pane.height)
        switch pane.fit {
        case .stretch: break
        case .cover:
            if pictureShape > paneShape {
                source.width = Self.even(Double(picture.height) * paneShape / pixel, most: picture.width)
                source.x = Self.offset(picture.width - source.width, pane.align.column)
            } else {
                source.height = Self.even(Double(picture.width) * pixel / paneShape, most: picture.height)
                source.y = Self.offset(picture.height - source.height, pane.align.row)
            }
        case .contain:
            if pictureShape > paneShape {
                destination.height = Self.even(Double(pane.width) / pictureShape, most: pane.height)
                destination.y += Self.offset(pane.height - destination.height, pane.align.row)
            } else {
                destination.width = Self.even(Double(pane.height) * pictureShape, most: pane.width)
                destination.x += Self.offset(pane.width - destination.width, pane.align.column)
            }
        }
    }

    /// Returns none, half or all of the free pixels, rounded down to an even number.
    static func offset(_ free: Int, _ place: Int) -> Int { free * place / 4 * 2 }

    /// Returns the even number nearest to `value`, at least 2; or `most` itself, even or odd, if `value` is less than 1
    /// below it.
    private static func even(_ value: Double, most: Int) -> Int {
        if value > Double(most) - 1 { return most }
        return min(most, max(2, Int((value / 2).rounded()) * 2))
    }
}
