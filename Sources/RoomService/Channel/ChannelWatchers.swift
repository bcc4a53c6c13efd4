import RoomChannel

/// The other nodes that mirror a channel, with their numbers of viewers and their pending questions for news.
///
/// While there are any, all notices are kept in a log. All times are in ns of CLOCK_MONOTONIC.
struct ChannelWatchers {
    private struct Waiting {
        var place: ChannelPlace
        /// Time at which the question is answered with "no news".
        var until: Int64
        var continuation: CheckedContinuation<ChannelBulletin?, Never>
    }
    private struct Watcher {
        var viewers = 0
        /// Time after which the node is forgotten, unless it asks again.
        var until: Int64
        var waiting: Waiting?
    }

    private var nodes: [String: Watcher] = [:]
    private var log: ChannelLog?

    /// Maximum number of nodes that mirror a channel.
    static let most = 64
    /// Maximum number of viewers counted for one node.
    static let mostViewers = 1_000_000
    /// Time for which a node is remembered after its last question, in ns.
    static let lifetime: Int64 = 30_000_000_000
    /// Time for which a question waits for news, in ns.
    static let patience: Int64 = 10_000_000_000

    var isEmpty: Bool { nodes.isEmpty }
    /// Total number of viewers at these nodes.
    var viewers: Int { nodes.values.reduce(0) { $0 + $1.viewers } }

    /// Records a node and its number of viewers.
    ///
    /// - Returns: False if there are too many nodes.
    mutating func note(_ node: String, viewers: Int, at now: Int64) -> Bool {
        guard nodes[node] != nil || nodes.count < Self.most else { return false }
        if log == nil { log = ChannelLog(run: .random(in: 1..<(1 << 53))) }
        nodes[node, default: Watcher(until: now)].viewers = min(max(viewers, 0), Self.mostViewers)
        nodes[node]?.until = now + Self.lifetime
        return true
    }

    /// Appends a notice to the log.
    mutating func append(_ notice: ChannelNotice) { log?.append(notice) }

    /// Returns the news after a place; `nil` if there are none.
    func bulletin(after place: ChannelPlace?, _ snapshot: @autoclosure () -> ChannelSnapshot) -> ChannelBulletin? {
        log?.bulletin(after: place, snapshot: snapshot())
    }

    /// Suspends a node's question until there is news after a place. A previous question of that node is answered with
    /// `nil`.
    mutating func wait(
        _ node: String, after place: ChannelPlace, at now: Int64,
        _ continuation: CheckedContinuation<ChannelBulletin?, Never>
    ) {
        nodes[node]?.waiting?.continuation.resume(returning: nil)
        guard nodes[node] != nil else { return continuation.resume(returning: nil) }
        nodes[node]?.waiting = Waiting(place: place, until: now + Self.patience, continuation: continuation)
    }

    /// Answers the waiting nodes that have news.
    mutating func serve(_ snapshot: @autoclosure () -> ChannelSnapshot) {
        for (node, watcher) in nodes {
            guard let waiting = watcher.waiting,
                let bulletin = log?.bulletin(after: waiting.place, snapshot: snapshot())
            else { continue }
            nodes[node]?.waiting = nil
            waiting.continuation.resume(returning: bulletin)
        }
    }

    /// Answers questions that have waited long enough with "no news".
    mutating func passed(_ now: Int64) {
        for (node, watcher) in nodes {
            guard let waiting = watcher.waiting, waiting.until <= now else { continue }
            nodes[node]?.waiting = nil
            waiting.continuation.resume(returning: ChannelBulletin(nothingAfter: waiting.place))
        }
    }

    /// Forgets nodes that have not asked for a long time. Without nodes, the log is dropped.
    ///
    /// - Returns: Whether a node was forgotten.
    mutating func expire(at now: Int64) -> Bool {
        let before = nodes.count
        nodes = nodes.filter { $0.value.until > now || $0.value.waiting != nil }
        if nodes.isEmpty { log = nil }
        return nodes.count < before
    }

    /// Answers all waiting nodes with `nil`, because the channel moves elsewhere or ends.
    mutating func dismiss() {
        for (node, watcher) in nodes {
            nodes[node]?.waiting = nil
            watcher.waiting?.continuation.resume(returning: nil)
        }
    }
}
