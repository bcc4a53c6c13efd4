import GStreamerKit
import LayoutEngine

/// A still picture in scenes. It is drawn once, in parallel to the mix, and kept for as long as scenes need it.
enum Graphic: Hashable, Sendable {
    case card(Card, notice: Card.Notice? = nil, width: Int, height: Int)
    case label(Label, width: Int)
    /// A text, or a clock or countdown at this time, in seconds since 1970.
    case text(Overlay.Content, width: Int, height: Int, time: Int)
    /// An image file with its own aspect ratio, for panes.
    case image(String)
    /// An image file as large as the canvas.
    case backdrop(Scene.Backdrop)
    /// An image file laid over the canvas with its transparency.
    case watermark(String, width: Int, height: Int)
    /// The picture of a web page with this size, from a file that changes.
    case page(String, width: Int, height: Int)

    /// Path of the image file of the graphic, if any.
    var file: String? {
        switch self {
        case .image(let file), .watermark(let file, _, _), .page(let file, _, _): file
        case .backdrop(let backdrop): backdrop.image.isEmpty ? nil : backdrop.image
        case .card, .label, .text: nil
        }
    }

    /// Whether the graphic is a single time of a clock or a countdown, which is not shown again.
    var isPassing: Bool {
        if case .text(let content, _, _, _) = self { content.showsTime } else { false }
    }
}

/// A drawn graphic.
enum Still: Sendable {
    /// A picture in the canvas's own colours, instead of a source's picture.
    case picture(VideoFrame)
    /// A layer over the pictures.
    case layer(AlphaPicture)

    /// Size in memory, in bytes.
    var byteCount: Int {
        switch self {
        case .picture(let frame): frame.width * frame.height * 3 / 2
        case .layer(let picture): picture.byteCount
        }
    }

    var picture: VideoFrame? {
        if case .picture(let frame) = self { frame } else { nil }
    }

    var layer: AlphaPicture? {
        if case .layer(let picture) = self { picture } else { nil }
    }
}

extension Graphic {
    /// Longest side of a card, in pixels. Larger panes show it enlarged, which is acceptable because its letters are
    /// large.
    private static let largestCard = 1280

    /// - Parameter isReconnecting: Whether the card stands in for a stream that has stalled, and says so.
    init(cardOf pane: Pane, isReconnecting: Bool = false) {
        let longest = max(pane.width, pane.height)
        func limited(_ side: Int) -> Int {
            longest > Self.largestCard ? max(side * Self.largestCard / longest / 2 * 2, 2) : side
        }
        let height = limited(pane.height)
        let notice = isReconnecting ? Card.Notice(of: pane, height: height) : nil
        self = .card(pane.card, notice: notice, width: limited(pane.width), height: height)
    }

    init?(labelOf pane: Pane) {
        guard let label = pane.label else { return nil }
        self = .label(label, width: pane.width)
    }

    /// Creates the graphic of an overlay; `nil` for a page that is not shown.
    /// - Parameter time: Seconds since 1970. Times that look the same on a clock give the same graphic.
    init?(_ overlay: Overlay, time: Int) {
        switch overlay.content {
        case .image(let file, _):
            self = .watermark(file, width: overlay.width, height: overlay.height)
        case .text, .clock:
            self = .text(
                overlay.content, width: overlay.width, height: overlay.height,
                time: overlay.content.beginning(at: time) ?? 0)
        case .page(_, let picture):
            guard let picture else { return nil }
            self = .page(picture, width: overlay.width, height: overlay.height)
        }
    }
}
