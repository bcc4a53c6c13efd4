import ArgumentParser
import Foundation
import ProgramMixer
import ProgramRelay

/// `mixworker pull`: plays one source of a relay with GStreamer.
struct PullCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Pulls one source with GStreamer, for a relay.",
        discussion: """
            Started by `mixworker relay` with one end of a socket pair as its standard input. Reads one line of JSON and \
            writes the source as FLV: H.264 and AAC unchanged, other codecs transcoded. Exits when the source or its input \
            ends. If the relay pulls the source itself, it sends this process only the tracks to transcode.
            """)

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        if let warning = WorkerStart.containment?.warning {
            FileHandle.standardError.write(Data("pull \(warning)\n".utf8))
        }
        let input = ConsumerInput()
        guard let settings = input.readSettings() else {
            throw ValidationError("The first line of the input must be the pull's settings.")
        }
        let directories = WorkerStart.limits.media
        let program = try PullProgram(
            settings: settings,
            openFile: { path in try Self.open(path, in: directories) },
            write: { input.send($0) })
        if program.isFed {
            // Reads may block, on a queue that does nothing else.
            let queue = DispatchQueue(label: "input")
            return await program.transcode {
                await withCheckedContinuation { bytes in queue.async { bytes.resume(returning: input.read()) } }
            }
        }
        let play = Task { await program.run() }
        // Reads may block here, on a thread that does nothing else.
        Thread.detachNewThread {
            while input.read() != nil {}
            play.cancel()
        }
        await play.value
    }

    private static func open(_ path: String, in directories: [String]) throws -> Int32 {
        guard !directories.isEmpty else {
            throw MediaPlace.Refusal(description: "cannot be played: set media.directory")
        }
        var refusal: MediaPlace.Refusal?
        for directory in directories {
            do throws(MediaPlace.Refusal) {
                return try MediaPlace(directories: [directory]).open("\(directory)/\(path)")
            } catch { refusal = refusal ?? error }
        }
        throw refusal ?? MediaPlace.Refusal(description: "cannot be played")
    }
}
