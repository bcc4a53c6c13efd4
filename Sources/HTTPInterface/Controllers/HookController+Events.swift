import EventSubscription
import Logging
import RoomService

extension HookController {
    /// Stores the events of a call and returns the verdict for its publisher.
    ///
    /// - Parameter receivedAt: Arrival, in ns of CLOCK_MONOTONIC.
    func verdict(
        on outcome: HookOutcome, of hook: any EventHook, _ call: HookRequest, _ receivedAt: Int64, _ logger: Logger
    ) async -> HookVerdict {
        if let reason = outcome.unmatched {
            note(hook, outcome, "unmatched", "no room: \(reason)", logger)
            if outcome.events.isEmpty {
                return verdict(.refused(reason), outcome, isRule: rules.unmatched == .refuse)
            }
        } else if let refusal = outcome.refusal {
            note(hook, outcome, "refused", "\(refusal.code.rawValue): expected \(refusal.expected)", logger)
            if outcome.events.isEmpty { return verdict(.refused("the call is refused: \(refusal)"), outcome) }
        } else if outcome.events.isEmpty {
            metrics.count(.hookCalls, hook.name, "ignored")
            return .accepted
        }
        let result = await intake.take(outcome.events, of: hook.name, peer: call.peer, at: receivedAt)
        switch result {
        case .accepted, .repeated:
            // A call that was noted above is counted.
            if outcome.unmatched == nil, outcome.refusal == nil {
                let word = if case .accepted = result { "accepted" } else { "repeated" }
                metrics.count(.hookCalls, hook.name, word)
            }
            return .accepted
        case .failed(let error):
            note(hook, outcome, error.isFault ? "failed" : "refused", "\(error.code): \(error.title)", logger)
            let reason = "\(error.title): \(error.detail)"
            return error.isFault
                ? verdict(.failed(reason), outcome, isRule: rules.failsClosed) : verdict(.refused(reason), outcome)
        }
    }

    /// Returns the verdict that may be sent: only calls that ask for permission are refused, and a call whose answer
    /// would drop a stream on air is always accepted.
    ///
    /// - Parameter isRule: Whether the operator wants such calls to be refused.
    private func verdict(_ verdict: HookVerdict, _ outcome: HookOutcome, isRule: Bool = true) -> HookVerdict {
        switch (outcome.weight, verdict) {
        case (.decisive, _): isRule ? verdict : .accepted
        case (.informative, .failed): verdict
        case (.informative, _), (.fragile, _): .accepted
        }
    }

    /// Counts a call that changed no room, and logs at most one of them per second and hook: publishers choose the names.
    private func note(
        _ hook: any EventHook, _ outcome: HookOutcome, _ result: String, _ reason: String, _ logger: Logger
    ) {
        metrics.count(.hookCalls, hook.name, result)
        guard notices.take(by: .hook(hook.name)) == nil else { return }
        logger.warning(
            "a call of hook \(hook.name) changed no room: \(reason)",
            metadata: ["hook": "\(hook.name)", "call": "\(outcome.call)", "result": "\(result)"])
    }
}
