import MixModel
import RTMP

/// RTMP destinations, with or without TLS.
enum RTMPOutput: OutputKind {
    static let name = "RTMP"

    static func open(_ plan: PushDestination, in context: OutputContext) -> any ProgramOutput {
        DestinationOutput(
            plan, reach: context.reach, preamble: context.preamble,
            onChange: { [report = context.report] in report(.changed) },
            connect: { [report = context.report, id = plan.id] url, limits, name in
                try makeConnection(url, limits, name) { outcome in
                    let message = "output \(id): \(outcome.words)"
                    report(.note(code: outcome.code, message: message, isBad: outcome.isBad))
                }
            })
    }

    @Sendable
    static func makeConnection(
        _ url: String, _ limits: Destination.Limits?, _ name: String
    ) throws -> any OutputConnection {
        try makeConnection(url, limits, name) { _ in }
    }

    /// - Parameter onOutcome: As for `RTMPSocketConnection`.
    private static func makeConnection(
        _ url: String, _ limits: Destination.Limits?, _ name: String,
        onOutcome: @escaping @Sendable (ReconnectOutcome) -> Void
    ) throws -> any OutputConnection {
        // Only `rtmp2sink` implements Adobe's authentication.
        if RTMPAddress.hasCredentials(url) {
            return try RTMPConnection(url: url, limits: limits, name: name)
        }
        return try RTMPSocketConnection(url: url, limits: limits, onOutcome: onOutcome)
    }
}
