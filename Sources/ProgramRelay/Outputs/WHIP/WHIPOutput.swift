import Foundation
import MixModel
import RTMP

/// Destinations over WebRTC: a separate process sends the program to a WHIP server, with H.264 untouched and the audio
/// as Opus.
enum WHIPOutput: ProcessOutputKind {
    static let name = "WHIP"
    /// Longest wait in seconds for the server's machine to accept a connection.
    private static let patience = 5

    static func takes(_ plan: PushDestination) -> Bool {
        let url = plan.url.lowercased()
        return WHIPAddress.schemes.contains { url.hasPrefix("\($0)://") }
    }

    static func connection(
        _ url: String, _ limits: Destination.Limits?, worker: URL,
        onKeyframeWanted: @escaping @Sendable () -> Void = {}
    ) throws(PullEnd) -> PushConnection {
        let address = try WHIPAddress(url)
        return PushConnection(worker: worker, isToldOfConnection: true, onKeyframeWanted: onKeyframeWanted) {
            () throws(OutputFault) in
            // An unreachable server does not cost a process.
            guard let destination = address.destination(limits) else {
                throw OutputFault(.badURL, "the URL has no host")
            }
            if let fault = await ConnectionProbe.fault(destination, timeout: patience) { throw OutputFault(fault) }
            return PushSettings(url: url, reach: limits?.reach)
        }
    }
}
