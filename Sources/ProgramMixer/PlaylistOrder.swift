import EncodedMedia
import MixModel

/// Decides which item of a playlist is opened next. Pure.
struct PlaylistOrder: Sendable {
    enum Turn: Hashable, Sendable {
        case item(Int)
        /// Every item has failed; the list restarts at this time.
        case pause(until: MediaTime)
        /// The list has ended.
        case end
    }

    /// Time after which a list without a playable item is tried again.
    static let pause = MediaTime.seconds(30)

    private let playable: [Int]
    private let loops: Bool
    /// Position in `playable`.
    private var next: Int
    /// Items that have failed since the last one that began.
    private var failures = 0
    private var pauseUntil: MediaTime?

    init(_ playlist: MixerPlaylist) {
        let playable = playlist.plan.items.indices.filter { !playlist.skipped.contains($0) }
        self.playable = playable
        loops = playlist.plan.loops
        next = playable.firstIndex { $0 >= playlist.first } ?? (playlist.plan.loops ? 0 : playable.count)
    }

    /// Returns the next turn; an item in it counts as opened.
    mutating func take(now: MediaTime) -> Turn {
        guard !playable.isEmpty else { return .end }
        if let pauseUntil {
            guard now >= pauseUntil else { return .pause(until: pauseUntil) }
            self.pauseUntil = nil
            failures = 0
            next = 0
        }
        if failures >= playable.count {
            pauseUntil = now + Self.pause
            return .pause(until: now + Self.pause)
        }
        if next >= playable.count {
            // A list without a playable item has not ended.
            guard loops || failures > 0 && failures >= playable.count else { return .end }
            next = 0
        }
        defer { next += 1 }
        return .item(playable[next])
    }

    /// Records that an opened item has begun to play.
    mutating func began() { failures = 0 }

    /// Records that an opened item cannot be played.
    mutating func failed() { failures += 1 }
}
