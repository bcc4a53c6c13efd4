import EncodedMedia

/// Decides when the room of each stream is looked at, because another node's ingest may have the stream by now. The node
/// that takes a stream over says so, but its message may be lost. Pure.
struct StreamLooks: Sendable {
    /// Time between two looks for one stream, in ns.
    static let interval: Int64 = 15_000_000_000
    /// Time between two rounds, in ns, and most looks of one.
    static let pause: Int64 = 1_000_000_000
    static let mostAtOnce = 20

    private var last: [IngestStreamKey: Int64] = [:]
    private var nextRound: Int64 = .min

    /// Returns the streams to look for now, those first that have waited longest. A stream that has just come is looked for at once.
    mutating func due(_ streams: Set<IngestStreamKey>, now: Int64) -> [IngestStreamKey] {
        guard now >= nextRound else { return [] }
        nextRound = now.saturatingSum(Self.pause)
        last = last.filter { streams.contains($0.key) }
        let ages = streams.map { (key: $0, last: last[$0] ?? .min) }
        let due = ages.filter { now.saturatingDifference($0.last) >= Self.interval }
            .sorted { ($0.last, $0.key.text) < ($1.last, $1.key.text) }
            .prefix(Self.mostAtOnce).map(\.key)
        for key in due { last[key] = now }
        return due
    }
}
