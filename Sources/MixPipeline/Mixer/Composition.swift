import GStreamerKit
import LayoutEngine
import MixModel

/// A decoded picture of a source, or a still one in its place.
struct SourcePicture: Sendable {
    var frame: VideoFrame
    /// As the source's SPS signals it; `nil` if the picture is in the canvas' own colours.
    var colour: ColourSignal?
}

/// Everything that one frame of the canvas shows, from back to front.
struct Composition: Sendable {
    /// A text or an image over all panes.
    struct Layer: Sendable {
        var picture: AlphaPicture
        /// In canvas pixels, even.
        var x: Int
        var y: Int
        var opacity: UnitFraction
    }

    var background: RGB
    /// As large as the canvas, in its colours; covers `background`.
    var backdrop: VideoFrame?
    var panes: [PaneContent]
    var layers: [Layer] = []
}

/// What one pane shows.
struct PaneContent: Sendable {
    enum Content: Sendable {
        case picture(SourcePicture)
        /// In place of a card that is not there.
        case colour(RGB)
        /// What is behind the pane; neither border nor label.
        case nothing
    }

    /// Its rectangle, fit, opacity and border count.
    var pane: Pane
    var content: Content
    /// The pane's label, at least as wide as the pane as long as that moves; what stands over is cut off.
    var label: AlphaPicture?
}
