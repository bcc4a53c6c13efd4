import ArgumentParser
import EncodedMedia
import Foundation
import MediaFormats
import ProgramRelay
import WebRTCGateway

/// `mixworker push`: sends a program over SRT or WebRTC, or writes it to a file.
struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Sends a program over SRT or to a WHIP server, or writes it to a file, for a relay.",
        discussion: """
            Started by `mixworker relay` with one end of a socket pair as its standard input. Reads one line of JSON and \
            then the program as FLV. Depending on the URL in that line, sends it as MPEG-TS over SRT, or as H.264 and Opus \
            over WebRTC. Reports the amount sent, one JSON object per line. Exits when its input ends or the connection fails. When \
            the relay is gone, it sends nothing more and exits within two seconds.
            """)

    @Flag(help: "Write the program to a file below outputs.directory instead.")
    var file = false

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        if let warning = WorkerStart.containment?.warning {
            FileHandle.standardError.write(Data("push \(warning)\n".utf8))
        }
        let input = ConsumerInput()
        guard let settings = input.readSettings() else {
            throw ValidationError("The first line of the input must be the destination's settings.")
        }
        if file {
            let program = try FileProgram(settings: settings, directory: WorkerStart.limits.outputs) { input.send($0) }
            program.run { input.read() }
        } else if WHIPProgram.takes(settings) {
            let program = try WHIPProgram(
                settings: settings, report: { input.send($0) }, media: { WebRTCMedia(onEvent: $0) })
            Self.whenRelayIsGone { program.abandon() }
            await program.run { input.read() }
        } else {
            let program = try SRTProgram(settings: settings) { input.send($0) }
            Self.whenRelayIsGone { program.abandon() }
            await program.run { input.read() }
        }
    }

    /// Time in seconds after which the process ends when its relay is gone, even if the connection hangs.
    private static let patience = 2.0

    /// Ends the program when the relay is gone. A relay whose node has lost the room ends without a farewell, and another
    /// node sends the program from then on.
    private static func whenRelayIsGone(_ abandon: @escaping @Sendable () -> Void) {
        RelayLoss.watch(STDIN_FILENO) {
            abandon()
            DispatchQueue.global().asyncAfter(deadline: .now() + patience) { _exit(1) }
        }
    }
}

/// The WebRTC functions of WHIP outputs, because relays do not depend on WebRTC.
private final class WebRTCMedia: WHIPMedia {
    private let sender: ProgramSender

    init(onEvent: @escaping @Sendable (WHIPMediaEvent) -> Void) {
        sender = ProgramSender { event in
            switch event {
            case .offered(let offer): onEvent(.offered(offer))
            case .connected: onEvent(.connected)
            case .keyframeRequested: onEvent(.keyframeRequested)
            case .ended(let reason): onEvent(.ended(reason: reason))
            }
        }
    }

    func offer(video: CodecConfiguration?, hasAudio: Bool, addresses: [String]) {
        sender.offer(hasVideo: video != nil, hasAudio: hasAudio, addresses: addresses)
    }
    func accept(_ answer: String) { sender.accept(answer) }
    func take(_ items: [MediaItem], onTaken: @escaping @Sendable () -> Void) { sender.take(items, onTaken: onTaken) }
    var lastHeard: Int64? { sender.lastHeard }
    func close() async { await sender.close() }
}
