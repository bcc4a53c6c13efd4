import EncodedMedia

/// The bytes that may wait for a mixer because they were sent at once: groups of pictures from which it begins to decode.
///
/// Eight people with groups of 8 s have more of them than a mixer that works may have pending otherwise. They count for
/// as long as a mixer needs at most to read them.
package struct ReplayAllowance: Sendable {
    /// Time after which a mixer that has not read a replay is hung.
    package static let patience = MediaTime.seconds(10)

    private var replays: [(bytes: Int, at: MediaTime)] = []

    package init() {}

    /// Notes a replay of one source.
    package mutating func add(_ bytes: Int, at now: MediaTime) {
        replays.removeAll { now - $0.at > Self.patience }
        replays.append((bytes, now))
    }

    /// Returns the bytes that may wait on top of the ordinary limit.
    package func bytes(at now: MediaTime) -> Int {
        replays.reduce(0) { now - $1.at <= Self.patience ? $0.saturatingSum($1.bytes) : $0 }
    }
}
