import Foundation
import LayoutEngine
import Testing

/// The scenes of the shipped layouts, pixel by pixel. After an intended change, run with `UPDATE_GOLDEN=1` and read the
/// difference before you commit it.
struct GoldenSceneTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
    static let golden = root.appending(path: "Golden")
    static let layouts = root.appending(path: "../../layouts").standardizedFileURL
    static let counts = [0, 1, 2, 3, 4, 5, 9, 16]
    static let shippedNames = [
        "audio-room", "grid", "host-and-strip", "lower-third", "picture-in-picture", "pk-battle", "score-board",
        "screen-share", "side-by-side", "solo", "starting-soon", "toast",
    ]

    static func shipped() throws -> LayoutLibrary {
        var library = LayoutLibrary()
        for name in shippedNames {
            let bytes = try Data(contentsOf: layouts.appending(path: "\(name).json"))
            try library.load(bytes, name: name)
        }
        return library
    }

    /// Returns the participants that a layout is made for.
    static func crowd(_ count: Int, for layout: String) -> [LayoutParticipant] {
        switch layout {
        case "screen-share":
            // One of them shares a screen in addition to the camera.
            var crowd = people(max(count - 1, min(count, 1)))
            if count > 1 {
                crowd.append(
                    LayoutParticipant(
                        source: "user0/screen", user: "user0", role: .host, kind: .screen, joinOrder: 0,
                        hasAudio: false, pictureSize: .init(width: 1920, height: 1080)))
            }
            return crowd
        case "pk-battle":
            var crowd = people(count)
            if count > 2 { crowd[2].role = .host }
            return crowd
        case "audio-room":
            return (0..<count).map { index in
                LayoutParticipant(
                    source: "user\(index)/audio", user: "user\(index)", name: "Person \(index)",
                    role: index == 0 ? .host : .guest, kind: .audio, joinOrder: index, hasVideo: false)
            }
        default: return people(count)
        }
    }

    @Test func everyLayoutOfTheDirectoryIsShipped() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.layouts.path)
        let names = files.filter { $0.hasSuffix(".json") && !$0.hasSuffix(".schema.json") }.map { $0.dropLast(5) }
        #expect(names.map(String.init).sorted() == Self.shippedNames)
        for name in Self.shippedNames {
            let text = try String(contentsOf: Self.layouts.appending(path: "\(name).json"), encoding: .utf8)
            #expect(text.hasPrefix("{\n    \"$schema\": \"layout.schema.json\",\n    \"description\": "), "\(name)")
        }
    }

    @Test(arguments: shippedNames + [LayoutLibrary.automaticName], ["portrait", "landscape"])
    func layoutGivesTheGoldenScenes(name: String, orientation: String) throws {
        let canvas = orientation == "portrait" ? Canvas.portrait : Canvas.landscape
        let template = try #require(Self.shipped()[name])
        let scenes = Self.counts.map {
            LayoutEngine.plan(template, participants: Self.crowd($0, for: name), canvas: canvas)
        }
        for (count, scene) in zip(Self.counts, scenes) {
            #expect(flaws(of: scene) == [], "\(count) people")
            #expect(
                scene.panes.count == (name == "solo" ? min(count, 1) : name == "starting-soon" ? 0 : count),
                "\(count) people")
        }
        let file = Self.golden.appending(path: "\(name)-\(orientation).json")
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            try FileManager.default.createDirectory(at: Self.golden, withIntermediateDirectories: true)
            try Self.text(of: scenes).write(to: file, atomically: true, encoding: .utf8)
        }
        let expected = try JSONDecoder().decode([Scene].self, from: Data(contentsOf: file))
        #expect(expected.count == Self.counts.count)
        for (index, (scene, golden)) in zip(scenes, expected).enumerated() {
            #expect(scene == golden, "\(Self.counts[index]) people")
        }
    }

    /// Files from before corners, shadows and other newer keys keep their meaning.
    @Test(arguments: shippedNames.filter { !LookTests.newNames.contains($0) }, ["portrait", "landscape"])
    func earlierFilesLookTheSame(name: String, orientation: String) throws {
        let canvas = orientation == "portrait" ? Canvas.portrait : Canvas.landscape
        let folder = Self.golden.appending(path: "earlier")
        let template = try LayoutTemplate.decode(
            Data(contentsOf: folder.appending(path: "\(name).json")), name: name)
        let file = folder.appending(path: "\(name)-\(orientation).scenes.json")
        let expected = try JSONDecoder().decode([Scene].self, from: Data(contentsOf: file))
        for (count, golden) in zip(Self.counts, expected) {
            let scene = LayoutEngine.plan(template, participants: Self.crowd(count, for: name), canvas: canvas)
            #expect(scene == golden, "\(count) people")
        }
    }

    /// Returns scenes as text with one pane per line, so that differences can be read.
    private static func text(of scenes: [Scene]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        func line(_ value: some Encodable) throws -> String {
            String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        let objects = try scenes.map { scene in
            var rest = scene
            rest.panes = []
            let panes = try scene.panes.map { try "    " + line($0) }.joined(separator: ",\n")
            return try line(rest).replacing("\"panes\":[]", with: "\"panes\":[\n\(panes)\n]")
        }
        return "[\n" + objects.joined(separator: ",\n") + "\n]\n"
    }
}
