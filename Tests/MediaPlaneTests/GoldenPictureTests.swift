import Foundation
import GStreamerKit
import LayoutEngine
import Testing
import EncodedMedia

@testable import ProgramMixer

/// The pictures that the mixer composes of the built-in layout and the shipped ones, with its own composer, cards,
/// labels and overlays, and synthetic cameras. After an intended change, run with `UPDATE_GOLDEN=1` and look at the
/// pictures before you commit them.
@Suite("Composed frames of the shipped layouts", .timeLimit(.minutes(5)))
struct GoldenPictureTests {
    static let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Golden")
    static let layouts = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../layouts").standardizedFileURL
    static let counts = [0, 1, 2, 3, 4, 5, 9, 16]
    static let names = [
        LayoutLibrary.automaticName, "audio-room", "grid", "host-and-strip", "lower-third", "picture-in-picture",
        "pk-battle", "score-board",
        "screen-share", "side-by-side", "solo", "starting-soon", "toast",
    ]
    static let canvases = [
        "9x16": Canvas(width: 288, height: 512, fps: 20), "16x9": Canvas(width: 512, height: 288, fps: 20),
    ]

    private static func template(_ name: String) throws -> LayoutTemplate {
        guard name != LayoutLibrary.automaticName else { return LayoutLibrary.automatic }
        return try LayoutTemplate.decode(Data(contentsOf: layouts.appending(path: "\(name).json")), name: name)
    }

    @Test("Each layout composes what its golden picture shows", arguments: names, ["9x16", "16x9"])
    func composedFrames(name: String, shape: String) async throws {
        let canvas = try #require(Self.canvases[shape])
        let template = try Self.template(name)
        try await check(template, against: "\(name)-\(shape)", name: name, on: canvas)
    }

    @Test("The slate of a room without a layout, of one with a colour, and of a layout with a background")
    func slates() async throws {
        let shipped = try Self.template("grid")
        for (shape, canvas) in Self.canvases {
            var coloured = canvas
            coloured.background = RGB(red: 0xF4, green: 0xE9, blue: 0xD8)
            var studio = try SceneStudio(canvas: canvas)
            var frames: [VideoFrame] = []
            for slate in [
                LayoutEngine.slate(LayoutLibrary.automatic, canvas: canvas),
                LayoutEngine.slate(LayoutLibrary.automatic, canvas: coloured),
                LayoutEngine.slate(shipped, canvas: canvas),
            ] { frames.append(try await studio.compose(slate)) }
            let sheet = try PictureSheet.tile(frames, columns: 3)
            try await check(sheet, against: "slate-\(shape)", frames: ["auto", "a room's colour", "grid"])
        }
    }

    /// Files from before corners, shadows and gradients keep their look.
    @Test("Earlier files compose what they did", arguments: [("host-and-strip", "16x9"), ("pk-battle", "9x16")])
    func earlierFiles(name: String, shape: String) async throws {
        let canvas = try #require(Self.canvases[shape])
        let folder = Self.golden.appending(path: "../../LayoutEngineTests/Golden/earlier").standardizedFileURL
        let template = try LayoutTemplate.decode(
            try Data(contentsOf: folder.appending(path: "\(name).json")), name: name)
        try await check(template, against: "earlier-\(name)-\(shape)", name: name, on: canvas)
    }

    @Test("Small faults are seen: a pane two pixels off, a missing label, a card of another colour, a missing border")
    func faultsAreSeen() async throws {
        let canvas = try #require(Self.canvases["9x16"])
        let template = try LayoutTemplate.decode(
            Data(contentsOf: Self.layouts.appending(path: "host-and-strip.json")), name: "host-and-strip")
        let scene = LayoutEngine.plan(
            template, participants: SceneStudio.crowd(5, for: "host-and-strip"), canvas: canvas)
        var studio = try SceneStudio(canvas: canvas)
        func picture(_ scene: Scene) async throws -> Pixels {
            try await Pixels(try PictureSheet.tile([studio.compose(scene)], columns: 1))
        }
        let good = try await picture(scene)
        #expect(try await picture(scene).difference(from: good).isSmall)
        let index = try #require(scene.panes.firstIndex { $0.isLive && $0.label != nil && $0.y > 0 })
        let card = try #require(scene.panes.firstIndex { !$0.isLive })
        var faults: [Scene] = Array(repeating: scene, count: 5)
        faults[0].panes[index].y -= 2
        faults[1].panes[index].label = nil
        faults[2].panes[card].card.colour.blue ^= 0x20
        faults[3].panes[index].border = .init(width: 2, colour: .white)
        faults[4].panes[0].fit = .stretch
        for (number, fault) in faults.enumerated() {
            #expect(try await !picture(fault).difference(from: good).isSmall, "fault \(number)")
        }
    }

    // MARK: -

    /// Composes a layout with each number of people, and compares the pictures with those of a golden file.
    private func check(
        _ template: LayoutTemplate, against golden: String, name: String, on canvas: Canvas
    ) async throws {
        var studio = try SceneStudio(canvas: canvas)
        var frames: [VideoFrame] = []
        for count in Self.counts {
            let scene = LayoutEngine.plan(
                template, participants: SceneStudio.crowd(count, for: name), canvas: canvas)
            frames.append(try await studio.compose(scene))
        }
        let sheet = try PictureSheet.tile(frames, columns: 4)
        try await check(sheet, against: golden, frames: Self.counts.map { "\($0) people" })
    }

    private func check(_ sheet: PictureSheet, against name: String, frames: [String]) async throws {
        let file = Self.golden.appending(path: "\(name).png")
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            try FileManager.default.createDirectory(at: Self.golden, withIntermediateDirectories: true)
            try Data(try await sheet.picture.png()).write(to: file)
            return
        }
        let actual = try await Pixels(sheet)
        guard FileManager.default.fileExists(atPath: file.path) else {
            Issue.record("there is no \(file.path); run with UPDATE_GOLDEN=1, look at it and commit it")
            return
        }
        let expected = Pixels(try await ImageDecoder.image(file: file.path))
        try #require(
            (actual.width, actual.height) == (expected.width, expected.height), "another size than \(file.path)")
        var faults: [String] = []
        for (frame, rect) in zip(frames, sheet.tiles) {
            let difference = actual.difference(from: expected, in: rect)
            if !difference.isSmall { faults.append("\(frame): \(difference)") }
        }
        guard !faults.isEmpty else { return }
        let folder = URL.temporaryDirectory.appending(path: "golden-pictures")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (seen, marked) = (folder.appending(path: "\(name).png"), folder.appending(path: "\(name)-difference.png"))
        try Data(try await sheet.picture.png()).write(to: seen)
        try Data(try await actual.marked(against: expected).png()).write(to: marked)
        Issue.record(
            """
            \(name) differs from \(file.path): \(faults.joined(separator: "; "))
            composed: \(seen.path)
            difference: \(marked.path)
            """)
    }
}
