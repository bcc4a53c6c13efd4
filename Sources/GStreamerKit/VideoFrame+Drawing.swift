import CGStreamer

// Drawing on I420 pictures without conversion. All coordinates are even, as 4:2:0 requires; drawing is clipped to the
// picture. On another layout or a frame that is not writable, nothing is drawn and false is returned.
extension VideoFrame {
    /// Fills a rectangle with one colour.
    @discardableResult
    public func fill(_ rect: VideoRect, y: UInt8, u: UInt8, v: UInt8) -> Bool {
        guard let rect = drawable(rect) else { return false }
        let drawn: Void? = withMapped(writing: true) { target in
            for (plane, value) in [y, u, v].enumerated() {
                let area = PlaneArea(plane, x: rect.x, y: rect.y, width: rect.width, height: rect.height)
                cgst_fill_plane(
                    area.start(in: &target), area.stride(in: &target), area.width, area.height, value)
            }
        }
        return drawn != nil
    }

    /// Copies a rectangle from the same position in another picture of this size.
    @discardableResult
    public func copy(_ rect: VideoRect, of picture: VideoFrame) -> Bool {
        draw(rect, of: picture) { target, source, area in
            cgst_copy_plane(
                area.start(in: &target), area.stride(in: &target), area.start(in: &source), area.stride(in: &source),
                area.width, area.height)
        }
    }

    /// Blends a rectangle with the same position in another picture of this size.
    ///
    /// - Parameter opacity: Opacity of the other picture, 0…256.
    @discardableResult
    public func blend(_ rect: VideoRect, of picture: VideoFrame, opacity: Int) -> Bool {
        let weight = Int32(min(max(opacity, 0), 256))
        return draw(rect, of: picture) { target, source, area in
            cgst_blend_plane(
                area.start(in: &target), area.stride(in: &target), area.start(in: &source), area.stride(in: &source),
                area.width, area.height, weight)
        }
    }

    private func draw(
        _ rect: VideoRect, of picture: VideoFrame,
        _ body: (inout GstVideoFrame, inout GstVideoFrame, PlaneArea) -> Void
    ) -> Bool {
        guard let rect = drawable(rect), picture !== self, picture.format.layout == "I420", picture.width == width,
            picture.height == height
        else { return false }
        let drawn: Void?? = withMapped(writing: true) { target in
            picture.withMapped(writing: false) { source in
                for plane in 0..<3 {
                    body(
                        &target, &source,
                        PlaneArea(plane, x: rect.x, y: rect.y, width: rect.width, height: rect.height))
                }
            }
        }
        return (drawn ?? nil) != nil
    }

    /// Returns the part of the rectangle that lies on this picture; `nil` if nothing can be drawn there.
    private func drawable(_ rect: VideoRect) -> VideoRect? {
        guard format.layout == "I420", (rect.x | rect.y) & 1 == 0 else { return nil }
        let (left, top) = (max(rect.x, 0), max(rect.y, 0))
        let (right, bottom) = (min(rect.x + rect.width, width), min(rect.y + rect.height, height))
        return VideoRect(x: left, y: top, width: max(right - left, 0), height: max(bottom - top, 0))
    }
}

/// A rectangle of one plane of an I420 picture, in samples; odd sizes include the half-covered chroma.
struct PlaneArea {
    let plane: Int
    let x: Int
    let y: Int
    let width: Int32
    let height: Int32

    init(_ plane: Int, x: Int, y: Int, width: Int, height: Int) {
        self.plane = plane
        self.x = plane == 0 ? x : x / 2
        self.y = plane == 0 ? y : y / 2
        self.width = Int32(plane == 0 ? width : (width + 1) / 2)
        self.height = Int32(plane == 0 ? height : (height + 1) / 2)
    }

    func stride(in frame: inout GstVideoFrame) -> Int32 { cgst_frame_stride(&frame, guint(plane)) }

    func start(in frame: inout GstVideoFrame) -> UnsafeMutablePointer<UInt8>? {
        cgst_frame_data(&frame, guint(plane)).map { $0 + y * Int(stride(in: &frame)) + x }
    }
}
