import EventSubscription
import MixModel
import Synchronization

/// Brings a media server's events into rooms, whether the server reports them or they are read from its statistics.
/// Thread-safe.
package final class HookIntake: Sendable {
    private let registry: RoomRegistry
    private let metrics: Metrics
    private let sessions = Mutex(PublisherSessions(run: String(UInt64.random(in: .min ... .max), radix: 36)))

    package init(registry: RoomRegistry, metrics: Metrics) {
        self.registry = registry
        self.metrics = metrics
    }

    package enum Result: Sendable {
        case accepted
        /// The rooms already knew it, or know something newer.
        case repeated
        /// An event was not stored. The events after it were not tried.
        case failed(OrchestratorError)
    }

    /// Stores events in order.
    ///
    /// - Parameters:
    ///   - hook: Name of the hook.
    ///   - peer: Address of the media server.
    ///   - receivedAt: Time of arrival, in ns of CLOCK_MONOTONIC.
    package func take(_ events: [HookEvent], of hook: String, peer: String, at receivedAt: Int64) async -> Result {
        var result = Result.repeated
        for event in events {
            if event.isForAbsentStream, await isThere(event) { continue }
            let admission = sessions.withLock { $0.admit(event, of: hook, peer: peer, now: receivedAt) }
            guard case .pass(let roomEvent) = admission else { continue }
            do {
                let stored = try await registry.owner(roomEvent.room).receive(roomEvent, at: receivedAt)
                metrics.count(.events, stored.rawValue)
                settle(event, hook, peer, .stored)
                if stored == .accepted { result = .accepted }
            } catch {
                settle(event, hook, peer, error.isFault ? .failed : .refused)
                return .failed(error)
            }
        }
        return result
    }

    /// Returns the corrections that follow from the statistics of a hook's servers, see
    /// `PublisherSessions.corrections`.
    func corrections(
        listed: [HookEvent], stored: [(room: RoomID, user: UserID, stream: StreamKind)], of hook: String,
        askedAt: Int64
    ) -> [PublisherSessions.Correction] {
        sessions.withLock { $0.corrections(listed: listed, stored: stored, of: hook, askedAt: askedAt) }
    }

    private func settle(
        _ event: HookEvent, _ hook: String, _ peer: String, _ settlement: PublisherSessions.Settlement
    ) {
        sessions.withLock { $0.settle(event, of: hook, peer: peer, as: settlement) }
    }

    /// Returns whether the room already has the published stream.
    private func isThere(_ event: HookEvent) async -> Bool {
        guard case .streamPublished(let publication) = event.kind else { return false }
        let streams = try? await registry.snapshot(event.room)?.room.document.streams
        return streams?.contains { $0.id == SourceID(user: publication.user, stream: publication.stream) } ?? false
    }
}

extension OrchestratorError {
    /// Whether the service is at fault, so that the same event may be stored later.
    package var isFault: Bool { [.unavailable, .failed].contains(kind) }
}
