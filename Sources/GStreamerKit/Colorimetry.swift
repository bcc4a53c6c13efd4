import CGStreamer

/// The interpretation of a picture's values as colours, in the code points of ITU-T H.273 (the same as in an H.264
/// SPS). 2 means unspecified.
public struct Colorimetry: Hashable, Sendable {
    /// Colour primaries: 1 = BT.709, 5 = BT.601 625 lines, 6 = BT.601 525 lines, 9 = BT.2020.
    public var primaries: Int
    /// Transfer function: 1 = BT.709, 6 = BT.601, 13 = sRGB.
    public var transfer: Int
    /// Matrix coefficients: 1 = BT.709, 5 and 6 = BT.601, 9 = BT.2020.
    public var matrix: Int
    /// Whether luma uses 0…255; otherwise it uses 16…235.
    public var isFullRange: Bool

    public init(primaries: Int, transfer: Int, matrix: Int, isFullRange: Bool = false) {
        self.primaries = primaries
        self.transfer = transfer
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    public static let bt709 = Colorimetry(primaries: 1, transfer: 1, matrix: 1)
    public static let bt601 = Colorimetry(primaries: 6, transfer: 6, matrix: 6)
    /// RGB as used by screens and image files.
    public static let sRGB = Colorimetry(primaries: 1, transfer: 13, matrix: 0, isFullRange: true)
    public static let unspecified = Colorimetry(primaries: 2, transfer: 2, matrix: 2)
}

extension Colorimetry {
    init(_ raw: GstVideoColorimetry) {
        primaries = Int(gst_video_color_primaries_to_iso(raw.primaries))
        transfer = Int(gst_video_transfer_function_to_iso(raw.transfer))
        matrix = Int(gst_video_color_matrix_to_iso(raw.matrix))
        isFullRange = raw.range == GST_VIDEO_COLOR_RANGE_0_255
    }

    var raw: GstVideoColorimetry {
        var raw = GstVideoColorimetry()
        raw.primaries = gst_video_color_primaries_from_iso(guint(clamping: primaries))
        raw.transfer = gst_video_transfer_function_from_iso(guint(clamping: transfer))
        raw.matrix = gst_video_color_matrix_from_iso(guint(clamping: matrix))
        raw.range = isFullRange ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235
        return raw
    }
}
