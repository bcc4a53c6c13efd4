import EventSubscription
import Logging
import RoomService
import Synchronization

extension HookController {
    /// Stores the events of a call and returns what its publisher is told.
    ///
    /// - Parameter receivedAt: Arrival, in ns of CLOCK_MONOTONIC.
    func verdict(
        on outcome: HookOutcome, of hook: any EventHook, _ call: HookRequest, _ receivedAt: Int64, _ logger: Logger
    ) async -> HookVerdict {
        if let reason = outcome.unmatched {
            note(hook, outcome, "unmatched", "no room: \(reason)", logger)
            return verdict(.refused(reason), outcome, isRule: rules.unmatched == .refuse)
        }
        if let refusal = outcome.refusal {
            note(hook, outcome, "refused", "\(refusal.code.rawValue): expected \(refusal.expected)", logger)
            return verdict(.refused("the stream cannot be pulled: \(refusal)"), outcome)
        }
        guard !outcome.events.isEmpty else {
            metrics.count(.hookCalls, hook.name, "ignored")
            return .accepted
        }
        var result = "repeated"
        for event in outcome.events {
            guard case .pass(let roomEvent) = desk.admit(event, of: hook.name, peer: call.peer, now: receivedAt) else {
                continue
            }
            do {
                let stored = try await registry.owner(roomEvent.room).receive(roomEvent, at: receivedAt)
                metrics.count(.events, stored.rawValue)
                desk.settle(event, of: hook.name, peer: call.peer, as: .stored)
                if stored == .accepted { result = "accepted" }
            } catch {
                let isFault = [.unavailable, .failed].contains(error.kind)
                desk.settle(event, of: hook.name, peer: call.peer, as: isFault ? .failed : .refused)
                note(hook, outcome, isFault ? "failed" : "refused", "\(error.code): \(error.title)", logger)
                let reason = "\(error.title): \(error.detail)"
                return isFault
                    ? verdict(.failed(reason), outcome, isRule: rules.failsClosed) : verdict(.refused(reason), outcome)
            }
        }
        metrics.count(.hookCalls, hook.name, result)
        return .accepted
    }

    /// Returns the verdict that may be told: only a call that asks is refused, and a call whose answer drops a stream on
    /// air is always accepted.
    ///
    /// - Parameter isRule: Whether the operator wants a call that asks to be refused.
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
        guard desk.notices.take(by: .hook(hook.name)) == nil else { return }
        logger.warning(
            "a call of hook \(hook.name) changed no room: \(reason)",
            metadata: ["hook": "\(hook.name)", "call": "\(outcome.call)", "result": "\(result)"])
    }
}

/// What calls of hooks share: the streams' present connections. Thread-safe.
final class HookDesk: Sendable {
    private let sessions = Mutex(PublisherSessions(run: String(UInt64.random(in: .min ... .max), radix: 36)))
    /// Lines of the log, by hook.
    let notices = RateLimiter(rate: 1)

    func admit(_ event: HookEvent, of hook: String, peer: String, now: Int64) -> PublisherSessions.Admission {
        sessions.withLock { $0.admit(event, of: hook, peer: peer, now: now) }
    }

    func settle(_ event: HookEvent, of hook: String, peer: String, as settlement: PublisherSessions.Settlement) {
        sessions.withLock { $0.settle(event, of: hook, peer: peer, as: settlement) }
    }
}
