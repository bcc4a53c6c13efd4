import EncodedMedia
import MixModel
import TextFormats

/// One worker that plays a stream to viewers over WebRTC, from its start to its end. Pure: times are arguments, in ns
/// of a monotonic clock.
struct PlayMachine: Sendable {
    enum Input: Hashable, Sendable {
        /// The worker is connected.
        case attached
        case report(PlayReport)
        /// The connection has ended; another one may follow.
        case detached
        /// The worker is gone, or never started.
        case lost(reason: String)
        case view(PlayViewer, offer: String)
        case candidates(viewer: String, fragment: String)
        case close(viewer: String)
        case terminate(reason: String)
        case tick
    }

    enum Action: Hashable, Sendable {
        case send(PlayCommand)
        /// A worker of an earlier run has reported which stream it plays, and for which viewers.
        case adopted(stream: String, viewers: [PlayViewer])
        case answer(viewer: String, String)
        /// The viewer gets no answer.
        case refuse(viewer: String, reason: String)
        case connected(viewer: String)
        /// A viewer that had an answer is gone.
        case ended(viewer: String, reason: String)
        case figures(PlayFigures)
        /// Ends the worker. Only its end follows.
        case end(reason: String)
        /// `tick` is due after this time.
        case wake(after: Duration)
    }

    private enum State {
        /// - Parameter source: Sent to the worker after its hello.
        case starting(PlaySource)
        case adopting
        case playing
        case ended(until: Int64)
    }

    private struct Viewer {
        var viewer: PlayViewer
        /// The offer that waits for its answer, and its deadline; `nil` once it is answered.
        var offer: (text: String, until: Int64)?
        /// Whether the worker has reported that media reach the viewer.
        var isConnected = false
    }

    private var state: State
    private var viewers: [String: Viewer] = [:]
    /// Time since which there have been no viewers.
    private var idleSince: Int64?
    private var isGone = false

    /// Time within which an offer must be answered.
    static let answerLimit: Duration = .seconds(5)
    /// Time without viewers after which the worker ends. A viewer who reloads a page finds it still running.
    static let idleLimit: Duration = .seconds(10)
    /// Time within which the worker must end.
    static let endLimit: Duration = .seconds(2)

    /// Creates the state of a worker that is being started.
    init(source: PlaySource) { state = .starting(source) }

    /// Creates the state of a worker from an earlier run of the service.
    init() { state = .adopting }

    /// Returns whether nothing further can happen.
    func isOver(now: Int64) -> Bool {
        guard case .ended(let until) = state else { return false }
        return isGone || now >= until
    }

    mutating func take(_ input: Input, now: Int64) -> [Action] {
        switch input {
        case .attached:
            let hello = Action.send(.hello(version: PlayCommand.version))
            // It may have been told to end before there was a connection.
            if case .ended = state { return [hello, .send(.terminate)] }
            return [hello]
        case .detached: return []
        case .lost(let reason):
            isGone = true
            return end(reason, now)
        case .terminate(let reason): return terminate(reason, now)
        case .report(let report): return reported(report, now)
        case .view(let viewer, let offer): return view(viewer, offer, now)
        case .candidates(let viewer, let fragment):
            guard viewers[viewer] != nil else { return [] }
            return [.send(.candidates(viewer: viewer, fragment: fragment))]
        case .close(let viewer):
            guard let gone = viewers.removeValue(forKey: viewer) else { return [] }
            let news: Action =
                gone.offer == nil
                ? .ended(viewer: viewer, reason: "the client has left")
                : .refuse(viewer: viewer, reason: "the client has left")
            return [.send(.close(viewer: viewer)), news] + idle(now)
        case .tick: return tick(now)
        }
    }

    private mutating func view(_ viewer: PlayViewer, _ offer: String, _ now: Int64) -> [Action] {
        if case .ended = state { return [.refuse(viewer: viewer.id, reason: "the worker is about to end")] }
        let until = now.saturatingSum(Self.answerLimit.nanoseconds)
        viewers[viewer.id] = Viewer(viewer: viewer, offer: (offer, until))
        idleSince = nil
        let wake = Action.wake(after: Self.answerLimit)
        // Otherwise the hello triggers the request.
        if case .playing = state { return [.send(.view(viewer, offer: offer)), wake] }
        return [wake]
    }

    // MARK: - The worker's reports

