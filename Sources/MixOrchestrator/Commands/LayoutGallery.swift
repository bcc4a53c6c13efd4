import Foundation
import LayoutEngine
import RoomService

/// Pictures of every layout of a directory and of the built-in one, and the part of the directory's README that shows them.
struct LayoutGallery {
    let directory: String
    /// The layouts, ordered by name after the built-in one.
    let layouts: [LayoutArgument]

    /// Line of the README from which on everything is rewritten.
    static let marker = "<!-- From here on: written by `mixorchestrator layout gallery`. -->"
    static let counts = [1, 2, 3, 4, 5, 9, 16]
    static let canvases = [
        (shape: "9x16", canvas: Canvas(width: 720, height: 1280, fps: 20)),
        (shape: "16x9", canvas: Canvas(width: 1280, height: 720, fps: 20)),
    ]

    /// - Throws: The problem of the first layout with an error.
    init(directory: String) throws(LayoutProblem) {
        self.directory = directory
        var layouts: [LayoutArgument] = []
        for name in LayoutFiles(directory: directory).list().layouts.sorted() {
            layouts.append(try LayoutArgument("\(directory)/\(name).json"))
        }
        guard !layouts.isEmpty else { throw LayoutProblem(file: directory, reason: "holds no layout") }
        self.layouts = [.builtIn] + layouts
    }

    /// Returns the files of the gallery, by path relative to the directory.
    func files() throws -> [String: String] {
        var files: [String: String] = [:]
        for layout in layouts {
            for (shape, canvas) in Self.canvases {
                files[Self.picture(layout, shape)] = Self.sheet(layout, on: canvas)
            }
        }
        let readme = "\(directory)/README.md"
        let written =
            FileManager.default.fileExists(atPath: readme) ? try String(contentsOfFile: readme, encoding: .utf8) : ""
        files["README.md"] = text(below: written)
        return files
    }

    private func text(below written: String) -> String {
        let kept = written.range(of: Self.marker).map { String(written[..<$0.lowerBound]) } ?? written
        var parts = [kept.trimmingCharacters(in: .newlines), Self.marker, "## Pictures"]
        for layout in layouts {
            let name = layout.template.name
            parts += ["### \(name)", layout.template.summary ?? ""]
            parts += Self.canvases.map { "![\(name), \($0.shape)](\(Self.picture(layout, $0.shape)))" }
        }
        return parts.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
    }

    private static func picture(_ layout: LayoutArgument, _ shape: String) -> String {
        "pictures/\(layout.template.name)-\(shape).svg"
    }

    private static func sheet(_ layout: LayoutArgument, on canvas: Canvas) -> String {
        let entries = counts.map { count in
            let people = SamplePeople(count, for: layout.template)
            return SceneSheet.Entry(
                title: people.title,
                scene: LayoutEngine.plan(layout.template, participants: people.participants, canvas: canvas))
        }
        return SceneSheet(entries).svg(images: layout.imageData)
    }
}
