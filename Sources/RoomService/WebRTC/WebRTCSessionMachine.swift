import EncodedMedia
import MixModel
import TextFormats

/// One publisher's session, from its offer to its end. Pure: times are arguments, in ns of a monotonic clock.
struct WebRTCSessionMachine: Sendable {
    enum Input: Hashable, Sendable {
        /// The worker is connected.
        case attached
        case report(WebRTCReport)
        /// The connection has ended; another one may follow.
        case detached
        /// The worker is gone, or never started.
        case lost(reason: String)
        case candidates(fragment: String)
        case restart(fragment: String)
        case close(reason: String)
        case tick
    }

    enum Action: Hashable, Sendable {
        case send(WebRTCCommand)
        /// The client gets the answer.
        case answer(String)
        /// The client gets no answer.
        case refuse(reason: String)
        case restarted(fragment: String)
        case notRestarted(reason: String)
        /// The worker cannot restart ICE, either now or at all.
        case restartRefused(reason: String)
        case connected
        case figures(WebRTCFigures)
        /// Ends the worker. Only its end follows.
        ///
        /// - Parameter cause: The kind of end, as the worker has reported it.
        case end(reason: String, cause: WebRTCEndCause? = nil)
        /// `tick` is due after this time.
        case wake(after: Duration)
    }

    private enum State {
        /// - Parameter publisher: Sent to the worker after its hello.
        case starting(WebRTCPublisher, until: Int64)
        case offered(until: Int64)
        /// - Parameter restart: Deadline of the ICE restart in progress; `nil` = none.
        case open(isConnected: Bool, restart: Int64?)
        case ended(until: Int64)
    }

    private var state: State
    private(set) var isAttached = false
    private var isGone = false

    /// Time within which the offer must be answered.
    static let answerLimit: Duration = .seconds(5)
    /// Time within which the worker must end.
    static let endLimit: Duration = .seconds(2)

    /// Creates a session whose worker is being started.
    init(publisher: WebRTCPublisher, now: Int64) {
        state = .starting(publisher, until: now.saturatingSum(Self.answerLimit.nanoseconds))
    }

    /// Creates a session of an earlier run of the service.
    init() { state = .open(isConnected: false, restart: nil) }

    /// Returns whether nothing further can happen.
    func isOver(now: Int64) -> Bool {
        guard case .ended(let until) = state else { return false }
        return isGone || now >= until
    }

    var isConnected: Bool { if case .open(true, _) = state { true } else { false } }

    mutating func take(_ input: Input, now: Int64) -> [Action] {
        switch input {
        case .attached:
            isAttached = true
            let hello = Action.send(.hello(version: WebRTCCommand.version))
            // It may have been told to end before there was a connection.
            if case .ended = state { return [hello, .send(.terminate)] }
            return [hello]
        case .detached:
            isAttached = false
            return []
        case .lost(let reason):
            isAttached = false
            isGone = true
            return end(reason, now)
        case .report(let report): return reported(report, now)
        case .candidates(let fragment):
            guard case .open = state else { return [] }
            return [.send(.candidates(fragment: fragment))]
        case .restart(let fragment):
            guard case .open(let isConnected, nil) = state, isAttached else {
                return [.notRestarted(reason: "ICE cannot be restarted at the moment: try again")]
            }
            state = .open(isConnected: isConnected, restart: now.saturatingSum(Self.answerLimit.nanoseconds))
            return [.send(.restart(fragment: fragment)), .wake(after: Self.answerLimit)]
        case .close(let reason):
            if case .ended = state { return [] }
            return [.send(.terminate)] + end(reason, now)
        case .tick: return tick(now)
        }
    }

    private mutating func reported(_ report: WebRTCReport, _ now: Int64) -> [Action] {
        switch (report, state) {
        case (.hello(let version, _), _) where version != WebRTCCommand.version:
            return [.send(.terminate)] + end("the worker speaks version \(version) of the protocol", now)
        case (.hello, .starting(let publisher, let until)):
            state = .offered(until: until)
            return [.send(.publish(publisher))]
        case (.answered(let answer), .offered):
            guard answer.utf8.count <= WebRTCCommand.longestDescription else {
                return [.send(.terminate)] + end("the worker's answer is too large", now)
            }
            state = .open(isConnected: false, restart: nil)
            return [.answer(answer)]
        case (.connected, .open(let wasConnected, let restart)):
            state = .open(isConnected: true, restart: restart)
            return wasConnected ? [] : [.connected]
        case (.restarted(let fragment), .open(let isConnected, _?)):
            state = .open(isConnected: isConnected, restart: nil)
            guard fragment.utf8.count <= WebRTCCommand.longestFragment else {
                return [.notRestarted(reason: "the worker's answer is too large")]
            }
            return [.restarted(fragment: fragment)]
        case (.refused(let reason), .open(let isConnected, _?)):
            state = .open(isConnected: isConnected, restart: nil)
            return [.restartRefused(reason: Self.words(reason))]
        case (.refused(let reason), .starting), (.refused(let reason), .offered):
            return [.send(.terminate)] + end(reason, now)
        case (.ended(let reason, let cause), _): return end(reason, now, cause: cause)
        case (.figures(let figures), .open): return [.figures(figures)]
        default: return []
        }
    }

    private mutating func tick(_ now: Int64) -> [Action] {
        switch state {
        case .starting(_, let until) where now >= until, .offered(let until) where now >= until:
            return [.send(.terminate)] + end("the worker did not answer within 5 s", now)
        case .open(let isConnected, let restart?) where now >= restart:
            state = .open(isConnected: isConnected, restart: nil)
            return [.notRestarted(reason: "the worker did not answer within 5 s")]
        default: return []
        }
    }

    private mutating func end(_ reason: String, _ now: Int64, cause: WebRTCEndCause? = nil) -> [Action] {
        let reason = Self.words(reason)
        var actions: [Action] = []
        switch state {
        case .ended: return []
        case .starting, .offered: actions = [.refuse(reason: reason)]
        case .open(_, .some): actions = [.notRestarted(reason: reason)]
        case .open: break
        }
        state = .ended(until: now.saturatingSum(Self.endLimit.nanoseconds))
        return actions + [.end(reason: reason, cause: cause), .wake(after: Self.endLimit)]
    }

    /// The worker's text is not trusted to be short.
    private static func words(_ reason: String) -> String { OneLine.of(reason).shortened(toBytes: 400) }
}
