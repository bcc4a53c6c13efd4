import CGStreamer

/// Writable pictures of one format, reused once they are no longer referenced.
///
/// `@unchecked Sendable`: the pool locks itself and the fields do not change.
public final class CanvasPool: @unchecked Sendable {
    public let format: VideoFormat
    private let info: GstVideoInfo
    private let pool: ObjectRef<GstBufferPool>

    /// - Parameter most: Maximum number of pictures that exist at the same time; 0 means no limit.
    /// - Throws: `GStreamerError` if the format is unknown (`.syntax`) or too large for the memory (`.resource`).
    public init(format: VideoFormat, most: Int = 0) throws(GStreamerError) {
        try GStreamerRuntime.start()
        var info = try format.info()
        guard let pointer = cgst_video_pool(&info, guint(clamping: most), 31) else {
            throw GStreamerError(.resource, "no memory for pictures of \(format.width)×\(format.height)")
        }
        self.format = format
        self.info = info
        pool = ObjectRef(adopting: pointer)
    }

    deinit { gst_buffer_pool_set_active(pool.pointer, 0) }

    /// Returns a picture with undefined content that only the caller holds; `nil` if `most` are in use or memory is
    /// exhausted. Never waits.
    public func acquire() -> VideoFrame? {
        guard let buffer = cgst_pool_acquire(pool.pointer) else { return nil }
        return VideoFrame(adopting: buffer, info: info, format: format)
    }
}
