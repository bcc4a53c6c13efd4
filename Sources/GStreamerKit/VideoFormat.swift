import CGStreamer

/// The dimensions, layout and colorimetry of raw pictures.
public struct VideoFormat: Hashable, Sendable {
    /// Width in pixels, at least 1.
    public var width: Int
    /// Height in pixels, at least 1.
    public var height: Int
    /// Frames per second as a fraction; 0/1 means variable.
    public var fps: Fraction
    public var colorimetry: Colorimetry
    /// GStreamer's name of the memory layout: `I420`, `NV12`, `Y42B`, `I420_10LE` …
    public var layout: String
    /// Width of a pixel divided by its height.
    public var pixelAspectRatio: Fraction

    public struct Fraction: Hashable, Sendable {
        public var numerator: Int
        public var denominator: Int

        public init(_ numerator: Int, _ denominator: Int = 1) {
            self.numerator = numerator
            self.denominator = denominator
        }
    }

    public init(
        width: Int, height: Int, fps: Fraction = Fraction(0), colorimetry: Colorimetry = .bt709,
        layout: String = "I420", pixelAspectRatio: Fraction = Fraction(1)
    ) {
        self.width = width
        self.height = height
        self.fps = fps
        self.colorimetry = colorimetry
        self.layout = layout
        self.pixelAspectRatio = pixelAspectRatio
    }
}

extension VideoFormat {
    init(_ info: GstVideoInfo) {
        width = Int(info.width)
        height = Int(info.height)
        fps = Fraction(Int(info.fps_n), Int(info.fps_d))
        colorimetry = Colorimetry(info.colorimetry)
        layout = info.finfo.map { String(cString: gst_video_format_to_string($0.pointee.format)) } ?? "?"
        pixelAspectRatio = Fraction(Int(info.par_n), Int(info.par_d))
    }

    func info() throws(GStreamerError) -> GstVideoInfo {
        var info = GstVideoInfo()
        let format = gst_video_format_from_string(layout)
        guard (1...32_768).contains(width), (1...32_768).contains(height), format != GST_VIDEO_FORMAT_UNKNOWN,
            gst_video_info_set_format(&info, format, guint(width), guint(height)) != 0
        else { throw GStreamerError(.syntax, "unsupported raw video format \(width)×\(height) \(layout)") }
        info.fps_n = gint(clamping: fps.numerator)
        info.fps_d = gint(clamping: fps.denominator)
        info.par_n = gint(clamping: pixelAspectRatio.numerator)
        info.par_d = gint(clamping: pixelAspectRatio.denominator)
        info.colorimetry = colorimetry.raw
        return info
    }
}

/// A rectangle of a picture, in pixels from its upper left corner.
public struct VideoRect: Hashable, Sendable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    func isInside(width: Int, height: Int) -> Bool {
        self.width > 0 && self.height > 0 && x >= 0 && y >= 0 && x + self.width <= width
            && y + self.height <= height
    }

    var raw: CGstRectangle {
        CGstRectangle(
            x: Int32(clamping: x), y: Int32(clamping: y), width: Int32(clamping: width),
            height: Int32(clamping: height))
    }
}
