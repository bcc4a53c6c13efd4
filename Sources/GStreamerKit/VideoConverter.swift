import CGStreamer
import Synchronization

/// Crops, scales and colour-converts pictures of one format, and places them in a rectangle of pictures of another, in
/// one pass.
///
/// Create one converter per combination: creating one takes tens of microseconds to a millisecond.
///
/// With equal formats and equal sizes of the rectangles, pixels are copied exactly. With a layout that subsamples
/// chroma (I420) all coordinates should be even. Calls are serialized.
public final class VideoConverter: Sendable {
    /// The interpolation between pixels.
    public enum Quality: Hashable, Sendable {
        /// Two pixels per direction: cheapest; shimmers when scaling down by more than two.
        case bilinear
        /// Linear weights over as many pixels as the scale requires: clean in both directions, plain colours exact.
        case linear
        /// Cubic weights over as many pixels as the scale requires: sharpest; at some scales a few percent too bright
        /// or dark.
        case cubic
    }

    public let source: VideoFormat
    public let sourceRect: VideoRect
    public let destination: VideoFormat
    public let destinationRect: VideoRect

    private let state: Mutex<State>
    /// Colour conversion done here, after GStreamer has scaled; `nil` if there is none or GStreamer does it.
    private let matrix: ColourMatrix?

    /// - Parameters:
    ///   - source: Format of the pictures that are drawn. Its colorimetry is used, not that of the pictures: the caller
    ///     decides for streams that do not signal it.
    ///   - sourceRect: Part that is shown; `nil` shows the whole picture.
    ///   - destinationRect: Rectangle in which the picture appears; the rest of the canvas stays unchanged.
    ///   - threads: Number of threads used for one picture; 1 uses only the caller's.
    /// - Throws: `.syntax` if a rectangle does not lie inside its picture or a format is unknown.
    public init(
        from source: VideoFormat, sourceRect: VideoRect? = nil, to destination: VideoFormat,
        destinationRect: VideoRect, quality: Quality = .linear, threads: Int = 1
    ) throws(GStreamerError) {
        try GStreamerRuntime.start()
        let sourceRect = sourceRect ?? VideoRect(x: 0, y: 0, width: source.width, height: source.height)
        guard sourceRect.isInside(width: source.width, height: source.height) else {
            throw GStreamerError(.syntax, "\(sourceRect) is not inside a picture of \(source.width)×\(source.height)")
        }
        guard destinationRect.isInside(width: destination.width, height: destination.height) else {
            throw GStreamerError(
                .syntax, "\(destinationRect) is not inside a canvas of \(destination.width)×\(destination.height)")
        }
        var input = try source.info()
        var output = try destination.info()
        // The caller decides when pictures are drawn; the converter insists on equal rates.
        (output.fps_n, output.fps_d) = (input.fps_n, input.fps_d)
        let isOurs = destination.layout == "I420" && Self.hasLumaAndChroma(source.layout)
        if isOurs { input.colorimetry = output.colorimetry }
        let method = quality == .cubic ? GST_VIDEO_RESAMPLER_METHOD_CUBIC : GST_VIDEO_RESAMPLER_METHOD_LINEAR
        let taps =
            switch quality {
            case .bilinear: 2
            case .linear: ScalerTaps.linear(from: sourceRect, to: destinationRect)
            case .cubic: 0
            }
        let made = cgst_converter(
            &input, &output, sourceRect.raw, destinationRect.raw, Int32(method.rawValue), guint(taps),
            guint(clamping: max(1, threads)), 1)
        guard let made else {
            throw GStreamerError(.syntax, "no conversion from \(source.layout) to \(destination.layout)")
        }
        matrix = isOurs ? ColourMatrix(from: source.colorimetry, to: destination.colorimetry) : nil
        self.source = source
        self.sourceRect = sourceRect
        self.destination = destination
        self.destinationRect = destinationRect
        state = Mutex(State(made))
    }

    /// Draws `frame` onto `canvas`. Pixels outside the destination rectangle are not touched.
    /// - Returns: False, with nothing drawn, if a picture does not have the size and layout of this converter, or
    ///   `canvas` is not writable.
    @discardableResult
    public func draw(_ frame: VideoFrame, onto canvas: VideoFrame) -> Bool {
        guard frame.width == source.width, frame.height == source.height, frame.format.layout == source.layout,
            canvas.width == destination.width, canvas.height == destination.height,
            canvas.format.layout == destination.layout
        else { return false }
        return state.withLock { state in
            let drawn = frame.withMapped(writing: false) { input -> Bool in
                let mapped: Void? = canvas.withMapped(writing: true) { output in
                    gst_video_converter_frame(state.pointer, &input, &output)
                    if let matrix { convert(&output, matrix) }
                }
                return mapped != nil
            }
            return drawn ?? false
        }
    }

    private func convert(_ canvas: inout GstVideoFrame, _ matrix: ColourMatrix) {
        let (x, y) = (destinationRect.x, destinationRect.y)
        var planes: [ColourMatrix.Target] = []
        for plane in 0..<3 {
            guard let data = cgst_frame_data(&canvas, guint(plane)) else { return }
            let stride = Int(cgst_frame_stride(&canvas, guint(plane)))
            let shift = plane == 0 ? 0 : 1
            planes.append(ColourMatrix.Target(bytes: data + (y >> shift) * stride + (x >> shift), stride: stride))
        }
        matrix.apply(
            y: planes[0], u: planes[1], v: planes[2], width: destinationRect.width, height: destinationRect.height)
    }

    /// Returns whether GStreamer converts the layout to I420 without applying a matrix.
    private static func hasLumaAndChroma(_ layout: String) -> Bool {
        [
            "I420", "YV12", "NV12", "NV21", "Y42B", "Y444", "I420_10LE", "I422_10LE", "Y444_10LE", "P010_10LE", "YUY2",
            "UYVY",
        ]
        .contains(layout)
    }

    /// The owner of GStreamer's converter. Threads must not share it, hence the mutex around it.
    private struct State: ~Copyable {
        let pointer: OpaquePointer
        init(_ pointer: sending OpaquePointer) { self.pointer = pointer }
        deinit { gst_video_converter_free(pointer) }
    }
}
