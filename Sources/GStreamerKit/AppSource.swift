import CGStreamer

/// The input of a pipeline.
///
/// Its limits (`max-bytes`, `block`, `leaky-type`, `is-live`, `format`) are part of the description; with
/// `block=false`, the default of `appsrc`, no call waits. Usable from any thread; calls from different threads take
/// effect in the order in which they arrive.
public final class AppSource: Sendable {
    /// The pipeline's answer to a push.
    public enum Flow: String, Hashable, Sendable {
        case ok
        /// The pipeline is not running (not yet, or no longer).
        case flushing
        /// The stream has already ended.
        case endOfStream
        /// Refused for another reason, which the bus reports.
        case error
    }

    public let name: String
    private let reference: ObjectRef<GstAppSrc>

    init(_ reference: ObjectRef<GstAppSrc>, name: String) {
        self.reference = reference
        self.name = name
    }

    /// Sets the format of the buffers pushed next, in the notation of `gst-launch-1.0`. Serialized with the buffers.
    ///
    /// - Throws: `GStreamerError` (`.syntax`) if the text cannot be read.
    public func setCaps(_ text: String) throws(GStreamerError) {
        guard let caps = gst_caps_from_string(text) else {
            throw GStreamerError(.syntax, "\(name): '\(text)' is not a valid caps string")
        }
        gst_app_src_set_caps(reference.pointer, caps)
        cgst_caps_unref(caps)
    }

    /// Sets the format of the pictures pushed next.
    ///
    /// - Throws: `GStreamerError` (`.syntax`) if GStreamer does not know the format.
    public func setCaps(_ format: VideoFormat) throws(GStreamerError) {
        var info = try format.info()
        guard let caps = gst_video_info_to_caps(&info) else {
            throw GStreamerError(.syntax, "\(name): \(format) has no caps")
        }
        gst_app_src_set_caps(reference.pointer, caps)
        cgst_caps_unref(caps)
    }

    /// Copies `bytes` into a buffer and pushes it. Times are in ns.
    @discardableResult
    public func push(
        bytes: [UInt8], pts: UInt64? = nil, dts: UInt64? = nil, duration: UInt64? = nil, isDelta: Bool = false,
        isHeader: Bool = false
    ) -> Flow {
        let made = bytes.withUnsafeBytes {
            makeBuffer(copying: $0, pts: pts, dts: dts, duration: duration, isDelta: isDelta)
        }
        guard let buffer = made else { return .error }
        if isHeader { cgst_buffer_set_header(buffer) }
        return Flow(gst_app_src_push_buffer(reference.pointer, buffer))
    }

    /// Pushes a picture without copying its pixels; times are in ns. No caller may draw onto `frame` afterwards. The
    /// same frame may be pushed again with another time.
    @discardableResult
    public func push(_ frame: VideoFrame, pts: UInt64, duration: UInt64? = nil) -> Flow {
        guard let buffer = frame.bufferForPush(pts: pts, duration: duration) else { return .error }
        return Flow(gst_app_src_push_buffer(reference.pointer, buffer))
    }

    /// Ends the stream after the buffers that were pushed so far.
    @discardableResult
    public func endOfStream() -> Flow {
        Flow(gst_app_src_end_of_stream(reference.pointer))
    }

    /// Asks the encoder behind this source to make the first picture at or after `runningTime` (ns) an IDR keyframe.
    /// Serialized: the request goes ahead of the buffer that is pushed next.
    ///
    /// - Returns: False if the pipeline did not accept the request.
    @discardableResult
    public func pushForceKeyUnit(runningTime: UInt64) -> Bool {
        let event = gst_video_event_new_downstream_force_key_unit(
            clockTime(runningTime), clockTime(runningTime), clockTime(runningTime), 1, 0)
        let element = UnsafeMutableRawPointer(reference.pointer).assumingMemoryBound(to: GstElement.self)
        return gst_element_send_event(element, event) != 0
    }

    /// Number of bytes that wait inside the source.
    public var queuedBytes: Int { Int(gst_app_src_get_current_level_bytes(reference.pointer)) }
}

extension AppSource.Flow {
    init(_ flow: GstFlowReturn) {
        switch flow {
        case GST_FLOW_OK: self = .ok
        case GST_FLOW_FLUSHING: self = .flushing
        case GST_FLOW_EOS: self = .endOfStream
        default: self = .error
        }
    }
}
