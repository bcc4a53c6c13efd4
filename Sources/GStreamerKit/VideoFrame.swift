import CGStreamer
import Synchronization

/// A raw picture: a reference to GStreamer's buffer, never a copy.
///
/// `@unchecked Sendable`: the reference count is atomic and the fields do not change. Pixels may be read by any number
/// of threads. They may be written (`fill`, `VideoConverter.draw`) only by the one holder of a frame that came from a
/// `CanvasPool` and has not been pushed yet; writing to any other frame does nothing and returns false.
public final class VideoFrame: @unchecked Sendable {
    public let format: VideoFormat
    /// Presentation time in ns, as stored in the buffer when this object was created.
    public let pts: UInt64?

    private let buffer: UnsafeMutablePointer<GstBuffer>
    private let info: GstVideoInfo
    /// Set by the first push, after which elements may share the pixels in their own buffers.
    private let wasPushed = Atomic(false)

    public var width: Int { format.width }
    public var height: Int { format.height }

    init(retaining buffer: UnsafeMutablePointer<GstBuffer>, info: GstVideoInfo, pts: UInt64?) {
        self.buffer = cgst_buffer_ref(buffer)
        self.info = info
        self.pts = pts
        format = VideoFormat(info)
    }

    init(adopting buffer: UnsafeMutablePointer<GstBuffer>, info: GstVideoInfo, format: VideoFormat) {
        self.buffer = buffer
        self.info = info
        self.format = format
        pts = nil
    }

    deinit { cgst_buffer_unref(buffer) }

    /// Whether this object is the only holder of the pixels.
    public var isWritable: Bool {
        !wasPushed.load(ordering: .relaxed) && cgst_buffer_is_writable(buffer) != 0
    }

    /// Gives every pixel the same colour. For 8-bit planar layouts (I420, Y42B, Y444), one value per plane.
    @discardableResult
    public func fill(y: UInt8, u: UInt8, v: UInt8) -> Bool {
        let filled: Void? = withPlanes(writing: true) { planes in
            for (plane, value) in zip(planes, [y, u, v]) {
                for row in 0..<plane.height {
                    UnsafeMutableRawPointer(mutating: plane.bytes.advanced(by: row * plane.stride))
                        .initializeMemory(as: UInt8.self, repeating: value, count: plane.width)
                }
            }
        }
        return filled != nil
    }

    /// Copies the pixels of one plane (0 = Y, 1 = U, 2 = V), row by row without padding; empty if there is no such
    /// plane. For tests and analysis.
    public func plane(_ index: Int) -> [UInt8] {
        let copy = withPlanes(writing: false) { planes -> [UInt8] in
            guard planes.indices.contains(index) else { return [] }
            let plane = planes[index]
            var pixels: [UInt8] = []
            pixels.reserveCapacity(plane.width * plane.height)
            for row in 0..<plane.height {
                pixels += UnsafeRawBufferPointer(start: plane.bytes + row * plane.stride, count: plane.width)
            }
            return pixels
        }
        return copy ?? []
    }

    /// Lends one plane (0 = Y, 1 = U, 2 = V) without copying: its bytes, its stride, and its width and height in
    /// samples. `nil` if there is no such plane. The bytes must not be used after `body` has returned.
    public func withPlane<Result>(
        _ index: Int, _ body: (_ bytes: UnsafeRawBufferPointer, _ stride: Int, _ width: Int, _ height: Int) -> Result
    ) -> Result? {
        withPlanes(writing: false) { planes -> Result? in
            guard planes.indices.contains(index) else { return nil }
            let plane = planes[index]
            let size = (plane.height - 1) * plane.stride + plane.width
            return body(
                UnsafeRawBufferPointer(start: plane.bytes, count: size), plane.stride, plane.width, plane.height)
        } ?? nil
    }

    // MARK: - Inside the module

    struct Plane {
        let bytes: UnsafeRawPointer
        let stride: Int
        let width: Int
        let height: Int
    }

    /// Lends the planes as GStreamer maps them, with the decoder's strides.
    func withMapped<Result>(writing: Bool, _ body: (inout GstVideoFrame) -> Result) -> Result? {
        if writing && !isWritable { return nil }
        var frame = GstVideoFrame()
        var info = info
        let flags = writing ? GstMapFlags(GST_MAP_READ.rawValue | GST_MAP_WRITE.rawValue) : GST_MAP_READ
        // Without NO_REF the map itself holds a reference and the buffer is no longer writable for others; with it,
        // `self` keeps the buffer alive.
        let noReference = GstMapFlags(flags.rawValue | UInt32(GST_VIDEO_FRAME_MAP_FLAG_NO_REF.rawValue))
        guard gst_video_frame_map(&frame, &info, buffer, noReference) != 0 else { return nil }
        defer { gst_video_frame_unmap(&frame) }
        return body(&frame)
    }

    /// Returns a buffer with the given times in ns, which the caller owns: this frame's own buffer if there is no other
    /// holder, or else a copy that shares the pixels; `nil` if it cannot be copied.
    func bufferForPush(pts: UInt64, duration: UInt64?) -> UnsafeMutablePointer<GstBuffer>? {
        let isFirst = wasPushed.exchange(true, ordering: .relaxed) == false
        let made: UnsafeMutablePointer<GstBuffer>? =
            isFirst && cgst_buffer_is_writable(buffer) != 0 ? cgst_buffer_ref(buffer) : cgst_buffer_copy(buffer)
        if let made { setTimes(of: made, pts: pts, dts: nil, duration: duration) }
        return made
    }

    private func withPlanes<Result>(writing: Bool, _ body: ([Plane]) -> Result) -> Result? {
        withMapped(writing: writing) { frame in
            let count = Int(cgst_frame_planes(&frame))
            let planes = (0..<count).compactMap { index -> Plane? in
                guard let bytes = cgst_frame_data(&frame, guint(index)) else { return nil }
                return Plane(
                    bytes: UnsafeRawPointer(bytes), stride: Int(cgst_frame_stride(&frame, guint(index))),
                    width: Int(cgst_frame_row_bytes(&frame, guint(index))),
                    height: Int(cgst_frame_rows(&frame, guint(index))))
            }
            return body(planes)
        }
    }
}
