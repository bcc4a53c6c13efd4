import RoomChannel

/// The other nodes that mirror a channel: how many viewers they have, and which of them wait for something new.
///
/// While there are any, what everybody is told is kept in a log. All times are in ns of CLOCK_MONOTONIC.
struct ChannelWatchers {
    private struct Waiting {
        var place: ChannelPlace
        /// Time at which it is answered that nothing is new.
        var until: Int64
        var continuation: CheckedContinuation<ChannelBulletin?, Never>
    }
    private struct Watcher {
        var viewers = 0
        /// Time from which it counts no more, unless it asks again.
        var until: Int64
        var waiting: Waiting?
    }

    private var nodes: [String: Watcher] = [:]
    private var log: ChannelLog?

    /// Most nodes that mirror a channel.
    static let most = 64
    /// Most viewers of one node.
    static let mostViewers = 1_000_000
    /// Time for which a node counts that does not ask.
    static let lifetime: Int64 = 30_000_000_000
    /// Time for which a question waits for something new.
    static let patience: Int64 = 10_000_000_000

    var isEmpty: Bool { nodes.isEmpty }
    /// The viewers at all of these nodes.
    var viewers: Int { nodes.values.reduce(0) { $0 + $1.viewers } }

    /// Takes note of a node and its viewers.
    ///
    /// - Returns: False if there are too many nodes.
    mutating func note(_ node: String, viewers: Int, at now: Int64) -> Bool {
        guard nodes[node] != nil || nodes.count < Self.most else { return false }
        if log == nil { log = ChannelLog(run: .random(in: 1..<(1 << 53))) }
        nodes[node, default: Watcher(until: now)].viewers = min(max(viewers, 0), Self.mostViewers)
        nodes[node]?.until = now + Self.lifetime
        return true
    }

    /// Takes note of what everybody is told.
    mutating func append(_ notice: ChannelNotice) { log?.append(notice) }

    /// Returns what comes after a place; `nil` if nothing does.
    func bulletin(after place: ChannelPlace?, _ snapshot: @autoclosure () -> ChannelSnapshot) -> ChannelBulletin? {
        log?.bulletin(after: place, snapshot: snapshot())
    }

    /// Has a node wait until something comes after a place. Whatever it has waited for before is answered with `nil`.
    mutating func wait(
        _ node: String, after place: ChannelPlace, at now: Int64,
        _ continuation: CheckedContinuation<ChannelBulletin?, Never>
    ) {
        nodes[node]?.waiting?.continuation.resume(returning: nil)
        guard nodes[node] != nil else { return continuation.resume(returning: nil) }
        nodes[node]?.waiting = Waiting(place: place, until: now + Self.patience, continuation: continuation)
    }

    /// Tells those who wait what is new.
    mutating func serve(_ snapshot: @autoclosure () -> ChannelSnapshot) {
        for (node, watcher) in nodes {
            guard let waiting = watcher.waiting,
                let bulletin = log?.bulletin(after: waiting.place, snapshot: snapshot())
            else { continue }
            nodes[node]?.waiting = nil
            waiting.continuation.resume(returning: bulletin)
        }
    }

    /// Tells those who have waited for long enough that nothing is new.
    mutating func passed(_ now: Int64) {
        for (node, watcher) in nodes {
            guard let waiting = watcher.waiting, waiting.until <= now else { continue }
            nodes[node]?.waiting = nil
            waiting.continuation.resume(returning: ChannelBulletin(nothingAfter: waiting.place))
        }
    }

    /// Forgets nodes that have not asked for long. Without nodes nothing is kept.
    ///
    /// - Returns: Whether there was one.
    mutating func expire(at now: Int64) -> Bool {
        let before = nodes.count
        nodes = nodes.filter { $0.value.until > now || $0.value.waiting != nil }
        if nodes.isEmpty { log = nil }
        return nodes.count < before
    }

    /// Sends away those who wait: the channel goes on elsewhere, or ends.
    mutating func dismiss() {
        for (node, watcher) in nodes {
            nodes[node]?.waiting = nil
            watcher.waiting?.continuation.resume(returning: nil)
        }
    }
}
