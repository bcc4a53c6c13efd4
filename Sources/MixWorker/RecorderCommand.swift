import ArgumentParser
import Dispatch
import Foundation
import ProgramRelay

/// `mixworker recorder`: records a stream on standard input as MP4 files.
struct RecorderCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recorder",
        abstract: "Records a relay's program as MP4.",
        discussion: """
            Started by `mixworker relay` with one end of a socket pair as its standard input: a line of JSON with the \
            settings, then the program as FLV. Files are fragmented while they are being written, so that a crash loses \
            at most the last second, and indexed when the input ends or on SIGTERM. Reports are lines of JSON, on the socket or \
            standard output.
            """)

    @Option(help: "Write the index of a recording whose recorder was lost, then exit. Repeatable.")
    var index: [String] = []

    func run() throws {
        guard index.isEmpty else {
            for path in index { print(try RecorderProcess.index(path)) }
            return
        }
        signal(SIGPIPE, SIG_IGN)
        signal(SIGTERM, SIG_IGN)
        let terminate = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        // Lets the reading thread see the end of the input. `shutdown` keeps a socket open for reports; any other input
        // is closed.
        terminate.setEventHandler { if shutdown(0, Int32(SHUT_RD)) != 0 { close(0) } }
        terminate.resume()
        defer { terminate.cancel() }
        guard try RecorderProcess.run(input: 0, output: 1) else { throw ExitCode.failure }
    }
}
