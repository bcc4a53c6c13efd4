import MixModel

/// Limits timeline entries about refused, lost and replaced publishers, so that strangers who know a room's name cannot
/// flood its timelines. Pure.
struct PublisherNotes: Sendable {
    /// Time between two entries of a room, in ns.
    static let interval: Int64 = 10_000_000_000
    /// Time between two entries of a room with the same words, in ns.
    static let repetition: Int64 = 300_000_000_000
    /// Maximum number of rooms that are remembered. While all of them are recent, other rooms get no entry.
    static let most = 256

    /// Maximum number of entries that wait for other nodes. Further entries are left out.
    static let mostWaiting = 64

    /// An entry for a room that is not here.
    struct Waiting: Hashable, Sendable {
        var words: String
        var room: RoomID
    }

    private var last: [RoomID: (words: String, at: Int64)] = [:]

    /// Returns whether an entry may be added to a room now, and records it.
    ///
    /// - Parameter now: Time in ns of a monotonic clock.
    mutating func permits(_ words: String, in room: RoomID, now: Int64) -> Bool {
        if let known = last[room] {
            let limit = known.words.utf8.elementsEqual(words.utf8) ? Self.repetition : Self.interval
            guard now.saturatingDifference(known.at) >= limit else { return false }
        } else if last.count >= Self.most {
            last = last.filter { now.saturatingDifference($0.value.at) < Self.interval }
            guard last.count < Self.most else { return false }
        }
        last[room] = (words, now)
        return true
    }
}
