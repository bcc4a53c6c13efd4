import EncodedMedia
import RTMP

/// Decides how an RTMP output follows its server's requests to reconnect. Pure: times are in ns of a monotonic clock.
///
/// The next connection is prepared while the present one is in use. At a keyframe the stream is published on the next
/// one, and held until the server accepts it. If it does not, the held part goes to the present connection, so that
/// nothing is lost and nothing is sent twice.
struct ReconnectMachine: Sendable {
    struct Policy: Hashable, Sendable {
        /// Shortest time between the beginnings of two moves. A request that comes earlier waits.
        var pause: Int64 = 30_000_000_000
        /// Longest time from a move's beginning to the keyframe. Less than 15 s, after which the service's own server
        /// closes a connection that publishes nothing.
        var preparation: Int64 = 12_000_000_000
        /// Longest time for which the stream is held. Receivers get that part late if the server does not accept it.
        var hold: Int64 = 2_500_000_000
    }

    enum State: Hashable, Sendable {
        case settled
        /// The next connection is being established.
        case preparing(since: Int64)
        /// The next connection waits for a keyframe.
        case prepared(since: Int64)
        /// The stream is published on the next connection, and held until the server accepts it.
        case holding(since: Int64)
    }

    enum Action: Hashable, Sendable {
        /// Prepares the next connection. `failed` follows if the request leads to no valid address.
        case prepare(ReconnectRequest)
        /// Publishes on the next connection, and holds the stream from its next frame on.
        case publish
        /// Gives up the next connection, and sends the held part on the present one.
        case stay(reason: String)
    }

    private(set) var state = State.settled
    private let policy: Policy
    /// Time of the last move's beginning.
    private var beganAt: Int64?
    /// The newest request that came within the pause.
    private var waiting: ReconnectRequest?

    init(policy: Policy = Policy()) { self.policy = policy }

    var isHolding: Bool {
        if case .holding = state { true } else { false }
    }

    /// Whether the next frame with which a stream may begin is awaited.
    var awaitsBoundary: Bool {
        if case .prepared = state { true } else { false }
    }

    /// Handles a request of the present connection's server. Those that come during a move are ignored.
    mutating func requested(_ request: ReconnectRequest, at now: Int64) -> [Action] {
        guard state == .settled else { return [] }
        if let beganAt, now.saturatingDifference(beganAt) < policy.pause {
            waiting = request
            return []
        }
        return begin(request, at: now)
    }

    /// The next connection is established.
    mutating func prepared() {
        if case .preparing(let since) = state { state = .prepared(since: since) }
    }

    /// A frame with which a stream may begin is the next one.
    mutating func reachedBoundary(at now: Int64) -> [Action] {
        guard awaitsBoundary else { return [] }
        state = .holding(since: now)
        return [.publish]
    }

    /// The next connection's server has accepted the stream.
    ///
    /// - Returns: Whether the next connection takes the present one's place: it gets the current headers and the held
    ///   part, and the present one ends.
    mutating func began() -> Bool {
        guard isHolding else { return false }
        settle()
        return true
    }

    /// The next connection cannot be made, or has ended.
    mutating func failed(_ reason: String) -> [Action] {
        guard state != .settled else { return [] }
        settle()
        return [.stay(reason: reason)]
    }

    /// The present connection has ended, or is closed.
    ///
    /// - Returns: Whether the move goes on. A server that accepts the stream on the next connection may already have
    ///   ended the one that it replaces.
    mutating func presentEnded() -> Bool {
        if isHolding { return true }
        settle()
        return false
    }

    /// Ends a move that takes too long, and begins one that has waited. Call it several times a second.
    mutating func tick(at now: Int64) -> [Action] {
        switch state {
        case .settled:
            guard let request = waiting, let beganAt, now.saturatingDifference(beganAt) >= policy.pause else {
                return []
            }
            return begin(request, at: now)
        case .preparing(let since), .prepared(let since):
            guard now.saturatingDifference(since) > policy.preparation else { return [] }
            let missing = awaitsBoundary ? "keyframe" : "connection"
            return failed("no \(missing) within \(policy.preparation / 1_000_000_000) s")
        case .holding(let since):
            guard now.saturatingDifference(since) > policy.hold else { return [] }
            return failed("it did not accept the stream within \(policy.hold / 1_000_000) ms")
        }
    }

    private mutating func begin(_ request: ReconnectRequest, at now: Int64) -> [Action] {
        waiting = nil
        beganAt = now
        state = .preparing(since: now)
        return [.prepare(request)]
    }

    private mutating func settle() {
        state = .settled
        waiting = nil
    }
}
