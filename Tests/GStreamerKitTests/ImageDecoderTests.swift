import Foundation
import GStreamerKit
import Testing

@Suite(.timeLimit(.minutes(3))) struct ImageDecoderTests {
    // MARK: - SVG

    @Test func alphaIsStraightAndColoursAreExact() async throws {
        let picture = try await svg(
            """
            <rect width="4" height="6" fill="#FF8040" fill-opacity="0.5"/><rect x="4" width="2" height="6" fill="#204060"/>
            """)
        #expect(picture.format.layout == "BGRA" && picture.format.colorimetry == .sRGB)
        #expect(pixel(picture, 1, 1) == [0x40, 0x80, 0xFF, 128])
        #expect(pixel(picture, 5, 5) == [0x60, 0x40, 0x20, 255])
        #expect(pixel(picture, 7, 0)[3] == 0)
    }

    /// Half-transparent red on grey looks the same with straight and with premultiplied colours.
    @Test func coloursMayBeMultipliedByTheirAlphaAlready() async throws {
        let straight = try await svg(##"<rect width="8" height="6" fill="#FF0000" fill-opacity="0.5"/>"##)
        let multiplied = try await svg(##"<rect width="8" height="6" fill="#800000" fill-opacity="0.502"/>"##)
        let pictures = [
            try AlphaPicture(straight, colorimetry: .sRGB),
            try AlphaPicture(multiplied, isPremultiplied: true, colorimetry: .sRGB),
        ]
        let frames = try pictures.map { picture in
            let format = VideoFormat(width: 8, height: 6, colorimetry: .sRGB)
            let frame = try #require(try CanvasPool(format: format).acquire())
            frame.fill(y: 128, u: 128, v: 128)
            picture.draw(onto: frame, x: 0, y: 0)
            return (0..<3).map { Int(frame.plane($0)[0]) }
        }
        #expect(zip(frames[0], frames[1]).allSatisfy { abs($0 - $1) <= 1 }, "\(frames)")
        #expect(frames[0][2] > 150, "\(frames)")
    }

    @Test func aDrawingHasItsOwnSize() async throws {
        for (width, height) in [(1, 1), (41, 17), (720, 1280)] {
            let picture = try await ImageDecoder.svg(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\"></svg>")
            #expect(picture.width == width && picture.height == height)
        }
    }

    @Test func aHugeDrawingIsNotMadeAtItsSize() async throws {
        for (width, height) in [(1_000_000, 1_000_000), (20_000, 10), (1_000_000_000, 1_000_000_000)] {
            await #expect(throws: GStreamerError.self) {
                try await ImageDecoder.svg(
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(height)\"></svg>")
            }
        }
    }

    @Test(arguments: ["", "hello", "<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><rect></svg>", "<html/>"])
    func whatIsNoSVGIsAnError(text: String) async {
        await #expect(throws: GStreamerError.self) { try await ImageDecoder.svg(text) }
    }

    /// A construct that loads external content would draw a green square; none does.
    @Test func nothingOutsideOfTheDrawingIsRead() async throws {
        let folder = URL.temporaryDirectory.appending(path: "svg-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let square = "<rect width=\"8\" height=\"6\" fill=\"#00FF00\"/>"
        let drawing = folder.appending(path: "green.svg")
        try document(square).write(to: drawing, atomically: true, encoding: .utf8)
        let image = folder.appending(path: "green.png")
        try Data(try await svg(square).png()).write(to: image)
        let fragment = folder.appending(path: "green.txt")
        try square.write(to: fragment, atomically: true, encoding: .utf8)
        let sheet = folder.appending(path: "green.css")
        try "rect { fill: #00FF00 }".write(to: sheet, atomically: true, encoding: .utf8)

        // Control: the same picture is shown as a data URI.
        let data = try Data(contentsOf: image).base64EncodedString()
        let control = try await svg("<image width=\"8\" height=\"6\" href=\"data:image/png;base64,\(data)\"/>")
        #expect(pixel(control, 4, 3) == [0, 255, 0, 255])

        let space = "xmlns:xlink=\"http://www.w3.org/1999/xlink\" xmlns:xi=\"http://www.w3.org/2001/XInclude\""
        let paint = "<rect width=\"8\" height=\"6\" style=\"fill: none\"/>"
        let attempts = [
            "<image width=\"8\" height=\"6\" href=\"\(image.absoluteString)\"/>",
            "<image width=\"8\" height=\"6\" href=\"\(image.path)\"/>",
            "<image \(space) width=\"8\" height=\"6\" xlink:href=\"\(image.absoluteString)\"/>",
            "<image \(space) width=\"8\" height=\"6\" xlink:href=\"\(drawing.absoluteString)\"/>",
            "<use \(space) xlink:href=\"\(drawing.absoluteString)#a\"/>",
            "<g \(space)><xi:include href=\"\(drawing.absoluteString)\"/></g>",
            "<text \(space)><xi:include parse=\"text\" href=\"file:///etc/hostname\"/></text>",
            "<style>@import url(\"\(sheet.absoluteString)\");</style>\(paint)",
            "<rect width=\"8\" height=\"6\" fill=\"url(\(drawing.absoluteString)#paint)\"/>",
        ]
        for attempt in attempts {
            let picture = try? await svg(attempt)
            #expect(picture.map { isEmpty($0) } ?? true, "\(attempt)")
        }
        let entities = [
            "<!DOCTYPE svg [<!ENTITY green SYSTEM \"\(fragment.absoluteString)\">]>\n" + document("&green;"),
            "<!DOCTYPE svg SYSTEM \"\(fragment.absoluteString)\">\n" + document(""),
            "<?xml-stylesheet href=\"\(sheet.absoluteString)\" type=\"text/css\"?>" + document(paint),
        ]
        for text in entities {
            let picture = try? await ImageDecoder.svg(text)
            #expect(picture.map { isEmpty($0) } ?? true, "\(text)")
        }
    }

    /// Entities that would grow to 10^9 characters, a drawing that refers to itself, and one that is nested too deeply
    /// end soon.
    @Test func bombsEndSoon() async throws {
        let levels = (1...9).map { level in
            "<!ENTITY a\(level) \"\(String(repeating: "&a\(level - 1);", count: 10))\">"
        }
        let laughs = "<!DOCTYPE svg [<!ENTITY a0 \"ha\">\(levels.joined())]>\n" + document("<text y=\"5\">&a9;</text>")
        let loop = document("<g id=\"a\"><use href=\"#a\"/></g>")
        let deep = document(String(repeating: "<g>", count: 50_000) + String(repeating: "</g>", count: 50_000))
        for text in [laughs, loop, deep] {
            let began = ContinuousClock.now
            _ = try? await ImageDecoder.svg(text)
            #expect(ContinuousClock.now - began < .seconds(30))
        }
    }

    @Test func cancellationEndsACall() async throws {
        let task = Task { try await ImageDecoder.svg(document("")) }
        task.cancel()
        // The call has either finished or throws the error; it does not hang.
        _ = try? await task.value
    }

    // MARK: - Image files

    @Test(arguments: ImageDecoder.Codec.allCases)
    func imagesAreDecoded(codec: ImageDecoder.Codec) async throws {
        let bytes = try await file(codec)
        let picture = try await ImageDecoder.image(bytes, as: codec, width: 64, height: 48)
        #expect(picture.width == 64 && picture.height == 48)
        #expect(picture.format.layout == "BGRA" && picture.format.colorimetry == .sRGB)
        // The left half is orange, the right half is blue.
        for (x, expected) in [(10, [0, 128, 255]), (50, [200, 60, 20])] {
            let found = pixel(picture, x, 24)
            for (a, b) in zip(found, expected) { #expect(abs(Int(a) - b) <= (codec == .png ? 0 : 6), "\(found)") }
            #expect(found[3] == 255)
        }
    }

    @Test func transparentPNGKeepsItsAlpha() async throws {
        let picture = try await svg("<rect width=\"8\" height=\"6\" fill=\"#FF8040\" fill-opacity=\"0.5\"/>")
        let again = try await ImageDecoder.image(try await picture.png(), as: .png, width: 8, height: 6)
        #expect(again.plane(0) == picture.plane(0))
    }

    /// The file declares 64×48: if the caller's size differs, nothing is decoded.
    @Test(arguments: ImageDecoder.Codec.allCases)
    func anotherSizeThanAnnouncedIsRefused(codec: ImageDecoder.Codec) async throws {
        let bytes = try await file(codec)
        for (width, height) in [(64, 50), (32, 24), (128, 48)] {
            await #expect(throws: GStreamerError.self) {
                try await ImageDecoder.image(bytes, as: codec, width: width, height: height)
            }
        }
    }

    @Test(arguments: ImageDecoder.Codec.allCases)
    func damagedFilesAreErrorsOrPictures(codec: ImageDecoder.Codec) async throws {
        let bytes = try await file(codec)
        await #expect(throws: GStreamerError.self) {
            try await ImageDecoder.image([], as: codec, width: 64, height: 48)
        }
        await #expect(throws: GStreamerError.self) {
            try await ImageDecoder.image(Array(bytes.prefix(20)), as: codec, width: 64, height: 48)
        }
        for round in 0..<20 {
            var damaged = bytes
            for step in 0..<8 {
                let index = 30 + (round * 97 + step * 131) % (bytes.count - 30)
                damaged[index] = UInt8(truncatingIfNeeded: round * 37 + step * 11)
            }
            let picture = try? await ImageDecoder.image(damaged, as: codec, width: 64, height: 48)
            #expect(picture.map { $0.width == 64 && $0.height == 48 } ?? true)
        }
    }

    @Test(arguments: ImageDecoder.Orientation.allCases)
    func storedOrientationIsUndone(orientation: ImageDecoder.Orientation) async throws {
        let marks = """
            <rect width="4" height="3" fill="#FF0000"/><rect x="4" width="4" height="3" fill="#00FF00"/>\
            <rect y="3" width="4" height="3" fill="#0000FF"/>
            """
        // Upright: red green / blue black. Exif 2.3, table of tag 274: positions of the stored row 0 and column 0.
        let transforms: [ImageDecoder.Orientation: String] = [
            .upright: "", .mirrored: "matrix(-1 0 0 1 8 0)", .upsideDown: "matrix(-1 0 0 -1 8 6)",
            .flipped: "matrix(1 0 0 -1 0 6)", .transposed: "matrix(0 1 1 0 0 0)", .quarterLeft: "matrix(0 -1 1 0 0 8)",
            .transversed: "matrix(0 -1 -1 0 6 8)", .quarterRight: "matrix(0 1 -1 0 6 0)",
        ]
        let isTurned = orientation.rawValue >= 5
        let (width, height) = isTurned ? (6, 8) : (8, 6)
        let stored = try await ImageDecoder.svg(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)">\
            <g transform="\(transforms[orientation] ?? "")"><rect width="8" height="6"/>\(marks)</g></svg>
            """)
        let picture = try await ImageDecoder.image(
            try await stored.png(), as: .png, width: width, height: height, orientation: orientation)
        #expect(picture.width == 8 && picture.height == 6)
        #expect(pixel(picture, 1, 1) == [0, 0, 255, 255] && pixel(picture, 6, 1) == [0, 255, 0, 255])
        #expect(pixel(picture, 1, 4) == [255, 0, 0, 255] && pixel(picture, 6, 4) == [0, 0, 0, 255])
    }

    // MARK: - PNG

    @Test func anyLayoutBecomesPNG() async throws {
        let pool = try CanvasPool(format: VideoFormat(width: 16, height: 10))
        let frame = try #require(pool.acquire())
        frame.fill(y: 81, u: 90, v: 240)
        let bytes = try await frame.png()
        #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        let again = try await ImageDecoder.image(bytes, as: .png, width: 16, height: 10)
        #expect(pixel(again, 3, 3)[2] > 200 && pixel(again, 3, 3)[0] < 40)
        #expect(try await frame.png() == bytes)
    }

    // MARK: -

    private func document(_ body: String) -> String {
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"6\">\(body)</svg>"
    }

    private func svg(_ body: String) async throws -> VideoFrame { try await ImageDecoder.svg(document(body)) }

    private func pixel(_ picture: VideoFrame, _ x: Int, _ y: Int) -> [UInt8] {
        Array(picture.plane(0)[(y * picture.width + x) * 4..<(y * picture.width + x) * 4 + 4])
    }

    private func isEmpty(_ picture: VideoFrame) -> Bool { picture.plane(0).allSatisfy { $0 == 0 } }

    private func file(_ codec: ImageDecoder.Codec) async throws -> [UInt8] {
        let picture = try await ImageDecoder.svg(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="64" height="48"><rect width="64" height="48" fill="#143CC8"/>\
            <rect width="32" height="48" fill="#FF8000"/></svg>
            """)
        if codec == .png { return try await picture.png() }
        let encoder =
            codec == .jpeg
            // JPEG files have the full range, which this encoder does not request by itself.
            ? "video/x-raw,format=Y444,colorimetry=1:4:0:0 ! jpegenc quality=95" : "webpenc quality=95"
        let pipeline = try Pipeline(
            "appsrc name=in format=time ! videoconvert ! \(encoder) ! appsink name=out sync=false async=false",
            name: "file")
        let files = Collector<[UInt8]>()
        try pipeline.appSink("out") { files.add($0.bytes) }
        let source = try pipeline.appSource("in")
        try source.setCaps(picture.format)
        try await pipeline.play()
        source.push(picture, pts: 0)
        source.endOfStream()
        #expect(await pipeline.finish() == .endOfStream)
        await pipeline.tearDown()
        return try #require(files.all.first)
    }
}
