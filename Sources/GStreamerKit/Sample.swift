import CGStreamer

/// A buffer with its caps and segment, valid while the callback that received it runs.
///
/// Move-only: to keep bytes longer, copy them; to keep pictures, use `VideoFrame`.
public struct Sample: ~Copyable {
    private let pointer: OpaquePointer
    private let buffer: UnsafeMutablePointer<GstBuffer>

    /// Takes over the caller's reference; `nil` for a sample without a buffer.
    init?(adopting pointer: OpaquePointer) {
        guard let buffer = gst_sample_get_buffer(pointer) else {
            cgst_sample_unref(pointer)
            return nil
        }
        self.pointer = pointer
        self.buffer = buffer
    }

    deinit { cgst_sample_unref(pointer) }

    /// Presentation time in ns, as stored in the buffer; some encoders shift it, see `runningTime`.
    public var pts: UInt64? { optionalTime(buffer.pointee.pts) }
    /// Decoding time in ns, as stored in the buffer.
    public var dts: UInt64? { optionalTime(buffer.pointee.dts) }
    /// Duration in ns.
    public var duration: UInt64? { optionalTime(buffer.pointee.duration) }

    /// Presentation time in ns on the pipeline's timeline. For an encoder, this is the time of the input, without the
    /// shift that makes room for negative decoding times.
    public var runningTime: Int64? { runningTime(of: buffer.pointee.pts) }
    /// Decoding time in ns on the pipeline's timeline; may be negative.
    public var decodingRunningTime: Int64? { runningTime(of: buffer.pointee.dts) }

    /// Whether the unit cannot be decoded without others: for encoded video, true for all but keyframes.
    public var isDelta: Bool { flags & cgst_flag_delta() != 0 }
    public var isHeader: Bool { flags & cgst_flag_header() != 0 }
    public var isDiscontinuity: Bool { flags & cgst_flag_discontinuity() != 0 }
    /// Whether a decoder has marked the picture as damaged.
    public var isCorrupted: Bool { flags & cgst_flag_corrupted() != 0 }

    /// Size in bytes.
    public var size: Int { Int(gst_buffer_get_size(buffer)) }

    /// The caps as text; takes a few microseconds.
    public var capsString: String? {
        guard let caps = gst_sample_get_caps(pointer) else { return nil }
        return consumingText(of: gst_caps_to_string(caps))
    }

    /// Out-of-band decoder configuration: AVCDecoderConfigurationRecord or AudioSpecificConfig.
    public var codecData: [UInt8]? { capsBytes("codec_data") }

    /// Returns a caps field that is a buffer, or the first buffer of a list.
    public func capsBytes(_ field: String) -> [UInt8]? {
        guard let held = cgst_caps_buffer(gst_sample_get_caps(pointer), field) else { return nil }
        return withBytes(of: held) { Array($0) }
    }

    /// Returns a whole number from the caps, such as `rate` or `channels`.
    public func capsInteger(_ field: String) -> Int? {
        guard let caps = gst_sample_get_caps(pointer), gst_caps_get_size(caps) > 0,
            let structure = gst_caps_get_structure(caps, 0)
        else { return nil }
        var value: gint = 0
        guard gst_structure_get_int(structure, field, &value) != 0 else { return nil }
        return Int(value)
    }

    /// Lends the bytes; they must not be used after `body` has returned. Empty if the buffer cannot be mapped.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withBytes(of: buffer, body)
    }

    /// A copy of the bytes.
    public var bytes: [UInt8] { withBytes { Array($0) } }

    /// Returns the picture without copying it; `nil` unless the caps are raw video in system memory.
    ///
    /// - Parameter colorimetry: Meaning of the picture's values, if known better than from the caps.
    public func videoFrame(colorimetry: Colorimetry? = nil) -> VideoFrame? {
        guard let caps = gst_sample_get_caps(pointer) else { return nil }
        var info = GstVideoInfo()
        guard gst_video_info_from_caps(&info, caps) != 0 else { return nil }
        if let colorimetry { info.colorimetry = colorimetry.raw }
        return VideoFrame(retaining: buffer, info: info, pts: pts)
    }

    private var flags: guint { cgst_buffer_flags(buffer) }

    private func runningTime(of position: GstClockTime) -> Int64? {
        var isValid: gboolean = 0
        let time = cgst_running_time(gst_sample_get_segment(pointer), position, &isValid)
        return isValid != 0 ? Int64(time) : nil
    }

    private func withBytes<Result>(
        of buffer: UnsafeMutablePointer<GstBuffer>, _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        var map = GstMapInfo()
        guard gst_buffer_map(buffer, &map, GST_MAP_READ) != 0 else {
            return try body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        defer { gst_buffer_unmap(buffer, &map) }
        return try body(UnsafeRawBufferPointer(start: map.data, count: Int(map.size)))
    }
}
