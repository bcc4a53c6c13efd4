import ArgumentParser
import Foundation
import ProgramRelay

/// `mixworker rendition`: transcodes a program's pictures for one packager.
struct RenditionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rendition",
        abstract: "Transcodes a program's video to a smaller size, for one packager.",
        discussion: """
            Started by `mixworker packager` with one end of a socket pair as its standard input. Reads one line of JSON \
            and then the program as FLV; writes its frames, one JSON object per line. Exits when its input ends.
            """)

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        if let warning = WorkerStart.containment?.warning {
            FileHandle.standardError.write(Data("rendition \(warning)\n".utf8))
        }
        let input = ConsumerInput()
        guard let settings = input.readSettings() else {
            throw ValidationError("The first line of the input must be the rendition's settings.")
        }
        var program = try RenditionProgram(settings: settings) { input.send($0) }
        // Reads may block here, because nothing else runs in this process.
        while let bytes = input.read() { try await program.push(bytes) }
        await program.finish()
    }
}
