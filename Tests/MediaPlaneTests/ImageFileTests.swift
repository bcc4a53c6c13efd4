import Foundation
import GStreamerKit
import Testing
import EncodedMedia

@testable import MediaFormats

@Suite("Image files", .timeLimit(.minutes(3)))
struct ImageFileTests {
    private let folder = URL.temporaryDirectory.appending(path: "images-\(UUID().uuidString)")

    private func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        try Data(bytes).write(to: file)
        return file.path
    }

    private func drawing(width: Int, height: Int) async throws -> VideoFrame {
        try await ImageDecoder.svg(
            """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)">\
            <rect width="100%" height="100%" fill="#3366CC" fill-opacity="0.5"/></svg>
            """)
    }

    private func problem(_ file: String, most: Int = ImageHeader.mostPixels) async -> GStreamerError? {
        do {
            _ = try await ImageDecoder.image(file: file, most: most)
            return nil
        } catch {
            return error
        }
    }

    @Test("What a file is tells its content, not its name")
    func content() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let drawing = try await drawing(width: 40, height: 30)
        let picture = try await ImageDecoder.image(file: try file("logo.jpg", try await drawing.png()))
        #expect(picture.width == 40 && picture.height == 30)
        #expect(picture.plane(0) == drawing.plane(0))
    }

    @Test("A file that cannot be shown is named, with the reason")
    func problems() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let png = try await drawing(width: 40, height: 30).png()
        let missing = folder.appending(path: "none.png").path
        #expect(await problem(missing) == GStreamerError(.notFound, "\(missing): cannot be read"))
        #expect(await problem(folder.path)?.code == .notFound)
        let animation = try file("a.png", Array("GIF89a-------------".utf8))
        #expect(
            await problem(animation)?.message
                == "\(animation): not a PNG, JPEG or WebP image but GIF: convert it to one of these formats")
        let cut = try file("cut.png", Array(png.prefix(60)))
        #expect(await problem(cut)?.message.hasPrefix("\(cut): damaged") == true)
        let large = try file("large.png", png)
        #expect(await problem(large, most: 1199)?.message.contains("40×30 pixels; the limit is") == true)
        #expect(await problem(large, most: 1200) == nil)
        let heavy = try file("heavy.png", png + Array(repeating: 0, count: ImageHeader.mostBytes))
        #expect(await problem(heavy)?.message == "\(heavy): more than 10 MB")
    }

    /// The header says 64×64, but the data belongs to another picture.
    @Test("A header that lies about the size is found out before the picture is decoded")
    func lyingHeader() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let small = try await drawing(width: 64, height: 64).png()
        let large = try await drawing(width: 3000, height: 3000).png()
        // Signature and IHDR of one, everything else of the other.
        let lie = try file("lie.png", Array(small.prefix(33)) + Array(large.dropFirst(33)))
        if let picture = try? await ImageDecoder.image(file: lie) {
            #expect(picture.width == 64 && picture.height == 64)
        }
        // A second header, which old decoders accepted.
        let twice = try file("twice.png", Array(small.prefix(33)) + Array(large.dropFirst(8)))
        if let picture = try? await ImageDecoder.image(file: twice) {
            #expect(picture.width == 64 && picture.height == 64)
        }
    }
}
