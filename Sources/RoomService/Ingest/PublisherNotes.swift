import MixModel

/// Decides what of publishers that are refused or lost is told in the timelines of their rooms, so that strangers, who know
/// a room's name, cannot fill them. Pure.
struct PublisherNotes: Sendable {
    /// Time between two entries of a room, in ns.
    static let interval: Int64 = 10_000_000_000
    /// Time between two entries of a room with the same words, in ns.
    static let repetition: Int64 = 300_000_000_000
    /// Most rooms that are remembered. Others get no entry while all of these are recent.
    static let most = 256

    /// Most entries that wait for other nodes. Others are left out.
    static let mostWaiting = 64

    /// An entry for a room that is not here.
    struct Waiting: Hashable, Sendable {
        var words: String
        var room: RoomID
    }

    private var last: [RoomID: (words: String, at: Int64)] = [:]

    /// Returns whether these words are told in a room now.
    ///
    /// - Parameter now: Time in ns of a monotonic clock.
    mutating func tells(_ words: String, in room: RoomID, now: Int64) -> Bool {
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
