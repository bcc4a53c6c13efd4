import Foundation
import LayoutEngine
import Testing

/// The scenes of the shipped layouts, pixel by pixel. After a change that is meant, run with `UPDATE_GOLDEN=1`
/// and read the difference before it is committed.
struct GoldenSceneTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
    static let golden = root.appending(path: "Golden")
    static let layouts = root.appending(path: "../../layouts").standardizedFileURL
    static let counts = [0, 1, 2, 3, 4, 5, 9, 15, 16, 17]

    static func shippedNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: layouts.path)
            .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
    }

    static func shipped() throws -> LayoutLibrary {
        var library = LayoutLibrary()
        for name in try shippedNames() {
            let bytes = try Data(contentsOf: layouts.appending(path: "\(name).json"))
            try library.load(bytes, name: name)
        }
        return library
    }

    @Test func shippedLayoutsAreAllThere() throws {
        let names = try Self.shipped().names
        #expect(Set(names).isSuperset(of: ["auto", "grid", "picture-in-picture", "side-by-side", "solo"]))
    }

    @Test(arguments: ["portrait", "landscape"])
    func shippedLayoutsGiveTheGoldenScenes(orientation: String) throws {
        let canvas = orientation == "portrait" ? Canvas.portrait : Canvas.landscape
        let library = try Self.shipped()
        let update = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]

        for name in library.names {
            let template = try #require(library[name])
            let scenes = Self.counts.map {
                LayoutEngine.plan(template, participants: people($0), canvas: canvas)
            }
            for scene in scenes { #expect(flaws(of: scene) == [], "\(name)") }
            let file = Self.golden.appending(path: "\(name)-\(orientation).json")
            if update {
                try FileManager.default.createDirectory(at: Self.golden, withIntermediateDirectories: true)
                try Self.text(of: scenes, encoder).write(to: file, atomically: true, encoding: .utf8)
            }
            let expected = try JSONDecoder().decode([Scene].self, from: Data(contentsOf: file))
            #expect(expected.count == Self.counts.count, "\(file.lastPathComponent)")
            for (index, (scene, golden)) in zip(scenes, expected).enumerated() {
                #expect(scene == golden, "\(name), \(orientation), \(Self.counts[index]) people")
            }
        }
    }

    /// One pane a line, so that differences can be read.
    private static func text(of scenes: [Scene], _ encoder: JSONEncoder) throws -> String {
        func line(_ value: some Encodable) throws -> String {
            String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        let objects = try scenes.map { scene in
            let panes = try scene.panes.map { try "    " + line($0) }.joined(separator: ",\n")
            return try "{\"canvas\":\(line(scene.canvas)),\"panes\":[\n\(panes)\n]}"
        }
        return "[\n" + objects.joined(separator: ",\n") + "\n]\n"
    }
}
