import MixModel

/// The queues of an ingest's work on streams. Work of one room is done in order, so that a publisher's end follows its
/// beginning; different rooms work in parallel, so that a room with a slow store delays no other. Pure.
struct IngestLanes: Sendable {
    enum Work: Hashable, Sendable {
        /// - Parameters:
        ///   - process: Process identifier of the ingest that asked.
        ///   - hasWaited: Whether the publisher has waited for the one that holds the stream (`TakeoverHolds`).
        case begin(IngestStreamKey, IngestRequest, process: Int32, hasWaited: Bool = false)
        case live(IngestStreamKey, IngestStream)
        case interrupted(IngestStreamKey, session: String)
        /// - Parameter present: The publisher that still has the stream, if the one that has left never replaced it.
        case end(IngestStreamKey, session: String, present: IngestStream? = nil)
        /// Looks whether the room has the stream from another ingest by now.
        case look(IngestStreamKey)

        var room: RoomID {
            switch self {
            case .begin(let key, _, _, _), .live(let key, _), .interrupted(let key, _), .end(let key, _, _),
                .look(let key):
                key.names.room
            }
        }

        fileprivate var isBegin: Bool { if case .begin = self { true } else { false } }
        fileprivate var isEnd: Bool { if case .end = self { true } else { false } }
    }

    enum Outcome: Hashable, Sendable {
        /// The work was queued first: `next(in:)` must be called until it returns `nil`.
        case first
        /// The work waits behind other work of the room.
        case waits
        /// Too much work is queued; this work was not taken.
        case full
    }

    /// Maximum work queued in a room before further publishers are turned away.
    static let mostInRoom = 64
    /// Maximum work queued in all rooms before only ends are taken.
    static let most = 4096
    /// Maximum work queued in all rooms, ends included. An ingest reports the end of a stream once: if it were dropped,
    /// the stream would stay in its room. The ends of all streams of an ingest, at most 1024, find room.
    static let mostWithEnds = 2 * most

    /// Rooms with work in progress, and their queued work.
    private var lanes: [RoomID: [Work]] = [:]
    private(set) var count = 0

    /// Returns whether the room has no work, neither in progress nor queued.
    func isIdle(_ room: RoomID) -> Bool { lanes[room] == nil }

    mutating func add(_ work: Work) -> Outcome {
        let room = work.room
        guard count < (work.isEnd ? Self.mostWithEnds : Self.most),
            !work.isBegin || lanes[room, default: []].count < Self.mostInRoom
        else { return .full }
        count += 1
        let isFirst = lanes[room] == nil
        lanes[room, default: []].append(work)
        return isFirst ? .first : .waits
    }

    /// Removes and returns the room's next work; `nil` ends the work of the room.
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
