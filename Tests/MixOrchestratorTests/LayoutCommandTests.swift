import ArgumentParser
import Foundation
import LayoutEngine
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Commands for operators that need no running program.
@Suite struct LayoutCommandTests {
    private static let layouts = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../layouts").standardizedFileURL.path

    @Test func shippedLayoutsAndTheirPicturesAreInOrder() throws {
        let gallery = try LayoutGallery(directory: Self.layouts)
        #expect(gallery.layouts.count >= 8)
        for (path, content) in try gallery.files().sorted(by: { $0.key < $1.key }) {
            let there = try? String(contentsOfFile: "\(Self.layouts)/\(path)", encoding: .utf8)
            #expect(there == content, "\(path) is not up to date: run `mixorchestrator layout gallery layouts`")
        }
        for layout in gallery.layouts { #expect(layout.imageWarnings == []) }
    }

    @Test func theGalleryKeepsWhatIsWrittenByHand() async throws {
        try await withDirectory { directory in
            let readme = directory + "/README.md"
            try "# Mine\n\nBy hand.\n".write(toFile: readme, atomically: true, encoding: .utf8)
            try LayoutRouteTests.layout("grid", "Everybody.").write(
                toFile: directory + "/mine.json", atomically: true, encoding: .utf8)
            for _ in 0..<2 {
                try await LayoutGalleryCommand.parse([directory]).run()
                let text = try String(contentsOfFile: readme, encoding: .utf8)
                #expect(text.hasPrefix("# Mine\n\nBy hand.\n\n\(LayoutGallery.marker)\n"))
                #expect(text.contains("### mine\n\nEverybody.\n\n![mine, 9x16](pictures/mine-9x16.svg)\n"))
                let builtIn = try #require(text.range(of: "### auto\n"))
                #expect(text[..<builtIn.lowerBound].hasSuffix("## Pictures\n\n"))
            }
            let picture = try String(contentsOfFile: directory + "/pictures/mine-16x9.svg", encoding: .utf8)
            #expect(picture.contains("16 people"))
        }
    }

    @Test(
        arguments: [
            ("0", 0...0), ("4", 4...4), ("0-16", 0...16), ("17", nil), ("3-2", nil), ("-1", nil), ("", nil),
            ("1-2-3", nil),
            ("x", nil),
        ] as [(String, ClosedRange<Int>?)])
    func numbersOfPeopleAreRead(_ text: String, _ expected: ClosedRange<Int>?) {
        #expect((try? LayoutPreviewCommand.counts(text)) == expected)
    }

    @Test(
        arguments: [
            ("720x1280", Canvas(width: 720, height: 1280, fps: 25)),
            ("16x16@60", Canvas(width: 16, height: 16, fps: 60)),
            ("720x1281", nil), ("14x16", nil), ("720", nil), ("720x1280@0", nil), ("720x1280@", nil), ("@20", nil),
            ("", nil),
            ("720x1280@20@20", nil), ("7682x720", nil),
        ] as [(String, Canvas?)])
    func canvasesAreRead(_ text: String, _ expected: Canvas?) { #expect(Canvas(text, fps: 25) == expected) }

    @Test func aPreviewIsWrittenWhereItIsAskedFor() async throws {
        try await withDirectory { directory in
            let layout = "\(Self.layouts)/grid.json"
            let file = directory + "/out.svg"
            try await LayoutPreviewCommand.parse([layout, "--participants", "3", "-o", file]).run()
            let one = try String(contentsOfFile: file, encoding: .utf8)
            #expect(one.hasPrefix("<svg ") && one.contains("Chloé") && !one.contains("David"))
            try await LayoutPreviewCommand.parse(["auto", "--participants", "2", "-o", file]).run()
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains("696×622 cover"))
            try await LayoutPreviewCommand.parse([layout, "--sheet", "--screen", "-o", file]).run()
            let sheet = try String(contentsOfFile: file, encoding: .utf8)
            #expect(sheet.contains("0 people") && sheet.contains("16 people and a screen"))
            for wrong in [["--canvas", "1x1"], ["--participants", "99"], ["-o", "x.gif"]] {
                await #expect(throws: ValidationError.self) {
                    try await LayoutPreviewCommand.parse([layout] + wrong).run()
                }
            }
            await #expect(throws: CommandFailure.self) {
                try await LayoutPreviewCommand.parse([layout, "-o", directory + "/no/where.svg"]).run()
            }
            await #expect(throws: CommandFailure.self) {
                try await LayoutPreviewCommand.parse([directory + "/none.json"]).run()
            }
        }
    }

    /// A preview needs neither a service nor other files.
    @Test func imagesAreInThePicture() async throws {
        try await withDirectory { directory in
            try #"{"canvas":{"image":"back.png"},"arrangements":[{"algorithm":"grid"}]}"#.write(
                toFile: directory + "/mine.json", atomically: true, encoding: .utf8)
            #expect(try LayoutArgument(directory + "/mine.json").imageWarnings.count == 1)
            try Data(SampleImages.red).write(to: URL(fileURLWithPath: directory + "/back.png"))
            let layout = try LayoutArgument(directory + "/mine.json")
            #expect(layout.imageWarnings == [])
            #expect(layout.imageData["back.png"]?.hasPrefix("data:image/png;base64,iVBOR") == true)
            let file = directory + "/out.svg"
            try await LayoutPreviewCommand.parse([directory + "/mine.json", "-o", file]).run()
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains("data:image/png;base64,iVBOR"))
        }
    }

    @Test func pngNeedsAWorker() async throws {
        let missing = await #expect(throws: StartupError.self) {
            try await PictureProcess.write("<svg/>", png: "/tmp/none.png", worker: "/nowhere/mixworker")
        }
        #expect(missing?.description.contains("MIXORCHESTRATOR_WORKER") == true)
        let failing = await #expect(throws: StartupError.self) {
            try await PictureProcess.write("<svg/>", png: "/tmp/none.png", worker: "/bin/false")
        }
        #expect(failing?.description.contains("/bin/false picture cannot write /tmp/none.png") == true)
    }

    @Test func theSummaryCounts() {
        #expect(LayoutValidateCommand.summary(files: 1, broken: 0, errors: 0) == "1 layout, no errors")
        #expect(LayoutValidateCommand.summary(files: 3, broken: 1, errors: 2) == "3 layouts, 1 with 2 errors")
    }
}
