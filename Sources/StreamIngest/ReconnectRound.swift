/// The publishers that are asked to reconnect, a few at a time: each of them is a new publisher about which the service
/// has to decide. Pure: connections are numbers.
struct ReconnectRound: Sendable {
    /// Number of publishers that are asked at once.
    static let step = 8
    /// Time in ns between two steps.
    static let interval: Int64 = 100_000_000

    /// Publishers that have not been asked yet.
    private var waiting: [Int] = []
    private var asked: Set<Int> = []

    /// Whether `next` returns further publishers.
    var isUnderWay: Bool { !waiting.isEmpty }
    /// Number of publishers of the round that are still connected.
    var count: Int { waiting.count + asked.count }

    /// Begins a round with these connections, in place of any other.
    mutating func begin(_ connections: [Int]) {
        waiting = connections.sorted()
        asked = []
    }

    /// Returns the publishers to ask now.
    mutating func next() -> [Int] {
        let some = Array(waiting.prefix(Self.step))
        waiting.removeFirst(some.count)
        asked.formUnion(some)
        return some
    }

    /// Records that a connection has ended.
    ///
    /// - Returns: Whether it was one of the round.
    mutating func left(_ connection: Int) -> Bool {
        let before = count
        asked.remove(connection)
        waiting.removeAll { $0 == connection }
        return count < before
    }
}
