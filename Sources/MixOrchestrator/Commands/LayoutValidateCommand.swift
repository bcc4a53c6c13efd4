import ArgumentParser
import Foundation
import RoomService

struct LayoutValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate", abstract: "Prints every error of layout files, with line and column.",
        discussion: """
            Exits with status 1 if a file has an error. Images that cannot be read, and file names that rooms cannot \
            use, are warnings.
            """)

    @Argument(help: "Layout files.")
    var files: [String]

    func run() async throws {
        var (broken, errors) = (0, 0)
        // `validate layouts/*.json` also matches the schema, which is not a layout.
        let files = files.filter { URL(fileURLWithPath: $0).lastPathComponent != LayoutFiles.schema + ".json" }
        for file in files {
            do {
                let layout = try LayoutArgument(file)
                for warning in layout.nameWarnings + layout.imageWarnings { print("warning: \(warning)") }
                print("\(file): ok")
            } catch {
                broken += 1
                errors += max(error.issues.count, 1)
                print("\(error)")
            }
        }
        print(Self.summary(files: files.count, broken: broken, errors: errors))
        guard broken == 0 else { throw ExitCode(1) }
    }

    static func summary(files: Int, broken: Int, errors: Int) -> String {
        func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
        return broken == 0
            ? "\(count(files, "layout")), no errors"
            : "\(count(files, "layout")), \(broken) with \(count(errors, "error"))"
    }
}
