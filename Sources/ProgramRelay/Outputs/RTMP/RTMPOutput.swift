import MixModel
import RTMP

/// RTMP destinations, with or without TLS.
enum RTMPOutput: OutputKind {
    static let name = "RTMP"

    static func open(_ plan: PushDestination, in context: OutputContext) -> any ProgramOutput {
        DestinationOutput(plan, reach: context.reach, preamble: context.preamble) { [report = context.report] in
            report(.changed)
        }
    }

    @Sendable
    static func makeConnection(
        _ url: String, _ limits: Destination.Limits?, _ name: String
    ) throws -> any OutputConnection {
        // Only `rtmp2sink` implements Adobe's authentication.
        if RTMPAddress.hasCredentials(url) {
            return try RTMPConnection(url: url, limits: limits, name: name)
        }
        return try RTMPSocketConnection(url: url, limits: limits)
    }
}
