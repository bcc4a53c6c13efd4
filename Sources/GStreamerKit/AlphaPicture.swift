import CGStreamer

/// A still picture with transparency in the colours of an I420 canvas, made once and drawn onto many frames.
///
/// Colours are multiplied by their alpha before scaling or averaging, so that edges keep their colour on any
/// background.
public final class AlphaPicture: Sendable {
    public let width: Int
    public let height: Int
    /// Whether every pixel is opaque.
    public let isOpaque: Bool

    /// Y, the alpha of Y, U, V, and the alpha of U and V, one after another.
    private let planes: [UInt8]
    /// Stride of Y and of its alpha in bytes; the other planes have half of it.
    private let stride: Int

    /// Size in memory, in bytes.
    public var byteCount: Int { planes.count }

    /// - Parameters:
    ///   - frame: BGRA, full range.
    ///   - isPremultiplied: Whether the colours of `frame` are already multiplied by its alpha.
    ///   - width: Width to scale to, with `height`; `nil` keeps the size.
    ///   - colorimetry: Colorimetry of the canvases that it is drawn on.
    /// - Throws: `.syntax` for another layout or an impossible size, `.resource` if memory is exhausted.
    public init(
        _ frame: VideoFrame, isPremultiplied: Bool = false, width: Int? = nil, height: Int? = nil,
        colorimetry: Colorimetry
    ) throws(GStreamerError) {
        guard frame.format.layout == "BGRA" else {
            throw GStreamerError(.syntax, "a picture with transparency must be BGRA, not \(frame.format.layout)")
        }
        let (width, height) = (width ?? frame.width, height ?? frame.height)
        let premultiplied = try Self.scaled(
            isPremultiplied ? frame : Self.premultiplied(frame), width: width, height: height)
        let stride = (width + 1) / 2 * 2
        let (luma, chroma) = (stride * height, stride / 2 * ((height + 1) / 2))
        var planes = [UInt8](repeating: 0, count: luma * 2 + chroma * 3)
        let components = colorimetry.components
        let lowest = planes.withUnsafeMutableBufferPointer { bytes -> Int32? in
            guard let base = bytes.baseAddress else { return nil }
            let target = CGstAlphaPlanes(
                y: base, alpha: base + luma, u: base + luma * 2, v: base + luma * 2 + chroma,
                half: base + luma * 2 + chroma * 2, stride: Int32(stride), half_stride: Int32(stride / 2))
            return premultiplied.withMapped(writing: false) { source in
                cgst_alpha_planes(
                    target, cgst_frame_data(&source, 0), cgst_frame_stride(&source, 0), Int32(width), Int32(height),
                    components.y, components.u, components.v)
            }
        }
        isOpaque = lowest == 255
        self.planes = planes
        self.width = width
        self.height = height
        self.stride = stride
    }

