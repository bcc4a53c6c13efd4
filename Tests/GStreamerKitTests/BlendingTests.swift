import GStreamerKit
import Testing

/// Drawing over I420 pictures, compared with the arithmetic in `Double`.
@Suite struct BlendingTests {
    /// Returns noise that is the same in every run.
    private static func noise(_ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: index &* 2_654_435_761 >> 11) }

    private func canvas(
        _ width: Int, _ height: Int, _ y: UInt8 = 90, _ u: UInt8 = 110, _ v: UInt8 = 140
    ) throws -> VideoFrame {
        let frame = try #require(try CanvasPool(format: VideoFormat(width: width, height: height)).acquire())
        #expect(frame.fill(y: y, u: u, v: v))
        return frame
    }

    /// Returns a picture in BGRA with straight alpha.
    private func picture(_ width: Int, _ height: Int, _ pixel: (Int, Int) -> [UInt8]) async throws -> VideoFrame {
        let pipeline = try Pipeline(
            "appsrc name=in format=time ! appsink name=out sync=false async=false", name: "bgra")
        let frames = Collector<VideoFrame?>()
        try pipeline.appSink("out") { frames.add($0.videoFrame()) }
        let source = try pipeline.appSource("in")
        try source.setCaps("video/x-raw,format=BGRA,width=\(width),height=\(height),framerate=1/1")
        try await pipeline.play()
        source.push(bytes: (0..<height).flatMap { y in (0..<width).flatMap { x in pixel(x, y) } }, pts: 0)
        source.endOfStream()
        _ = await pipeline.finish()
        await pipeline.tearDown()
        return try #require(frames.all.first ?? nil)
    }

    /// Returns Y′, C_B and C_R of BT.709, limited range.
    private func colour(_ bgra: [UInt8]) -> [Double] {
        let (b, g, r) = (Double(bgra[0]) / 255, Double(bgra[1]) / 255, Double(bgra[2]) / 255)
        let luma = 0.2126 * r + 0.7152 * g + 0.0722 * b
        return [16 + 219 * luma, 128 + 224 * (b - luma) / 1.8556, 128 + 224 * (r - luma) / 1.5748]
    }

    @Test(arguments: [0, 1, 77, 128, 255, 256]) func transparentPixelsAreLaidOverExactly(opacity: Int) async throws {
        // Not a multiple of 16, so that the rest of a row is tested too.
        let (width, height) = (54, 38)
        let pixel = { (x: Int, y: Int) -> [UInt8] in
            // One colour for each 2×2 pixels, the resolution of chroma.
            let cell = y / 2 * 64 + x / 2
            return [
                Self.noise(cell), Self.noise(cell + 10_000), Self.noise(cell + 20_000),
                cell % 3 == 0 ? 255 : Self.noise(cell + 30_000),
            ]
        }
        let layer = try AlphaPicture(try await picture(width, height, pixel), colorimetry: .bt709)
        #expect(!layer.isOpaque && layer.width == width && layer.height == height)
        let canvas = try canvas(80, 60)
        #expect(layer.draw(onto: canvas, x: 8, y: 4, opacity: opacity))
        var worst = 0.0
        for (plane, below) in [90.0, 110, 140].enumerated() {
            let bytes = canvas.plane(plane)
            let shift = plane == 0 ? 0 : 1
            for y in 0..<60 >> shift {
                for x in 0..<80 >> shift {
                    let found = Double(bytes[y * (80 >> shift) + x])
                    let (column, row) = ((x << shift) - 8, (y << shift) - 4)
                    guard (0..<width).contains(column), (0..<height).contains(row) else {
                        #expect(found == below, "outside, at \(x),\(y)")
                        continue
                    }
                    let bgra = pixel(column, row)
                    let alpha = Double(bgra[3]) / 255 * Double(opacity) / 256
                    worst = max(worst, abs(found - (below * (1 - alpha) + colour(bgra)[plane] * alpha)))
                }
            }
        }
        print("laid over with \(opacity)/256: largest error \(worst) of 255")
        #expect(worst <= 2)
    }

    @Test func partsAndPlacesOverTheEdgesAreCutOff() async throws {
        let layer = try AlphaPicture(
            try await picture(32, 32) { x, _ in x < 16 ? [255, 255, 255, 255] : [0, 0, 0, 255] },
            colorimetry: .bt709)
        #expect(layer.isOpaque)
        for (x, y) in [(-10, -10), (50, 40), (-32, 0), (64, 48), (-1000, 1000), (0, 0)] {
            let canvas = try canvas(64, 48)
            #expect(layer.draw(onto: canvas, x: x, y: y))
            let luma = canvas.plane(0)
            for row in 0..<48 {
                for column in 0..<64 {
                    let isInside = (x..<x + 32).contains(column) && (y..<y + 32).contains(row)
                    #expect(luma[row * 64 + column] == (isInside ? column - x < 16 ? 235 : 16 : 90))
                }
            }
        }
        let canvas = try canvas(64, 48)
        #expect(layer.draw(onto: canvas, x: 4, y: 6, part: VideoRect(x: 10, y: 0, width: 12, height: 8)))
        let luma = canvas.plane(0)
        #expect(
            Array(luma[6 * 64 + 4..<6 * 64 + 16]) == [UInt8](repeating: 235, count: 6)
                + [UInt8](repeating: 16, count: 6))
        #expect(luma[14 * 64 + 4] == 90 && luma[6 * 64 + 16] == 90)
        #expect(!layer.draw(onto: canvas, x: 1, y: 0))
        #expect(layer.draw(onto: canvas, x: 0, y: 0, part: VideoRect(x: 40, y: 0, width: 12, height: 8)))
    }

    @Test func scalingKeepsTheColourOfTransparentEdges() async throws {
        // White on transparent black: a picture that is averaged before it is weighted gets a dark edge.
        let image = try await picture(160, 160) { x, y in
            (x - 80) * (x - 80) + (y - 80) * (y - 80) < 75 * 75 ? [255, 255, 255, 255] : [0, 0, 0, 0]
        }
        let layer = try AlphaPicture(image, width: 44, height: 44, colorimetry: .bt709)
        let canvas = try canvas(64, 64, 235, 128, 128)
        layer.draw(onto: canvas, x: 10, y: 10)
        #expect(canvas.plane(0).allSatisfy { $0 >= 233 }, "\(canvas.plane(0).min() ?? 0)")
        #expect(canvas.plane(1).allSatisfy { abs(Int($0) - 128) <= 1 })
    }

    @Test(arguments: [0, 3, 128, 250, 256]) func picturesAreMixedExactly(opacity: Int) throws {
        let (below, above) = (try canvas(70, 50, 200, 90, 30), try canvas(70, 50, 17, 201, 140))
        let rect = VideoRect(x: 6, y: 4, width: 50, height: 40)
        #expect(below.blend(rect, of: above, opacity: opacity))
        for (plane, pair) in [(200, 17), (90, 201), (30, 140)].enumerated() {
            let shift = plane == 0 ? 0 : 1
            let bytes = below.plane(plane)
            let mixed = (Double(pair.0) * Double(256 - opacity) + Double(pair.1) * Double(opacity)) / 256
            for y in 0..<50 >> shift {
                for x in 0..<70 >> shift {
                    let isInside = (6..<56).contains(x << shift) && (4..<44).contains(y << shift)
                    #expect(abs(Double(bytes[y * (70 >> shift) + x]) - (isInside ? mixed : Double(pair.0))) <= 0.5)
                }
            }
        }
    }

    @Test func rectanglesAreFilledAndCopiedAndNothingElse() throws {
        let canvas = try canvas(64, 48)
        #expect(canvas.fill(VideoRect(x: 60, y: -4, width: 20, height: 8), y: 1, u: 2, v: 3))
        let other = try self.canvas(64, 48, 5, 6, 7)
        #expect(canvas.copy(VideoRect(x: -2, y: 40, width: 6, height: 100), of: other))
        for (plane, values) in [(90, 1, 5), (110, 2, 6), (140, 3, 7)].enumerated() {
            let shift = plane == 0 ? 0 : 1
            let bytes = canvas.plane(plane)
            for y in 0..<48 >> shift {
                for x in 0..<64 >> shift {
                    let (column, row) = (x << shift, y << shift)
                    let expected = column >= 60 && row < 4 ? values.1 : column < 4 && row >= 40 ? values.2 : values.0
                    #expect(Int(bytes[y * (64 >> shift) + x]) == expected, "\(plane) at \(x),\(y)")
                }
            }
        }
        #expect(!canvas.fill(VideoRect(x: 1, y: 0, width: 4, height: 4), y: 0, u: 0, v: 0))
        #expect(!canvas.copy(VideoRect(x: 0, y: 0, width: 4, height: 4), of: canvas))
        #expect(!canvas.blend(VideoRect(x: 0, y: 0, width: 4, height: 4), of: try self.canvas(32, 48), opacity: 9))
    }

    @Test func otherLayoutsAreRefused() async throws {
        #expect(throws: GStreamerError.self) { try AlphaPicture(try canvas(16, 16), colorimetry: .bt709) }
        let layer = try AlphaPicture(try await picture(16, 16) { _, _ in [0, 0, 0, 0] }, colorimetry: .bt709)
        let other = try #require(
            try CanvasPool(format: VideoFormat(width: 16, height: 16, layout: "Y444")).acquire())
        #expect(!layer.draw(onto: other, x: 0, y: 0))
        #expect(!other.fill(VideoRect(x: 0, y: 0, width: 4, height: 4), y: 0, u: 0, v: 0))
    }
}
