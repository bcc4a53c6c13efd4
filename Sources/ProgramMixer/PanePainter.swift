import GStreamerKit

/// Crops, scales, converts and places the pictures of one format for one pane.
///
/// GStreamer's converter has direct paths for 8-bit planar pictures whose colour need not be converted. Any other
/// conversion works line by line and writes whole lines of the destination, over the panes to the left and right
/// (GStreamer 1.22). Such pictures are first converted into a picture of the pane's size and then copied.
final class PanePainter {
    private let converter: VideoConverter
    /// Pool for the picture of the pane's size, and the converter that copies that picture to its place.
    private let detour: (pool: CanvasPool, copier: VideoConverter)?

    /// Creates a painter.
    /// - Throws: `GStreamerError` if GStreamer cannot convert between the formats.
    init(from source: VideoFormat, placement: PanePlacement, to canvas: VideoFormat) throws(GStreamerError) {
        if Self.isDirect(source, canvas) {
            converter = try VideoConverter(
                from: source, sourceRect: placement.source, to: canvas, destinationRect: placement.destination)
            detour = nil
            return
        }
        var pane = canvas
        pane.width = placement.destination.width
        pane.height = placement.destination.height
        converter = try VideoConverter(
            from: source, sourceRect: placement.source, to: pane,
            destinationRect: VideoRect(x: 0, y: 0, width: pane.width, height: pane.height))
        detour = (
            try CanvasPool(format: pane, most: 2),
            try VideoConverter(from: pane, to: canvas, destinationRect: placement.destination)
        )
    }

    func draw(_ frame: VideoFrame, onto canvas: VideoFrame) {
        guard let detour else {
            converter.draw(frame, onto: canvas)
            return
        }
        guard let pane = detour.pool.acquire(), converter.draw(frame, onto: pane) else { return }
        detour.copier.draw(pane, onto: canvas)
    }

    private static func isDirect(_ source: VideoFormat, _ canvas: VideoFormat) -> Bool {
        guard source.colorimetry.matrix == canvas.colorimetry.matrix,
            source.colorimetry.isFullRange == canvas.colorimetry.isFullRange
        else { return false }
        return ["I420", "YV12", "Y42B", "Y444"].contains(source.layout)
    }
}
