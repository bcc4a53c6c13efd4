import ArgumentParser
import Foundation
import ProgramRelay

/// `mixworker push`: sends a program over SRT.
struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Sends a program over SRT, for a relay.",
        discussion: """
            Started by `mixworker relay` with one end of a socket pair as its standard input. Reads one line of JSON and \
            then the program as FLV, and sends it as MPEG-TS; writes how much is sent, one JSON object per line. Exits when \
            its input ends or the connection fails.
            """)

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        if let warning = WorkerStart.containment?.warning {
            FileHandle.standardError.write(Data("push \(warning)\n".utf8))
        }
        let input = ConsumerInput()
        guard let settings = input.readSettings() else {
            throw ValidationError("The first line of the input must be the destination's settings.")
        }
        let program = try SRTProgram(settings: settings) { input.send($0) }
        await program.run { input.read() }
    }
}
