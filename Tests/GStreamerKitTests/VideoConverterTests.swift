import GStreamerKit
import Testing

@Suite(.timeLimit(.minutes(3))) struct VideoConverterTests {
    private let canvasFormat = VideoFormat(width: 128, height: 96)

    @Test(arguments: VideoConverter.Quality.all)
    func equalFormatsWithoutScalingCopyExactly(quality: VideoConverter.Quality) async throws {
        let frame = try await noise(width: 64, height: 48)
        let canvas = try filled(canvasFormat, 16, 128, 128)
        let converter = try VideoConverter(
            from: frame.format, to: canvasFormat, destinationRect: VideoRect(x: 20, y: 10, width: 64, height: 48),
            quality: quality)
        #expect(converter.draw(frame, onto: canvas))
        for (plane, shift) in [(0, 0), (1, 1), (2, 1)] {
            let (from, to) = (frame.plane(plane), canvas.plane(plane))
            for y in 0..<(96 >> shift) {
                for x in 0..<(128 >> shift) {
                    let (sx, sy) = (x - (20 >> shift), y - (10 >> shift))
                    let inside = (0..<(64 >> shift)).contains(sx) && (0..<(48 >> shift)).contains(sy)
                    let expected = inside ? from[sy * (64 >> shift) + sx] : (plane == 0 ? 16 : 128)
                    if to[y * (128 >> shift) + x] != expected {
                        Issue.record("plane \(plane) at \(x),\(y): \(to[y * (128 >> shift) + x]), not \(expected)")
                        return
                    }
                }
            }
        }
    }

    @Test func aCropIsTakenFromWhereItWasAsked() async throws {
        let frame = try await noise(width: 64, height: 48)
        let canvas = try filled(canvasFormat, 16, 128, 128)
        let converter = try VideoConverter(
            from: frame.format, sourceRect: VideoRect(x: 8, y: 6, width: 32, height: 24), to: canvasFormat,
            destinationRect: VideoRect(x: 96, y: 72, width: 32, height: 24))
        #expect(converter.draw(frame, onto: canvas))
        let (from, to) = (frame.plane(0), canvas.plane(0))
        for y in 0..<24 {
            #expect(Array(to[((y + 72) * 128 + 96)...].prefix(32)) == Array(from[((y + 6) * 64 + 8)...].prefix(32)))
        }
        #expect(Set(to[0..<(72 * 128)]) == [16])
    }

    @Test(arguments: VideoConverter.Quality.all, [16, 40, 64, 100])
    func aScaledPlainColourKeepsItsValueAndStaysInItsRectangle(
        quality: VideoConverter.Quality, side: Int
    ) throws {
        let frame = try filled(VideoFormat(width: 62, height: 46), 90, 60, 210)
        let canvas = try filled(canvasFormat, 16, 128, 128)
        let side = min(side, 90)
        let converter = try VideoConverter(
            from: frame.format, to: canvasFormat, destinationRect: VideoRect(x: 4, y: 2, width: side, height: side),
            quality: quality)
        #expect(converter.draw(frame, onto: canvas))
        for (plane, value, background, shift) in [(0, 90, 16, 0), (1, 60, 128, 1), (2, 210, 128, 1)] {
            let pixels = canvas.plane(plane).map(Int.init)
            let width = 128 >> shift
            for (index, pixel) in pixels.enumerated() {
                let (x, y) = (index % width, index / width)
                let inside =
                    (4 >> shift..<(4 + side) >> shift).contains(x) && (2 >> shift..<(2 + side) >> shift).contains(y)
                let tolerance = inside && quality == .cubic ? 2 : 0
                if abs(pixel - (inside ? value : background)) > tolerance {
                    Issue.record("plane \(plane) at \(x),\(y): \(pixel)")
                    return
                }
            }
        }
    }

    /// Red has other values in BT.601 than in BT.709; both are the nearest integers of the standards' equations.
    @Test func theCallersColorimetryDecides() throws {
        let red601 = (y: UInt8(81), u: UInt8(90), v: UInt8(240))
        let red709 = (y: 63, u: 102, v: 240)
        var format = VideoFormat(width: 64, height: 48, colorimetry: .bt709)
        let frame = try filled(format, red601.y, red601.u, red601.v)
        format.colorimetry = .bt601  // The picture says BT.709; the caller knows better.
        let canvas = try filled(canvasFormat, 16, 128, 128)
        let converter = try VideoConverter(
            from: format, to: canvasFormat, destinationRect: VideoRect(x: 0, y: 0, width: 128, height: 96))
        #expect(converter.draw(frame, onto: canvas))
        #expect(Set(canvas.plane(0)).allSatisfy { abs(Int($0) - red709.y) <= 1 }, "\(Set(canvas.plane(0)))")
        #expect(Set(canvas.plane(1)).allSatisfy { abs(Int($0) - red709.u) <= 1 }, "\(Set(canvas.plane(1)))")
        #expect(Set(canvas.plane(2)).allSatisfy { abs(Int($0) - red709.v) <= 1 }, "\(Set(canvas.plane(2)))")
    }

    /// Every colour that both ranges can represent is converted as in the equations of BT.601 and BT.709.
    @Test(arguments: [false, true]) func coloursAreConvertedToTheNearestStep(isFullRange: Bool) throws {
        var format = VideoFormat(width: 16, height: 16, colorimetry: .bt601)
        format.colorimetry.isFullRange = isFullRange
        let pool = try CanvasPool(format: VideoFormat(width: 16, height: 16))
        let rect = VideoRect(x: 4, y: 2, width: 8, height: 10)
        let converter = try VideoConverter(
            from: format, sourceRect: rect, to: pool.format, destinationRect: rect)
        var worst = 0.0
        for red in stride(from: 0.0, through: 1, by: 0.125) {
            for green in stride(from: 0.0, through: 1, by: 0.125) {
                for blue in stride(from: 0.0, through: 1, by: 0.125) {
                    let from = components(red, green, blue, weights: (0.299, 0.114), isFullRange: isFullRange)
                    let to = components(red, green, blue, weights: (0.2126, 0.0722), isFullRange: false)
                    let frame = try #require(pool.acquire())
                    let canvas = try #require(pool.acquire())
                    let rounded = from.map { UInt8($0.rounded()) }
                    frame.fill(y: rounded[0], u: rounded[1], v: rounded[2])
                    canvas.fill(y: 16, u: 128, v: 128)
                    #expect(converter.draw(frame, onto: canvas))
                    for plane in 0..<3 {
                        let (width, x, y) = plane == 0 ? (16, 4, 2) : (8, 2, 1)
                        let pixels = canvas.plane(plane)
                        worst = max(worst, abs(Double(pixels[y * width + x]) - to[plane]))
                        #expect(pixels[0] == (plane == 0 ? 16 : 128))
                    }
                }
            }
        }
        // Half a step from rounding the input (more where a matrix stretches it), half from rounding the output.
        #expect(worst <= 1.3)
    }

    private func components(
        _ red: Double, _ green: Double, _ blue: Double, weights: (red: Double, blue: Double), isFullRange: Bool
    ) -> [Double] {
        let luma = weights.red * red + (1 - weights.red - weights.blue) * green + weights.blue * blue
        let (u, v) = ((blue - luma) / (2 * (1 - weights.blue)), (red - luma) / (2 * (1 - weights.red)))
        return isFullRange
            ? [255 * luma, min(255, 128 + 255 * u), min(255, 128 + 255 * v)]
            : [16 + 219 * luma, 128 + 224 * u, 128 + 224 * v]
    }

    @Test(arguments: ["NV12", "Y42B", "Y444", "I420_10LE"])
    func otherLayoutsOfDecodersAreDrawn(layout: String) async throws {
        let frame = try await picture("videotestsrc pattern=white num-buffers=1", width: 64, height: 48, layout: layout)
        let canvas = try filled(canvasFormat, 16, 100, 100)
        let converter = try VideoConverter(
            from: frame.format, to: canvasFormat, destinationRect: VideoRect(x: 0, y: 0, width: 128, height: 96))
        #expect(converter.draw(frame, onto: canvas))
        #expect(canvas.plane(0).allSatisfy { (234...236).contains($0) })
        #expect(canvas.plane(1).allSatisfy { (127...129).contains($0) })
    }

    @Test func rectanglesOutsideAndWrongPicturesAreRefused() throws {
        let inside = VideoRect(x: 0, y: 0, width: 64, height: 48)
        let outside = VideoRect(x: 66, y: 0, width: 64, height: 48)
        let format = VideoFormat(width: 64, height: 48)
        #expect(throws: GStreamerError.self) {
            try VideoConverter(from: format, to: canvasFormat, destinationRect: outside)
        }
        #expect(throws: GStreamerError.self) {
            try VideoConverter(from: format, sourceRect: outside, to: canvasFormat, destinationRect: inside)
        }
        #expect(throws: GStreamerError.self) {
            try VideoConverter(
                from: VideoFormat(width: 64, height: 48, layout: "XYZ"), to: canvasFormat, destinationRect: inside)
        }
        let converter = try VideoConverter(from: format, to: canvasFormat, destinationRect: inside)
        let canvas = try filled(canvasFormat, 16, 128, 128)
        #expect(!converter.draw(canvas, onto: canvas))
    }

    @Test func aPoolLendsNoMoreThanItsLimitAndTakesBack() throws {
        let pool = try CanvasPool(format: canvasFormat, most: 2)
        var first = pool.acquire()
        let second = pool.acquire()
        #expect(first != nil && second != nil && pool.acquire() == nil)
        #expect(first?.isWritable == true)
        first = nil
        #expect(pool.acquire() != nil)
    }

    @Test func aPushedCanvasIsNoLongerWritable() async throws {
        let pipeline = try Pipeline(
            "appsrc name=in format=time ! appsink name=out sync=false async=false", name: "canvas")
        let kept = Collector<VideoFrame?>()
        try pipeline.appSink("out") { kept.add($0.videoFrame()) }
        let source = try pipeline.appSource("in")
        try source.setCaps(canvasFormat)
        let canvas = try filled(canvasFormat, 50, 60, 70)
        try await pipeline.play()
        #expect(source.push(canvas, pts: 5) == .ok)
        #expect(source.push(canvas, pts: 9) == .ok)
        source.endOfStream()
        #expect(await pipeline.finish() == .endOfStream)
        await pipeline.tearDown()
        #expect(!canvas.isWritable)
        #expect(!canvas.fill(y: 0, u: 0, v: 0))
        #expect(kept.all.map { $0?.pts } == [5, 9])
        #expect(kept.all.first??.plane(2) == canvas.plane(2))
        #expect(kept.all.first??.format.colorimetry == .bt709)
    }

    // MARK: - Pictures

    private func filled(_ format: VideoFormat, _ y: UInt8, _ u: UInt8, _ v: UInt8) throws -> VideoFrame {
        let frame = try #require(try CanvasPool(format: format).acquire())
        #expect(frame.fill(y: y, u: u, v: v))
        return frame
    }

    private func noise(width: Int, height: Int) async throws -> VideoFrame {
        try await picture("videotestsrc pattern=snow num-buffers=1", width: width, height: height)
    }

    private func picture(
        _ source: String, width: Int, height: Int, layout: String = "I420"
    ) async throws -> VideoFrame {
        let pipeline = try Pipeline(
            "\(source) ! video/x-raw,format=\(layout),width=\(width),height=\(height),colorimetry=bt709 "
                + "! appsink name=out sync=false", name: "picture")
        let frames = Collector<VideoFrame?>()
        try pipeline.appSink("out") { frames.add($0.videoFrame()) }
        try await pipeline.play()
        #expect(await pipeline.finish() == .endOfStream)
        await pipeline.tearDown()
        return try #require(frames.all.first ?? nil)
    }
}

extension VideoConverter.Quality {
    static let all: [Self] = [.bilinear, .linear, .cubic]
}
