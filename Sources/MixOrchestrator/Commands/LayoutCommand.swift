import ArgumentParser
import Foundation
import LayoutEngine

struct LayoutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "layout", abstract: "Checks layouts and shows what they do.",
        subcommands: [Validate.self, Preview.self])

    struct Validate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Prints every error of layout files.")

        @Argument(help: "Layout files.")
        var files: [String]

        func run() async throws {
            var isGood = true
            for file in files {
                do {
                    _ = try LayoutCommand.read(file)
                    print("\(file): ok")
                } catch {
                    isGood = false
                    print("\(error)")
                }
            }
            guard isGood else { throw ExitCode(1) }
        }
    }

    struct Preview: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Draws a layout as SVG.")

        @Argument(help: "Layout file.")
        var file: String
        @Option(help: "How many people have a picture, 0…64.")
        var participants: Int
        @Option(name: .shortAndLong, help: "File to write; standard output when left out.")
        var output: String?
        @Option(help: "Canvas, WIDTHxHEIGHT.")
        var canvas = "720x1280"

        func run() async throws {
            guard 0...64 ~= participants else { throw ValidationError("--participants: expected 0…64") }
            let sides = canvas.split(separator: "x").compactMap { Int($0) }
            guard sides.count == 2, sides.allSatisfy({ 16...7680 ~= $0 && $0 % 2 == 0 }) else {
                throw ValidationError("--canvas: expected WIDTHxHEIGHT, even numbers of 16…7680, found \(canvas)")
            }
            let template: LayoutTemplate
            do {
                template = try LayoutCommand.read(file)
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                throw ExitCode(1)
            }
            let people = (0..<participants).map { index in
                LayoutParticipant(
                    source: "user\(index + 1)/camera", user: "user\(index + 1)", role: index == 0 ? .host : .guest,
                    joinOrder: index)
            }
            let scene = LayoutEngine.plan(
                template, participants: people, canvas: Canvas(width: sides[0], height: sides[1], fps: 20))
            if let output {
                try Data(scene.svg().utf8).write(to: URL(fileURLWithPath: output))
            } else {
                print(scene.svg())
            }
        }
    }

    private static func read(_ file: String) throws -> LayoutTemplate {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw StartupError("\(file): cannot be read")
        }
        let name = URL(fileURLWithPath: file).deletingPathExtension().lastPathComponent
        return try LayoutTemplate.decode(data, name: name)
    }
}
