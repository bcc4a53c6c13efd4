import EncodedMedia
import MixModel

/// The state machine of a worker that plays a stream to viewers: the stream, and each viewer from its offer to its end.
/// Pure; times are in ns of a monotonic clock.
struct WhepMachine: Sendable {
    struct Limits: Hashable, Sendable {
        /// Time limit from the answer to a connection.
        var connect: Int64 = 20_000_000_000
        /// Delays before the stream is reconnected; the last one is repeated.
        var pauses: [Int64] = [100_000_000, 250_000_000, 500_000_000, 1_000_000_000]
        /// Shortest time between two requests for a keyframe, for all viewers together.
        var keyframePause: Int64 = 350_000_000
        /// Time without data after which the stream counts as absent, even if its connection exists.
        var stall: Int64 = 2_000_000_000
        var mostViewers = PlayCommand.mostViewers
        /// Longest note and identifier of a viewer, in bytes.
        var longestText = 256
    }

    enum Action: Hashable, Sendable {
        case open(PlaySource)
        /// Connects to the stream: `feedBegan` or `feedEnded` follows.
        case dial
        /// Handles an offer: `answered` or `ended` follows.
        case take(viewer: String, offer: String)
        /// Closes the connection to a viewer.
        case drop(viewer: String)
        case report(PlayReport)
        /// Requests a keyframe of the stream.
        case requestKeyframe
        /// Ends the process.
        case finish
    }

    private enum Step: Hashable, Sendable {
        case answering
        case connecting(until: Int64)
        case live(since: Int64)
    }

    private struct Viewer: Hashable, Sendable {
        var viewer: PlayViewer
        /// Order of arrival among the viewers.
        var number: Int
        var step = Step.answering
    }

    private let limits: Limits
    private var source: PlaySource?
    private var viewers: [String: Viewer] = [:]
    private var number = 0
    private(set) var isOver = false
    /// Number of viewers' requests for keyframes.
    private(set) var keyframeRequests = 0
    /// Time since which the stream has been absent; `nil` while it is present.
    private var awaySince: Int64?
    /// Arrival of the last tag of the stream.
    private var lastCame: Int64 = 0
    private var lastFault: String?
    private var attempts = 0
    private var dialAt: Int64?
    private var wantsKeyframe = false
    private var askedAt: Int64?

    init(limits: Limits = Limits()) { self.limits = limits }

    /// The answer to a service that connects, without the process: the stream and the viewers, in the order of their
    /// arrival.
    var stream: String? { source?.stream }
    var all: [PlayViewer] { viewers.values.sorted { $0.number < $1.number }.map(\.viewer) }
    var connected: [String] {
        viewers.values.filter { if case .live = $0.step { true } else { false } }.map(\.viewer.id)
    }
    var hasViewers: Bool { !viewers.isEmpty }

    /// Returns the network for a viewer. Whether it contains private addresses is decided for each viewer: the stream's
    /// worker may have been started by a service with another configuration.
    func network(of id: String) -> WebRTCNetwork {
        var network = source?.network ?? WebRTCNetwork()
        if let isTold = viewers[id]?.viewer.namesPrivateAddresses { network.namesPrivateAddresses = isTold }
        return network
    }

    mutating func play(_ source: PlaySource, now: Int64) -> [Action] {
        // A service that has taken over the worker repeats the command.
        guard self.source == nil, !isOver else { return [] }
        self.source = source
        awaySince = now
        return [.open(source), .dial]
    }

    mutating func view(_ viewer: PlayViewer, offer: String) -> [Action] {
        func refused(_ reason: String) -> [Action] { [.report(.refused(viewer: viewer.id, reason: reason))] }
        guard !isOver else { return refused("The stream has ended") }
        guard source != nil else { return refused("The worker does not know yet what it plays") }
        guard viewer.id.utf8.count <= limits.longestText, viewer.note.utf8.count <= limits.longestText else {
            return refused("The viewer's identifier or note is longer than \(limits.longestText) bytes")
        }
        guard viewers[viewer.id] == nil else { return refused("There is a viewer with this identifier already") }
        guard viewers.count < limits.mostViewers else {
            return refused("\(limits.mostViewers) viewers watch the stream, which is the limit")
        }
        number += 1
        viewers[viewer.id] = Viewer(viewer: viewer, number: number)
        return [.take(viewer: viewer.id, offer: offer)]
    }

