import ArgumentParser
import Foundation
import LayoutEngine
import RoomService

struct LayoutPreviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preview", abstract: "Draws a layout as SVG or PNG.",
        discussion: """
            Rooms on air are not affected. A range (--participants 1-9) or --sheet draws one contact sheet with \
            every number of participants. PNG output requires mixworker, in the directory of this program or as named by \
            MIXORCHESTRATOR_WORKER.
            """)

    @Argument(help: "Layout file, or \(LayoutLibrary.automaticName) for the built-in layout.")
    var file: String
    @Option(help: "Number of participants, 0…16, or a range such as 1-9.")
    var participants: String?
    @Option(help: "Canvas, WIDTHxHEIGHT or WIDTHxHEIGHT@FPS.")
    var canvas = "720x1280@20"
    @Option(name: .shortAndLong, help: "File to write, .svg or .png. Default: SVG on standard output.")
    var output: String?
    @Option(name: .customLong("param"), help: "Value of a layout parameter, NAME=VALUE. Repeatable.")
    var params: [String] = []
    @Option(
        name: .customLong("value"),
        help: "Value for texts: viewers=NUMBER, likes=NUMBER or comment=TEXT. Repeatable.")
    var values: [String] = []
    @Flag(help: "Draw a contact sheet, for 0 to 16 participants unless --participants is given.")
    var sheet = false
    @Flag(help: "Let the host share a screen.")
    var screen = false
    @Flag(help: "Draw all participants without a camera.")
    var withoutCameras = false

    func run() async throws {
        let counts = try Self.counts(participants ?? (sheet ? "0-\(SamplePeople.most)" : "2"))
        guard let canvas = Canvas(canvas, fps: Canvas.portrait.fps) else {
            throw ValidationError("--canvas: expected \(Canvas.textRule), found \(canvas)")
        }
        let kind = output.map { URL(fileURLWithPath: $0).pathExtension.lowercased() } ?? "svg"
        guard ["svg", "png"].contains(kind) else {
            throw ValidationError("--output: expected a file that ends in .svg or .png, found \(output ?? "")")
        }
        let layout: LayoutArgument
        do {
            layout = try file == LayoutLibrary.automaticName ? .builtIn : LayoutArgument(file)
        } catch {
            throw CommandFailure("\(error)")
        }
        let (template, values) = try PreviewValues.read(params: params, values: values, of: layout.template)
        let drawing = draw(layout.with(template), counts, canvas, values)
        do {
            switch (output, kind) {
            case (nil, _): print(drawing)
            case (let path?, "png"): try await PictureProcess.write(drawing, png: path)
            case (let path?, _): try Data(drawing.utf8).write(to: URL(fileURLWithPath: path))
            }
        } catch let error as StartupError {
            throw CommandFailure("\(error)")
        } catch {
            throw CommandFailure("\(output ?? "") cannot be written: \(error.localizedDescription)")
        }
    }

    private func draw(
        _ layout: LayoutArgument, _ counts: ClosedRange<Int>, _ canvas: Canvas, _ values: LayoutValues
    ) -> String {
        let scenes = counts.map { count in
            let people = SamplePeople(count: count, sharesScreen: screen, haveCameras: !withoutCameras)
            return SceneSheet.Entry(
                title: people.title,
                scene: LayoutEngine.plan(
                    layout.template, participants: people.participants, canvas: canvas, values: values))
        }
        if scenes.count == 1, !sheet, let only = scenes.first { return only.scene.svg(images: layout.imageData) }
        return SceneSheet(scenes).svg(images: layout.imageData)
    }

    /// Parses a number or a range of participants, such as `4` or `0-16`.
    static func counts(_ text: String) throws -> ClosedRange<Int> {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard 1...2 ~= ends.count, let first = ends[0], let last = ends[ends.count - 1], first <= last,
            0 <= first, last <= SamplePeople.most
        else {
            throw ValidationError(
                "--participants: expected 0…\(SamplePeople.most), or a range such as 1-9; found \(text)")
        }
        return first...last
    }
}

/// A failure with valid arguments. It is printed without the usage text of a `ValidationError`.
struct CommandFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