    /// Draws a part of the picture onto a canvas, clipped to the canvas.
    ///
    /// - Parameters:
    ///   - x: Left edge of the part on the canvas; must be even.
    ///   - y: Upper edge of the part on the canvas; must be even.
    ///   - part: Part to draw, with an even upper left corner; `nil` draws the whole picture.
    ///   - opacity: 0…256, in addition to the picture's own alpha.
    /// - Returns: False, with nothing drawn, if the canvas is not I420 or not writable or a position is odd.
    @discardableResult
    public func draw(onto canvas: VideoFrame, x: Int, y: Int, part: VideoRect? = nil, opacity: Int = 256) -> Bool {
        let part = part ?? VideoRect(x: 0, y: 0, width: width, height: height)
        guard canvas.format.layout == "I420", (x | y | part.x | part.y) & 1 == 0 else { return false }
        // The same amount is cut off in the picture and on the canvas.
        let left = max(0, -x, -part.x)
        let top = max(0, -y, -part.y)
        let size = (
            width: min(part.width, width - part.x, canvas.width - x) - left,
            height: min(part.height, height - part.y, canvas.height - y) - top
        )
        guard size.width > 0, size.height > 0 else { return true }
        let from = VideoRect(x: part.x + left, y: part.y + top, width: size.width, height: size.height)
        let (luma, chroma) = (stride * height, stride / 2 * ((height + 1) / 2))
        let weight = Int32(min(max(opacity, 0), 256))
        let drawn: Void? = canvas.withMapped(writing: true) { target in
            planes.withUnsafeBufferPointer { bytes in
                guard let base = bytes.baseAddress else { return }
                let samples = [base, base + luma * 2, base + luma * 2 + chroma]
                let alphas = [base + luma, base + luma * 2 + chroma * 2, base + luma * 2 + chroma * 2]
                for plane in 0..<3 {
                    let area = PlaneArea(plane, x: x + left, y: y + top, width: size.width, height: size.height)
                    let stride = plane == 0 ? stride : stride / 2
                    let offset = plane == 0 ? from.y * stride + from.x : from.y / 2 * stride + from.x / 2
                    cgst_cover_plane(
                        area.start(in: &target), area.stride(in: &target), samples[plane] + offset,
                        alphas[plane] + offset, Int32(stride), area.width, area.height, weight)
                }
            }
        }
        return drawn != nil
    }

    private static func premultiplied(_ frame: VideoFrame) throws(GStreamerError) -> VideoFrame {
        let copy = try picture(like: frame, width: frame.width, height: frame.height)
        frame.withMapped(writing: false) { source -> Void? in
            copy.withMapped(writing: true) { target in
                cgst_premultiply(
                    cgst_frame_data(&target, 0), cgst_frame_stride(&target, 0), cgst_frame_data(&source, 0),
                    cgst_frame_stride(&source, 0), Int32(frame.width), Int32(frame.height))
            }
        }
        return copy
    }

    private static func scaled(_ frame: VideoFrame, width: Int, height: Int) throws(GStreamerError) -> VideoFrame {
        guard frame.width != width || frame.height != height else { return frame }
        let result = try picture(like: frame, width: width, height: height)
        let converter = try VideoConverter(
            from: frame.format, to: result.format,
            destinationRect: VideoRect(x: 0, y: 0, width: width, height: height))
        converter.draw(frame, onto: result)
        return result
    }

    private static func picture(
        like frame: VideoFrame, width: Int, height: Int
    ) throws(GStreamerError) -> VideoFrame {
        var format = frame.format
        (format.width, format.height) = (width, height)
        guard let picture = try CanvasPool(format: format).acquire() else {
            throw GStreamerError(.resource, "no memory for a picture of \(width)×\(height)")
        }
        return picture
    }
}

extension Colorimetry {
    /// Weights of full-range R′G′B′ in Y, U and V, by ITU-T H.273 equations 38 to 43; an unknown matrix counts as
    /// BT.601.
    fileprivate var components: (y: CGstComponent, u: CGstComponent, v: CGstComponent) {
        let (kr, kb) = ColourMatrix.lumaWeights(matrix) ?? (0.299, 0.114)
        let kg = 1 - kr - kb
        let (luma, chroma) = isFullRange ? (1.0, 1.0) : (219.0 / 255, 224.0 / 255)
        func component(_ black: Double, _ scale: Double, _ red: Double, _ green: Double, _ blue: Double)
            -> CGstComponent
        {
            func fixed(_ value: Double) -> Int32 { Int32((value * 65_536).rounded()) }
            return CGstComponent(
                black: fixed(black), red: fixed(scale * red), green: fixed(scale * green), blue: fixed(scale * blue))
        }
        let (u, v) = (0.5 / (1 - kb), 0.5 / (1 - kr))
        return (
            component(isFullRange ? 0 : 16, luma, kr, kg, kb),
            component(128, chroma, -kr * u, -kg * u, 0.5), component(128, chroma, 0.5, -kg * v, -kb * v)
        )
    }
}
