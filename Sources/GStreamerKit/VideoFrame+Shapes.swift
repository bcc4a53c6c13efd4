import CGStreamer

// Rounded and soft shapes on I420 pictures. Rectangles have even edges inside the picture; on another layout or a frame
// that is not writable, nothing is drawn and false is returned.
extension VideoFrame {
    /// Copies the four corners of a rectangle from the same position in another picture of this size.
    @discardableResult
    public func copyCorners(of rect: VideoRect, size: Int, from picture: VideoFrame) -> Bool {
        var isDone = true
        for corner in Corner.all { isDone = copy(corner.square(of: rect, size: size), of: picture) && isDone }
        return isDone
    }

    /// Shows another picture of this size in the corners of a rectangle, where the mask lies outside of the outline.
    @discardableResult
    public func cutCorners(of rect: VideoRect, by mask: CornerMask, showing picture: VideoFrame) -> Bool {
        guard isI420, picture !== self, picture.isI420, picture.width == width, picture.height == height,
            rect.isInside(width: width, height: height), holds(rect, mask)
        else { return false }
        let drawn: Void?? = withMapped(writing: true) { target in
            picture.withMapped(writing: false) { source in
                Self.forEachCorner(of: rect, mask) { corner, area, shares, size in
                    guard let to = area.start(in: &target), let from = area.start(in: &source) else { return }
                    cgst_corner_plane(
                        to, area.stride(in: &target), from, area.stride(in: &source), 1, shares, size,
                        corner.isRight ? 1 : 0, corner.isBelow ? 1 : 0)
                }
            }
        }
        return (drawn ?? nil) != nil
    }

    /// Paints the corners of a rectangle in one colour, where the mask lies outside of the outline.
    @discardableResult
    public func paintCorners(of rect: VideoRect, by mask: CornerMask, y: UInt8, u: UInt8, v: UInt8) -> Bool {
        guard isI420, rect.isInside(width: width, height: height), holds(rect, mask) else { return false }
        let values = [y, u, v]
        let drawn: Void? = withMapped(writing: true) { target in
            Self.forEachCorner(of: rect, mask) { corner, area, shares, size in
                guard let to = area.start(in: &target) else { return }
                withUnsafePointer(to: values[area.plane]) { value in
                    cgst_corner_plane(
                        to, area.stride(in: &target), value, 0, 0, shares, size, corner.isRight ? 1 : 0,
                        corner.isBelow ? 1 : 0)
                }
            }
        }
        return drawn != nil
    }

    /// Draws a shadow around a rectangle, excluding the rectangle's interior.
    ///
    /// - Parameters:
    ///   - hole: The rectangle that casts the shadow, with even edges; its corners of `cut` pixels are not excluded.
    ///   - offset: Distance in pixels, even, by which the shadow lies lower.
    ///   - opacity: 0…256.
    @discardableResult
    public func shade(
        around hole: VideoRect, cut: Int, by box: SoftBox, offset: Int, y: UInt8, u: UInt8, v: UInt8, opacity: Int
    ) -> Bool {
        guard isI420, (hole.x | hole.y | hole.width | hole.height | offset) & 1 == 0 else { return false }
        let weight = Int32(min(max(opacity, 0), 256))
        let outer = VideoRect(
            x: hole.x - box.reach, y: hole.y - box.reach + offset, width: hole.width + box.reach * 2,
            height: hole.height + box.reach * 2)
        let drawn: Void? = withMapped(writing: true) { target in
            for (plane, value) in [y, u, v].enumerated() {
                let corner = plane == 0 ? box.luma : box.chroma
                let whole = PlaneArea(plane, x: 0, y: 0, width: width, height: height)
                guard let start = whole.start(in: &target) else { return }
                corner.shares.withUnsafeBufferPointer { shares in
                    corner.mirrored.withUnsafeBufferPointer { mirrored in
                        cgst_shade_plane(
                            start, whole.stride(in: &target), whole.width, whole.height, CGstArea(outer, plane),
                            shares.baseAddress, mirrored.baseAddress, Int32(corner.size), value, weight,
                            CGstArea(hole, plane), Int32(plane == 0 ? cut : (cut + 1) / 2))
                    }
                }
            }
        }
        return drawn != nil
    }

