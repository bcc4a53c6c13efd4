import MixModel
import TextFormats

/// The sessions that are known, of all apps: those that run, and the latest that are over. Pure.
struct HMSBook: Sendable {
    private var sessions: [String: HMSSession] = [:]

    /// Most sessions that are not over. Further ones are refused.
    static let mostLive = 1000
    /// Most sessions that are over. The oldest one is forgotten first.
    static let mostOver = 2000

    subscript(id: String) -> HMSSession? { sessions[id] }

    var all: some Collection<HMSSession> { sessions.values }

    /// Whether another session fits in.
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

    /// Returns those of a room that hold something of it or are to be ended.
    func present(in room: RoomID) -> [HMSSession] {
        sessions.values.filter { $0.room == room && ($0.status.isLive || $0.holdsRoom) }.sorted(by: Self.isNewer)
    }

    /// Sessions whose course goes on, or whose webhooks wait.
    var active: [HMSSession] { sessions.values.filter { !$0.status.isOver || !$0.outbox.isEmpty } }

    /// What a list is asked for.
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