    mutating func answered(_ id: String, _ answer: String, now: Int64) -> [Action] {
        guard viewers[id]?.step == .answering else { return [] }
        viewers[id]?.step = .connecting(until: now.saturatingSum(limits.connect))
        return [.report(.answered(viewer: id, answer: answer))]
    }

    mutating func connected(_ id: String, now: Int64) -> [Action] {
        guard case .connecting = viewers[id]?.step else { return [] }
        viewers[id]?.step = .live(since: now)
        return [.report(.connected(viewer: id))]
    }

    /// Ends a viewer: on the service's request, because it has failed, or because it has left.
    mutating func ended(_ id: String, _ reason: String) -> [Action] {
        guard let viewer = viewers.removeValue(forKey: id) else { return [] }
        let report: PlayReport =
            viewer.step == .answering ? .refused(viewer: id, reason: reason) : .ended(viewer: id, reason: reason)
        return [.drop(viewer: id), .report(report)]
    }

    mutating func close(_ id: String) -> [Action] {
        let actions = ended(id, "the service ended it")
        return actions.isEmpty ? [.report(.ended(viewer: id, reason: "it is not there"))] : actions
    }

    /// Records a tag of the stream.
    mutating func streamCame(now: Int64) {
        (awaySince, dialAt, lastCame) = (nil, nil, now)
        attempts = 0
    }

    mutating func feedEnded(_ words: String, now: Int64) -> [Action] {
        guard !isOver, source != nil else { return [] }
        awaySince = awaySince ?? now
        lastFault = words
        dialAt = now.saturatingSum(limits.pauses[min(attempts, limits.pauses.count - 1)])
        attempts += 1
        return []
    }

    mutating func keyframeRequested() {
        keyframeRequests += 1
        wantsKeyframe = true
    }

    /// Records that a viewer needs a keyframe without having requested one.
    mutating func needsKeyframe() { wantsKeyframe = true }

    mutating func tookKeyframe() { wantsKeyframe = false }

    /// Acts on the passing of time. Call it about every 50 ms, and when a keyframe is needed.
    ///
    /// - Parameter heard: Arrival of the last packet of each viewer, if any has arrived.
    mutating func tick(_ heard: [String: Int64], now: Int64) -> [Action] {
        guard let source, !isOver else { return [] }
        if awaySince == nil, now.saturatingDifference(lastCame) >= limits.stall {
            (awaySince, lastFault) = (lastCame, "it sends nothing")
        }
        if let awaySince, now.saturatingDifference(awaySince) >= nanoseconds(source.patience) {
            return end(lastFault.map { "the stream is away: \($0)" } ?? "the stream is away")
        }
        var actions: [Action] = []
        for viewer in viewers.values.sorted(by: { $0.number < $1.number }) {
            let id = viewer.viewer.id
            switch viewer.step {
            case .answering: break
            case .connecting(let until):
                guard now >= until else { break }
                actions += ended(id, "the client did not connect within \(limits.connect / 1_000_000_000) s")
            case .live(let since):
                let silence = now.saturatingDifference(max(since, heard[id] ?? since))
                guard silence >= nanoseconds(source.silence) else { break }
                actions += ended(id, "nothing was heard of the client for \(silence / 1_000_000_000) s")
            }
        }
        if let time = dialAt, now >= time {
            dialAt = nil
            actions.append(.dial)
        }
        if wantsKeyframe, awaySince == nil,
            askedAt.map({ now.saturatingDifference($0) >= limits.keyframePause }) ?? true
        {
            wantsKeyframe = false
            askedAt = now
            actions.append(.requestKeyframe)
        }
        return actions
    }

    /// Ends all viewers and the process.
    ///
    /// - Parameter reason: The reason why the worker fails; `nil` if it was asked to end.
    mutating func end(_ reason: String?) -> [Action] {
        guard !isOver else { return [] }
        var actions: [Action] = []
        for viewer in all { actions += ended(viewer.id, reason ?? "the service ended it") }
        isOver = true
        if let reason { actions.append(.report(.failed(reason: reason))) }
        return actions + [.finish]
    }

    private func nanoseconds(_ seconds: Double) -> Int64 { Int64(saturating: min(max(seconds, 0.5), 3600) * 1e9) }
}
