import MixModel
import TextFormats

/// The known sessions of all apps: those that run, and the latest that have ended. Pure.
struct HMSBook: Sendable {
    private var sessions: [String: HMSSession] = [:]

    /// Largest number of sessions that have not ended. Further ones are refused.
    static let mostLive = 1000
    /// Largest number of ended sessions. The oldest one is forgotten first.
    static let mostOver = 2000

    /// - Parameters:
    ///   - found: The sessions of earlier runs.
    ///   - hasWebhooks: Whether webhooks can be delivered. If not, no session waits for that.
    init(_ found: [HMSSession] = [], hasWebhooks: Bool = true) {
        for var session in found {
            if !hasWebhooks { session.outbox = [] }
            put(session)
        }
    }

    subscript(id: String) -> HMSSession? { sessions[id] }

    var all: some Collection<HMSSession> { sessions.values }

    /// Whether there is room for another session.
    var hasRoom: Bool { sessions.values.count { !$0.status.isOver } < Self.mostLive }

    mutating func put(_ session: HMSSession) { sessions[session.id] = session }

    mutating func remove(_ id: String) { sessions[id] = nil }

    /// Returns the ids of sessions that are to be forgotten.
    func surplus() -> [String] {
        guard sessions.count > Self.mostOver else { return [] }
        let over = sessions.values.filter { $0.status.isOver && $0.outbox.isEmpty }
        guard over.count > Self.mostOver else { return [] }
        return over.sorted(by: Self.isNewer).dropFirst(Self.mostOver).map(\.id)
    }

    /// Returns the sessions of a room that hold resources of it or are to be ended.
    func present(in room: RoomID) -> [HMSSession] {
        sessions.values.filter { $0.room == room && ($0.status.isLive || $0.holdsRoom) }.sorted(by: Self.isNewer)
    }

    /// Sessions that have not ended, or whose webhooks wait.
    var active: [HMSSession] { sessions.values.filter { !$0.status.isOver || !$0.outbox.isEmpty } }

    /// The filter of a list request.
    struct Filter: Hashable, Sendable {
        var kind: HMSSession.Kind?
        var room: String?
        var session: String?
        var status: HMSSession.Status?

        func takes(_ session: HMSSession) -> Bool {
            if let kind, kind != session.kind { return false }
            if let status, status != session.status { return false }
            if let room, !session.room.name.hasSameUTF8(as: room) { return false }
            return self.session.map { session.session.hasSameUTF8(as: $0) } ?? true
        }
    }

    /// Returns the sessions of an app, newest first.
    func list(_ app: AppID, _ filter: Filter) -> [HMSSession] {
        sessions.values.filter { $0.app == app && filter.takes($0) }.sorted(by: Self.isNewer)
    }

    private static func isNewer(_ left: HMSSession, _ right: HMSSession) -> Bool {
        (left.createdAt, left.id) > (right.createdAt, right.id)
    }
}
