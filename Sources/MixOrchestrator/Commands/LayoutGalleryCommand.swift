import ArgumentParser
import Foundation

struct LayoutGalleryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gallery", abstract: "Draws every layout of a directory, for its README.md.",
        discussion: """
            Writes pictures/NAME-9x16.svg and pictures/NAME-16x9.svg for each layout and the built-in one, for 1 to 16 people, \
            and the part of README.md below its marker line. The text above that line is kept.
            """)

    @Argument(help: "Directory of layouts.")
    var directory: String

    func run() async throws {
        let gallery: LayoutGallery
        do {
            gallery = try LayoutGallery(directory: directory)
        } catch {
            throw CommandFailure("\(error)")
        }
        do {
            for (path, content) in try gallery.files() {
                let file = URL(fileURLWithPath: directory).appendingPathComponent(path)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(content.utf8).write(to: file, options: .atomic)
            }
        } catch {
            throw CommandFailure("\(directory) cannot be written: \(error.localizedDescription)")
        }
        print("\(directory): \(gallery.layouts.count) layouts drawn")
    }
}
