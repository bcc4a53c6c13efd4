import MixModel

/// The work on streams of an ingest: in each room one after another, so that a publisher's end follows its beginning, and
/// different rooms at once, so that a room whose store is slow delays no other. Pure.
struct IngestLanes: Sendable {
    enum Work: Hashable, Sendable {
        /// - Parameter process: The ingest that asked.
        case begin(IngestStreamKey, IngestRequest, process: Int32)
        case live(IngestStreamKey, IngestStream)
        case interrupted(IngestStreamKey, session: String)
        case end(IngestStreamKey, session: String)
        /// Looks whether the room has the stream from another ingest by now.
        case look(IngestStreamKey)

        var room: RoomID {
            switch self {
            case .begin(let key, _, _), .live(let key, _), .interrupted(let key, _), .end(let key, _), .look(let key):
                key.names.room
            }
        }

        fileprivate var isBegin: Bool { if case .begin = self { true } else { false } }
    }

    enum Outcome: Hashable, Sendable {
        /// The work waits, and `next(in:)` has to be called until it returns nothing.
        case first
        /// The work waits behind other work of its room.
        case waits
        /// Too much work waits; it was not taken.
        case full
    }

    /// Most work that waits in a room before further publishers are turned away.
    static let mostInRoom = 64
    /// Most work that waits in all.
    static let most = 4096

    /// Rooms in which work is done, with the work that waits.
    private var lanes: [RoomID: [Work]] = [:]
    private(set) var count = 0

    /// Whether no work is done or waits in the room.
    func isIdle(_ room: RoomID) -> Bool { lanes[room] == nil }

    mutating func add(_ work: Work) -> Outcome {
        let room = work.room
        guard count < Self.most, !work.isBegin || lanes[room, default: []].count < Self.mostInRoom else { return .full }
        count += 1
        let isFirst = lanes[room] == nil
        lanes[room, default: []].append(work)
        return isFirst ? .first : .waits
    }

    /// Takes the room's next work; `nil` ends the work of the room.
    mutating func next(in room: RoomID) -> Work? {
        guard let work = lanes[room]?.first else {
            lanes[room] = nil
            return nil
        }
        lanes[room]?.removeFirst()
        count -= 1
        return work
    }
}
