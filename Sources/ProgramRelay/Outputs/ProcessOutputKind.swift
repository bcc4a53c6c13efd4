import Foundation
import MixModel
import RTMP

/// A kind of destination to which a process of its own sends the program.
protocol ProcessOutputKind: OutputKind where Plan == PushDestination {
    /// Creates a connection, which does not begin to connect yet.
    ///
    /// - Parameters:
    ///   - limits: Addresses to which it may connect; `nil` allows any.
    ///   - worker: The `mixworker` binary.
    ///   - onKeyframeWanted: Called when a receiver can show nothing before the next keyframe, from any thread. Must
    ///     return at once.
    /// - Throws: `PullEnd` of kind `.badURL` if no attempt can succeed.
    static func connection(
        _ url: String, _ limits: Destination.Limits?, worker: URL,
        onKeyframeWanted: @escaping @Sendable () -> Void
    ) throws(PullEnd) -> PushConnection
}

extension ProcessOutputKind {
    static func open(_ plan: PushDestination, in context: OutputContext) -> any ProgramOutput {
        DestinationOutput(
            plan, reach: context.reach, preamble: context.preamble,
            onChange: { [report = context.report] in report(.changed) },
            connect: { [worker = context.worker, report = context.report] url, limits, _ in
                try Self.connection(url, limits, worker: worker) { report(.keyframeWanted) }
            })
    }
}