    /// Fills the picture with a gradient between two points in pixels. Beyond the points, the end colours continue.
    ///
    /// - Parameters:
    ///   - from: Values of the planes at the start.
    ///   - to: Values of the planes at the end.
    @discardableResult
    public func fillGradient(
        from: (y: UInt8, u: UInt8, v: UInt8), at start: (x: Double, y: Double), to: (y: UInt8, u: UInt8, v: UInt8),
        at end: (x: Double, y: Double)
    ) -> Bool {
        guard isI420 else { return false }
        let values = [(from.y, to.y), (from.u, to.u), (from.v, to.v)]
        let drawn: Void? = withMapped(writing: true) { target in
            for (plane, ends) in values.enumerated() {
                let area = PlaneArea(plane, x: 0, y: 0, width: width, height: height)
                let scale = plane == 0 ? 1.0 : 0.5
                cgst_gradient_plane(
                    area.start(in: &target), area.stride(in: &target), area.width, area.height, start.x * scale,
                    start.y * scale, end.x * scale, end.y * scale, Double(ends.0), Double(ends.1))
            }
        }
        return drawn != nil
    }

    /// Blurs the whole picture within a radius in pixels. Takes time in proportion to the number of pixels, regardless
    /// of the radius.
    @discardableResult
    public func blur(radius: Int) -> Bool {
        guard isI420 else { return false }
        // Three boxes together reach three times as far as one.
        let box = max(min(radius, max(width, height)) / 3, 1)
        var line = [UInt8](repeating: 0, count: max(width, height))
        let drawn: Void? = withMapped(writing: true) { target in
            line.withUnsafeMutableBufferPointer { line in
                for plane in 0..<3 {
                    let area = PlaneArea(plane, x: 0, y: 0, width: width, height: height)
                    cgst_blur_plane(
                        area.start(in: &target), area.stride(in: &target), area.width, area.height,
                        Int32(plane == 0 ? box : max(box / 2, 1)), line.baseAddress)
                }
            }
        }
        return drawn != nil
    }

    // MARK: - Corners

    private struct Corner {
        var isRight: Bool
        var isBelow: Bool

        static let all = [false, true].flatMap { isBelow in [false, true].map { Corner(isRight: $0, isBelow: isBelow) }
        }

        func square(of rect: VideoRect, size: Int) -> VideoRect {
            VideoRect(
                x: isRight ? rect.x + rect.width - size : rect.x, y: isBelow ? rect.y + rect.height - size : rect.y,
                width: size, height: size)
        }
    }

    private static func forEachCorner(
        of rect: VideoRect, _ mask: CornerMask,
        _ body: (Corner, PlaneArea, UnsafePointer<UInt8>, Int32) -> Void
    ) {
        for plane in 0..<3 {
            (plane == 0 ? mask.luma : mask.chroma).withUnsafeBufferPointer { shares in
                guard let shares = shares.baseAddress else { return }
                for corner in Corner.all {
                    let square = corner.square(of: rect, size: mask.size)
                    let area = PlaneArea(plane, x: square.x, y: square.y, width: mask.size, height: mask.size)
                    body(corner, area, shares, area.width)
                }
            }
        }
    }

    /// Returns whether the mask's squares lie inside the rectangle, and on whole samples of chroma.
    private func holds(_ rect: VideoRect, _ mask: CornerMask) -> Bool {
        mask.size <= rect.width && mask.size <= rect.height && (rect.x | rect.y | rect.width | rect.height) & 1 == 0
    }

    private var isI420: Bool { format.layout == "I420" }
}

extension CGstArea {
    fileprivate init(_ rect: VideoRect, _ plane: Int) {
        let shift = plane == 0 ? 0 : 1
        self.init(
            x: Int32(rect.x >> shift), y: Int32(rect.y >> shift), width: Int32(rect.width >> shift),
            height: Int32(rect.height >> shift))
    }
}
