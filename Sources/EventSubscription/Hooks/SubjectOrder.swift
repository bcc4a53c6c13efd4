import MixModel
import TextFormats

/// The newest sequence numbers of events about participants, for servers that number them.
///
/// Rooms compare numbers only among events about one stream or one participant. A server numbers all events about a
/// user together: a participant who has come back must not be removed by the end of an earlier stay that arrives late.
///
/// Holds a bounded number of participants.
struct SubjectOrder: Sendable {
    private struct Entry: Sendable {
        var sequence: UInt64
        var touched: UInt64
    }
    private var entries: [UTF8Key: Entry] = [:]
    private var counter: UInt64 = 0

    /// Maximum number of participants. Beyond it, the least recently used quarter is forgotten.
    static let mostSubjects = 16_384

    var count: Int { entries.count }

    /// Returns whether no newer event about the participant is known. Several events may share a number.
    mutating func admits(_ event: HookEvent, of hook: String) -> Bool {
        guard let sequence = event.sequence, let user = event.kind.user else { return true }
        let key = UTF8Key("\(hook)\u{0}\(event.room.rawValue)\u{0}\(user.rawValue)")
        if let known = entries[key], known.sequence > sequence { return false }
        counter += 1
        entries[key] = Entry(sequence: sequence, touched: counter)
        if entries.count > Self.mostSubjects {
            let ages = entries.values.map(\.touched).sorted()
            let oldest = ages[ages.count / 4]
            entries = entries.filter { $0.value.touched > oldest }
        }
        return true
    }
}

extension RoomEvent.Kind {
    /// The participant that the event concerns; `nil` if it concerns a room.
    fileprivate var user: UserID? {
        switch self {
        case .streamPublished(let publication): publication.user
        case .streamUpdated(let update): update.user
        case .streamUnpublished(let user, _, _), .participantJoined(let user, _, _), .participantLeft(let user): user
        case .roomOpened, .roomClosed, .roomSnapshot: nil
        }
    }
}
