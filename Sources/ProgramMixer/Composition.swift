import EncodedMedia
import GStreamerKit
import LayoutEngine
import MixModel

/// A decoded picture of a source, or a still image instead of it.
struct SourcePicture: Sendable {
    var frame: VideoFrame
    /// Colours as the source's SPS signals them; `nil` if the picture is in the canvas's own colours.
    var colour: ColourSignal?
}

/// Everything that one frame of the canvas shows, from back to front.
struct Composition: Sendable {
    /// A text or an image over the panes, or between them.
    struct Layer: Sendable {
        var picture: AlphaPicture
        /// Left edge, in canvas pixels, even. `y` is the top edge.
        var x: Int
        var y: Int
        /// Place among the layers, as `Overlay.level`.
        var z = Overlay.usualLevel
        var opacity: UnitFraction
    }

    var background: RGB
    /// Background picture of the canvas's size and colours. Covers `background`.
    var backdrop: VideoFrame?
    var panes: [PaneContent]
    var layers: [Layer] = []
}

/// The content of one pane.
struct PaneContent: Sendable {
    enum Content: Sendable {
        case picture(SourcePicture)
        /// A plain colour instead of a card that has not been drawn.
        case colour(RGB)
        /// Nothing: the background of the pane is visible, without border and label.
        case nothing
    }

    /// The pane. Only its rectangle, fit, alignment, opacity, matte, border and label style are used.
    var pane: Pane
    var content: Content
    /// The pane's label. While the pane moves, it is at least as wide as the pane; the surplus is cut off.
    var label: AlphaPicture?
}
