import GStreamerKit
import LayoutEngine
import MixModel

/// Draws graphics for one canvas, in its colours. Images become no larger than the canvas can show.
struct Easel: Sendable {
    let canvas: Canvas
    let colour: CanvasColour

    /// Draws a graphic.
    /// - Throws: `GStreamerError` if an element for drawing is missing, or an image cannot be read or decoded.
    func draw(_ graphic: Graphic) async throws(GStreamerError) -> Still {
        switch graphic {
        case .card(let card, let notice, let width, let height):
            let drawing = try await layer(card.svg(width: width, height: height, notice: notice))
            return .picture(try flat(drawing, on: card.colour))
        case .label(let label, let width):
            return .layer(try await layer(label.svg(width: width)))
        case .text(let content, let width, let height, let time):
            let overlay = Overlay(id: "", x: 0, y: 0, width: width, height: height, content: content)
            guard let drawing = overlay.svg(time: time) else {
                throw GStreamerError(.syntax, "an image is not a drawing")
            }
            return .layer(try await layer(drawing))
        case .image(let file):
            return .picture(try await picture(file))
        case .backdrop(let backdrop):
            return .picture(try await self.backdrop(backdrop))
        case .watermark(let file, let width, let height):
            let image = try await ImageDecoder.image(file: file)
            let size = Self.whole(image, width: width, height: height)
            return .layer(
                try AlphaPicture(image, width: size.width, height: size.height, colorimetry: colour.canvas))
        case .page(let file, let width, let height):
            let image = try await ImageDecoder.image(file: file)
            return .layer(
                try AlphaPicture(
                    image, isPremultiplied: true, width: width, height: height, colorimetry: colour.canvas))
        }
    }

    private func layer(_ svg: String) async throws(GStreamerError) -> AlphaPicture {
        try AlphaPicture(try await ImageDecoder.svg(svg), colorimetry: colour.canvas)
    }

    /// Returns an opaque picture of a layer.
    private func flat(_ layer: AlphaPicture, on background: RGB) throws(GStreamerError) -> VideoFrame {
        let frame = try blank(width: layer.width, height: layer.height, background)
        layer.draw(onto: frame, x: 0, y: 0)
        return frame
    }

    /// Returns an opaque picture of an image with its own aspect ratio, scaled down to the smallest size that covers
    /// the canvas.
    private func picture(_ file: String) async throws(GStreamerError) -> VideoFrame {
        let image = try await ImageDecoder.image(file: file)
        let scale = min(
            1, max(Double(canvas.width) / Double(image.width), Double(canvas.height) / Double(image.height)))
        func side(_ length: Int) -> Int { max(2, Int((Double(length) * scale / 2).rounded()) * 2) }
        let layer = try AlphaPicture(
            image, width: side(image.width), height: side(image.height), colorimetry: colour.canvas)
        return try flat(layer, on: canvas.background)
    }

    private func backdrop(_ backdrop: Scene.Backdrop) async throws(GStreamerError) -> VideoFrame {
        let frame = try blank(width: canvas.width, height: canvas.height, canvas.background)
        if let gradient = backdrop.gradient { fill(frame, gradient) }
        guard !backdrop.image.isEmpty else { return frame }
        let picture = try await picture(backdrop.image)
        let pane = Pane(
            source: "", user: "", x: 0, y: 0, width: canvas.width, height: canvas.height, fit: backdrop.fit)
        guard let placement = PanePlacement(pane, picture: picture.format, canvas: canvas) else {
            throw GStreamerError(.syntax, "no picture fits a canvas of \(canvas.width)×\(canvas.height)")
        }
        try PanePainter(from: picture.format, placement: placement, to: frame.format).draw(picture, onto: frame)
        if let blur = backdrop.blur, blur > 0 { frame.blur(radius: blur) }
        if let dim = backdrop.dim, dim > .zero {
            let black = try blank(width: canvas.width, height: canvas.height, .black)
            frame.blend(
                VideoRect(x: 0, y: 0, width: canvas.width, height: canvas.height), of: black,
                opacity: Int((dim.value * 256).rounded()))
        }
        return frame
    }

    private func fill(_ frame: VideoFrame, _ gradient: Gradient) {
        let line = gradient.line(width: frame.width, height: frame.height)
        frame.fillGradient(
            from: colour.planes(of: gradient.from), at: (Double(line.start.x) / 10, Double(line.start.y) / 10),
            to: colour.planes(of: gradient.to), at: (Double(line.end.x) / 10, Double(line.end.y) / 10))
    }

    private func blank(width: Int, height: Int, _ background: RGB) throws(GStreamerError) -> VideoFrame {
        let format = VideoFormat(width: width, height: height, colorimetry: colour.canvas)
        guard let frame = try CanvasPool(format: format).acquire() else {
            throw GStreamerError(.resource, "no memory for a picture of \(width)×\(height)")
        }
        let (y, u, v) = colour.planes(of: background)
        frame.fill(y: y, u: u, v: v)
        return frame
    }

    /// Returns the largest even size with an image's aspect ratio within a rectangle.
    private static func whole(_ image: VideoFrame, width: Int, height: Int) -> (width: Int, height: Int) {
        let scale = min(Double(width) / Double(image.width), Double(height) / Double(image.height))
        func side(_ length: Int, _ most: Int) -> Int {
            max(2, min(most, Int((Double(length) * scale / 2).rounded()) * 2))
        }
        return (side(image.width, width), side(image.height, height))
    }
}