    private mutating func reported(_ report: PlayReport, _ now: Int64) -> [Action] {
        switch report {
        case .hello(let version, _, _, _) where version != PlayCommand.version:
            return terminate("the worker speaks version \(version) of the protocol", now)
        case .hello(_, _, let stream, let present): return greeted(stream, present, now)
        case .failed(let reason): return terminate(reason, now)
        // Reports before the hello are ignored.
        case _ where !isGreeted: return []
        case .answered(let viewer, let answer):
            guard viewers[viewer]?.offer != nil else { return [] }
            guard answer.utf8.count <= WebRTCCommand.longestDescription else {
                viewers[viewer] = nil
                return [.send(.close(viewer: viewer)), .refuse(viewer: viewer, reason: "the answer is too large")]
                    + idle(now)
            }
            viewers[viewer]?.offer = nil
            return [.answer(viewer: viewer, answer)]
        case .refused(let viewer, let reason), .ended(let viewer, let reason): return gone(viewer, reason, now)
        case .connected(let viewer):
            // A worker repeats this for all of its viewers after each hello.
            guard viewers[viewer]?.isConnected == false else { return [] }
            viewers[viewer]?.isConnected = true
            return [.connected(viewer: viewer)]
        case .figures(let figures): return [.figures(figures)]
        }
    }

    private var isGreeted: Bool {
        switch state {
        case .starting, .adopting: false
        case .playing, .ended: true
        }
    }

    private mutating func greeted(_ stream: String?, _ present: [PlayViewer], _ now: Int64) -> [Action] {
        switch state {
        case .starting(let source):
            state = .playing
            return [.send(.play(source))] + offers
        case .adopting:
            guard let stream else { return terminate("the worker plays nothing", now) }
            state = .playing
            let found = present.prefix(PlayCommand.mostViewers).filter { viewers[$0.id] == nil }
            for viewer in found { viewers[viewer.id] = Viewer(viewer: viewer) }
            return [.adopted(stream: stream, viewers: found)] + offers + idle(now)
        case .playing:
            // Reconciles what changed while there was no connection.
            let there = Set(present.map(\.id))
            var actions: [Action] = there.subtracting(viewers.keys).sorted().map { .send(.close(viewer: $0)) }
            for (id, viewer) in viewers.sorted(by: { $0.key < $1.key })
            where (viewer.offer == nil) != there.contains(id) {
                // Its end, or its answer, was lost.
                actions += gone(id, "the connection to the worker was lost", now)
                if there.contains(id) { actions.append(.send(.close(viewer: id))) }
            }
            return actions + offers
        case .ended: return [.send(.terminate)]
        }
    }

    /// The offers that the worker has not received.
    private var offers: [Action] {
        viewers.values.sorted { $0.viewer.id < $1.viewer.id }.compactMap { viewer in
            viewer.offer.map { .send(.view(viewer.viewer, offer: $0.text)) }
        }
    }

    private mutating func gone(_ viewer: String, _ reason: String, _ now: Int64) -> [Action] {
        guard let gone = viewers.removeValue(forKey: viewer) else { return [] }
        let reason = Self.words(reason)
        let news: Action =
            gone.offer == nil ? .ended(viewer: viewer, reason: reason) : .refuse(viewer: viewer, reason: reason)
        return [news] + idle(now)
    }

    // MARK: - Ends

    private mutating func idle(_ now: Int64) -> [Action] {
        guard viewers.isEmpty, idleSince == nil else { return [] }
        idleSince = now
        return [.wake(after: Self.idleLimit)]
    }

    private mutating func tick(_ now: Int64) -> [Action] {
        var actions: [Action] = []
        for (id, viewer) in viewers.sorted(by: { $0.key < $1.key }) {
            guard let offer = viewer.offer, now >= offer.until else { continue }
            actions.append(.send(.close(viewer: id)))
            actions += gone(id, "the worker did not answer within 5 s", now)
        }
        if case .ended = state { return actions }
        if let idleSince, now >= idleSince.saturatingSum(Self.idleLimit.nanoseconds) {
            actions += terminate("it has no viewers", now)
        }
        return actions
    }

    private mutating func terminate(_ reason: String, _ now: Int64) -> [Action] {
        if case .ended = state { return [] }
        return [.send(.terminate)] + end(reason, now)
    }

    private mutating func end(_ reason: String, _ now: Int64) -> [Action] {
        if case .ended = state { return [] }
        let reason = Self.words(reason)
        state = .ended(until: now.saturatingSum(Self.endLimit.nanoseconds))
        idleSince = now
        let ends = viewers.keys.sorted().flatMap { gone($0, reason, now) }
        return ends + [.end(reason: reason), .wake(after: Self.endLimit)]
    }

    /// The worker's text is not trusted to be short.
    private static func words(_ reason: String) -> String { OneLine.of(reason).shortened(toBytes: 400) }
}
