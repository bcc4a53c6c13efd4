import TestSupport
import Testing

@testable import MediaFormats

struct ImageHeaderTests {
    // MARK: - Files, as far as their header goes

    static func big(_ value: Int, _ count: Int) -> [UInt8] {
        bigEndianBytes(value, count)
    }

    static func little(_ value: Int, _ count: Int) -> [UInt8] { big(value, count).reversed() }

    static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        return big(data.count, 4) + body + big(Int(ImageHeader.checkSum(body)), 4)
    }

    static func png(_ width: Int, _ height: Int, depth: Int = 8, colour: Int = 6, extra: [UInt8] = []) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", big(width, 4) + big(height, 4) + [UInt8(depth), UInt8(colour), 0, 0, 0]) + extra
            + chunk("IDAT", [1, 2, 3]) + chunk("IEND", [])
    }

    static func jpeg(
        _ width: Int, _ height: Int, marker: UInt8 = 0xC0, depth: UInt8 = 8, components: UInt8 = 3,
        before: [UInt8] = [], after: [UInt8] = []
    ) -> [UInt8] {
        [0xFF, 0xD8] + before + [0xFF, marker] + big(8 + Int(components) * 3, 2) + [depth] + big(height, 2)
            + big(width, 2) + [components] + Array(repeating: 1, count: Int(components) * 3) + after + [0xFF, 0xD9]
    }

    static func exif(_ orientation: Int, isLittle: Bool) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] { isLittle ? little(value, count) : big(value, count) }
        let directory =
            number(2, 2) + number(0x010F, 2) + number(2, 2) + number(4, 4) + Array("Acme".utf8)
            + number(0x0112, 2) + number(3, 2) + number(1, 4) + number(orientation, 2) + [0, 0] + number(0, 4)
        let tiff = Array((isLittle ? "II" : "MM").utf8) + number(42, 2) + number(8, 4) + directory
        let body = Array("Exif".utf8) + [0, 0] + tiff
        return [0xFF, 0xE1] + big(body.count + 2, 2) + body
    }

    static func webp(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array("WEBP".utf8) + Array(type.utf8) + little(data.count, 4) + data
        return Array("RIFF".utf8) + little(body.count, 4) + body
    }

    static func lossyWebP(_ width: Int, _ height: Int) -> [UInt8] {
        webp("VP8 ", [0x30, 0x01, 0x00, 0x9D, 0x01, 0x2A] + little(width, 2) + little(height | 0x4000, 2) + [0, 0])
    }

    static func losslessWebP(_ width: Int, _ height: Int) -> [UInt8] {
        webp("VP8L", [0x2F] + little(width - 1 | (height - 1) << 14 | 1 << 28, 4) + [0])
    }

    static func extendedWebP(_ width: Int, _ height: Int, flags: Int = 0x10) -> [UInt8] {
        webp("VP8X", little(flags, 4) + little(width - 1, 3) + little(height - 1, 3))
    }

    static let files: [(ImageHeader.Kind, [UInt8])] = [
        (.png, png(640, 361)), (.png, png(640, 361, depth: 1, colour: 3)), (.png, png(640, 361, depth: 16, colour: 0)),
        (.jpeg, jpeg(640, 361)), (.jpeg, jpeg(640, 361, marker: 0xC2, components: 1)),
        (.jpeg, jpeg(640, 361, before: [0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, 0xFF, 0xFE, 0, 2])),
        (.webp, lossyWebP(640, 361)), (.webp, losslessWebP(640, 361)), (.webp, extendedWebP(640, 361)),
    ]

    private func problem(_ bytes: [UInt8], mostPixels: Int = ImageHeader.mostPixels) -> ImageProblem? {
        do throws(ImageProblem) {
            _ = try ImageHeader(bytes, mostPixels: mostPixels)
            return nil
        } catch {
            return error
        }
    }

    // MARK: - Good files

    @Test(arguments: files)
    func sizeAndKindAreRead(kind: ImageHeader.Kind, bytes: [UInt8]) throws {
        let header = try ImageHeader(bytes)
        #expect(header == ImageHeader(kind, width: 640, height: 361))
        #expect(header.pixels == 640 * 361)
    }

    @Test func animationIsSeen() throws {
        let animated = Self.png(
            64, 64, extra: Self.chunk("tEXt", [65]) + Self.chunk("acTL", Self.big(3, 4) + [0, 0, 0, 0]))
        #expect(try ImageHeader(animated).isAnimated)
        // After the picture the chunk has no meaning.
        #expect(try !ImageHeader(Self.png(64, 64) + Self.chunk("acTL", [])).isAnimated)
        #expect(problem(Self.extendedWebP(64, 64, flags: 0x12)) == .unsupported(.webp, "animation"))
    }

    @Test(arguments: 1...8, [true, false])
    func orientationIsRead(orientation: Int, isLittle: Bool) throws {
        let file = Self.jpeg(64, 32, before: Self.exif(orientation, isLittle: isLittle))
        #expect(try ImageHeader(file).orientation == orientation)
    }

    @Test func senselessOrientationIsIgnored() throws {
        for value in [0, 9, 0xFFFF] {
            #expect(try ImageHeader(Self.jpeg(64, 32, before: Self.exif(value, isLittle: true))).orientation == 1)
        }
        // A directory outside its segment.
        var lost = Self.exif(6, isLittle: false)
        lost.replaceSubrange(14..<18, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(try ImageHeader(Self.jpeg(64, 32, before: lost)).orientation == 1)
    }

    // MARK: - Bad files

    @Test(arguments: files)
    func everyCutIsSeen(kind: ImageHeader.Kind, bytes: [UInt8]) throws {
        // Up to the last byte of the actual header.
        let header = kind == .png ? 33 : kind == .jpeg ? 12 : 30
        for count in 1..<min(header, bytes.count) {
            let problem = problem(Array(bytes.prefix(count)))
            switch problem {
            case .truncated(kind), .unknown, .damaged(kind, _): break
            default: Issue.record("\(kind) cut to \(count) bytes: \(String(describing: problem))")
            }
        }
        #expect(problem([]) == .empty)
    }

    @Test func limitsHold() {
        #expect(problem(Self.png(4096, 4096)) == nil)
        let tooLarge = ImageProblem.tooLarge(width: 4098, height: 4096, mostPixels: ImageHeader.mostPixels)
        #expect(problem(Self.png(4098, 4096)) == tooLarge)
        #expect(
            tooLarge.description
                == "the image has 4098×4096 pixels; the limit is 16 megapixels and 16384 pixels a side: scale it down")
        // Decompression bombs.
        let most = Int(Int32.max)
        #expect(
            problem(Self.png(most, most)) == .tooLarge(width: most, height: most, mostPixels: ImageHeader.mostPixels))
        #expect(problem(Self.png(1, 20_000)) != nil)
        #expect(problem(Self.jpeg(65_535, 65_535)) != nil)
        #expect(problem(Self.losslessWebP(16_384, 16_384)) != nil)
        #expect(problem(Self.extendedWebP(1 << 24, 1 << 24)) != nil)
        #expect(problem(Self.png(10, 10), mostPixels: 99) == .tooLarge(width: 10, height: 10, mostPixels: 99))
    }

    @Test func sizesThatCannotBeAreRefused() {
        for bytes in [
            Self.png(0, 5), Self.png(5, 0), Self.png(1 << 31, 5), Self.jpeg(0, 5), Self.jpeg(5, 0),
            Self.lossyWebP(0, 5),
        ] {
            guard case .damaged(_, let what) = problem(bytes) else {
                Issue.record("\(bytes)")
                continue
            }
            #expect(what.hasSuffix("pixels"))
        }
    }

    @Test func headersThatContradictThemselvesAreRefused() {
        var sum = Self.png(64, 64)
        sum[18] ^= 1
        #expect(problem(sum) == .damaged(.png, "the header's checksum is wrong"))
        #expect(
            problem(Self.png(64, 64, depth: 4, colour: 2)) == .damaged(.png, "colour type 2 does not exist with 4 bits")
        )
        #expect(problem(Self.png(64, 64, depth: 16, colour: 2)) == .unsupported(.png, "16 bits per channel"))
        var first = Self.png(64, 64)
        first[12] = UInt8(ascii: "J")
        #expect(problem(first) == .damaged(.png, "it does not begin with its header"))
        #expect(problem(Self.jpeg(64, 64, components: 4)) == .unsupported(.jpeg, "a CMYK colour space"))
        #expect(problem(Self.jpeg(64, 64, depth: 12)) == .unsupported(.jpeg, "12 bits per sample"))
        #expect(problem(Self.jpeg(64, 64, marker: 0xC9)) != nil)
        #expect(problem([0xFF, 0xD8, 0xFF, 0xDA, 0, 2]) == .damaged(.jpeg, "its size is missing"))
        #expect(problem([0xFF, 0xD8, 0xFF, 0xE0, 0, 1]) == .damaged(.jpeg, "a segment's length is 1"))
        #expect(problem([0xFF, 0xD8, 0xFF, 0xE0, 0, 2, 7, 7]) == .damaged(.jpeg, "a segment is missing"))
        #expect(problem(Self.webp("ALPH", [1, 2, 3, 4])) == .damaged(.webp, "it does not begin with a picture"))
        var longer = Self.lossyWebP(64, 64)
        longer[4] = 200
        #expect(problem(longer) == .truncated(.webp))
    }

    /// Each scan costs a pass over all pixels, whatever the size of the file, so files with many scans are refused.
    @Test func progressiveScansAreCounted() {
        func file(_ scans: Int) -> [UInt8] {
            Self.jpeg(64, 64, marker: 0xC2, after: (0..<scans).flatMap { _ in [0xFF, 0xDA, 0, 2] as [UInt8] })
        }
        #expect(problem(file(100)) == nil)
        #expect(problem(file(101)) == .damaged(.jpeg, "it has more than 100 scans"))
    }

    @Test(arguments: [
        ("GIF89a\u{1}", "GIF"), ("BM12345678", "BMP"), ("II*\0abcd", "TIFF"), ("\0\0\0\u{18}ftypavif", "AVIF"),
        ("\0\0\0\u{18}ftypheic", "HEIC or a video"), ("\n <svg xmlns=\"a\">", "SVG or XML"),
        ("<?xml version=\"1.0\"?>", "SVG or XML"), ("<!DOCTYPE html>", "HTML"), ("hello", nil),
    ])
    func otherFormatsAreNamed(text: String, name: String?) {
        let problem = problem(Array(text.utf8))
        #expect(problem == .unknown(name))
        #expect(problem?.description.hasPrefix("not a PNG, JPEG or WebP image") == true)
    }

    @Test func anyBytesGetAnAnswer() {
        for seed in UInt64(1)...3000 {
            var random = SeededGenerator(seed: seed)
            var bytes = Self.files.randomElement(using: &random)?.1 ?? []
            if Bool.random(using: &random) { bytes = Self.jpeg(64, 32, before: Self.exif(3, isLittle: true)) }
            for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(index..<min(bytes.count, index + 3))
                default: bytes.insert([0, 0xFF, 0xD8, 0x7F].randomElement(using: &random) ?? 0, at: index)
                }
            }
            guard let header = try? ImageHeader(bytes) else { continue }
            #expect(header.width > 0 && header.height > 0 && header.pixels <= ImageHeader.mostPixels, "seed \(seed)")
            #expect(1...8 ~= header.orientation, "seed \(seed)")
        }
    }

    @Test("images of any bytes, and valid ones with some changed, are read or refused")
    func anyImage() {
        var random = SeededGenerator(announcedFor: "ImageHeaderTests.anyImage")
        let valid = [
            Self.png(640, 480), Self.jpeg(640, 480, before: Self.exif(6, isLittle: true)), Self.lossyWebP(640, 480),
            Self.losslessWebP(640, 480), Self.extendedWebP(640, 480),
        ]
        for _ in 0..<8_000 {
            let bytes = HostileBytes.any(valid, using: &random)
            do throws(ImageProblem) {
                let header = try ImageHeader(bytes)
                #expect(1...16_384 ~= header.width && 1...16_384 ~= header.height && 1...8 ~= header.orientation)
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
    }
}
