import ArgumentParser
import Dispatch
import Foundation
import GStreamerKit
import Logging
import MixModel
import ProgramMixer
import ProgramRelay

/// `mixworker mixer`: composes and encodes the sources of one relay.
struct MixerCommandLine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mixer",
        abstract: "Decodes sources, composes and encodes them for one relay.",
        discussion: """
            Started by `mixworker relay` with one end of a socket pair as its standard input; messages travel in both
            directions over it. Ends when the socket is closed. Writes nothing to standard output and its log to
            standard error.
            """)

    @Option(
        help: """
            x264 preset for programs that name none: \(EncoderTuning.presets.map(\.rawValue).joined(separator: ", ")). \
            Without this option, the mixer's own settings are used, which cost less than veryfast.
            """)
    var preset: String?

    @Option(
        help: """
            Encoder for programs that name no preset: software, auto (the first hardware encoder that works), or one \
            that `mixworker doctor` names. If it does not work, the software encoder is used.
            """)
    var encoder = "software"

    @Option(help: "Process id of the mixer's relay; only for display in ps.")
    var relay: Int32?

    @Option(help: "Encoder threads per frame for programs that set none, 1 to 16; 0: as many as the canvas needs.")
    var threads = EncoderTuning().threads

    func validate() throws {
        guard preset == nil || chosenPreset != nil else {
            throw ValidationError("--preset: x264 has no preset '\(preset ?? "")' for live streams.")
        }
        guard (0...16).contains(threads) else { throw ValidationError("--threads must be 0 to 16.") }
    }

    private var chosenPreset: EncodingSettings.Preset? { EncoderTuning.presets.first { $0.rawValue == preset } }

    func run() async throws {
        try await serve()
        // Called here, where no GStreamer object is referenced any more.
        if GStreamerRuntime.isWatchedForLeaks { GStreamerRuntime.shutDownForLeakCheck() }
    }

    private func serve() async throws {
        LoggingSystem.bootstrap { WorkerLog.handler(label: $0) }
        let logger = Logger(label: "mixworker.mixer")
        // A failed write reveals that the relay is gone.
        signal(SIGPIPE, SIG_IGN)
        if let warning = WorkerStart.containment?.warning { logger.warning("the mixer \(warning)") }
        let socket = MixerSocket(descriptor: FileHandle.standardInput.fileDescriptor)
        guard socket.isSocket else {
            throw ValidationError("The mixer is started by `mixworker relay` with a socket as standard input.")
        }
        var tuning = EncoderTuning(preset: chosenPreset, threads: threads)
        tuning.encoder = EncoderChoice(encoder)
        let mixer = Mixer(tuning: tuning, mediaDirectories: WorkerStart.limits.media) { report in
            switch report {
            case .sourceFailed(let source, let reason): logger.warning("source \(source) failed: \(reason)")
            case .note(let code, let message): logger.warning("\(code): \(message)")
            case .failed(let reason): logger.error("mixer failed: \(reason)")
            case .configuration, .frame, .volumes, .delays, .idle: break
            }
            socket.send(report)
            // Closing the socket tells the relay to start another mixer.
            if case .failed = report { socket.close() }
        }
        let reason = await withCheckedContinuation { continuation in
            let reader = Thread {
                continuation.resume(returning: socket.receive { mixer.handle($0) })
            }
            reader.name = "mixer-socket"
            reader.start()
        }
        if let reason {
            logger.error("\(reason)")
            socket.send(.failed(reason: reason))
        }
        await mixer.stop()
        if reason != nil { throw ExitCode.failure }
    }
}
