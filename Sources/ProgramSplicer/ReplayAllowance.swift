import EncodedMedia

/// The bytes that may wait for a mixer because they were sent at once: groups of pictures with which it starts to
/// decode.
///
/// Eight participants with groups of 8 s exceed the limit that otherwise applies to a working mixer. The allowance
/// lasts for the longest time that a mixer needs to read them.
package struct ReplayAllowance: Sendable {
    /// Time after which a mixer that has not read a replay counts as hung.
    package static let patience = MediaTime.seconds(10)

    private var replays: [(bytes: Int, at: MediaTime)] = []

    package init() {}

    /// Records a replay of one source.
    package mutating func add(_ bytes: Int, at now: MediaTime) {
        replays.removeAll { now - $0.at > Self.patience }
        replays.append((bytes, now))
    }

    /// Returns the bytes that may wait in addition to the ordinary limit.
    package func bytes(at now: MediaTime) -> Int {
        replays.reduce(0) { now - $1.at <= Self.patience ? $0.saturatingSum($1.bytes) : $0 }
    }
}
