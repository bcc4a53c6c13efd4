import MixModel
import Synchronization

/// A store that lasts as long as the process: for tests and for trying things out.
public final class MemoryTaskStore: TaskStore {
    private struct State {
        var rooms: [RoomID: Versioned<Room>] = [:]
        var tasks: [TaskID: Versioned<TaskMachine>] = [:]
        var events: [RoomEvent] = []
        var known: Set<[String]> = []
        var timeline: [TaskID: [StampedEntry]] = [:]
        var switches: [TaskID: [SwitchRecord]] = [:]
        /// Oldest first.
        var layoutVersions: [String: [NewLayoutVersion]] = [:]
        var layoutEvents: [String: [LayoutEvent]] = [:]
        var isClosed = false
    }
    private let state = Mutex(State())

    public init() {}

    public func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        try access { state throws(StoreError) in
            var next = state
            if let event = change.event {
                guard next.known.insert([event.source, event.id]).inserted else { return .duplicate }
                next.events.append(event)
            }
            try Self.write(change.room, id: \.id, to: &next.rooms)
            for task in change.tasks {
                try Self.write(task.write, id: \.id, to: &next.tasks)
                next.timeline[task.id, default: []] += task.timeline
                next.switches[task.id, default: []] += task.switches
            }
            if let new = change.layoutVersion { try Self.append(new, to: &next.layoutVersions) }
            if let event = change.layoutEvent { next.layoutEvents[event.layout, default: []].append(event) }
            state = next
            return .committed
        }
    }

    private static func append(
        _ new: NewLayoutVersion, to layouts: inout [String: [NewLayoutVersion]]
    ) throws(StoreError) {
        let layout = new.version.layout
        var versions = layouts[layout] ?? []
        guard new.version.number > versions.last?.version.number ?? 0 else {
            throw .conflict(document: "layout \(layout)")
        }
        versions.append(new)
        layouts[layout] = versions.suffix(Retention.layoutVersions)
    }

    private static func write<Document, ID: Identifier>(
        _ write: StoreChange.Write<Document>?, id: KeyPath<Document, ID>,
        to documents: inout [ID: Versioned<Document>]
    ) throws(StoreError) {
        switch write {
        case nil: return
        case .put(let document, let expected):
            let key = document[keyPath: id]
            guard documents[key]?.version ?? 0 == expected else { throw .conflict(document: key.rawValue) }
            documents[key] = Versioned(document, version: expected + 1)
        case .delete(let key, let expected):
            guard documents[ID(key)]?.version ?? 0 == expected else { throw .conflict(document: key) }
            documents[ID(key)] = nil
        }
    }

    public func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? { try access { $0.rooms[id] } }
    public func rooms() async throws(StoreError) -> [Versioned<Room>] {
        try access { $0.rooms.values.sorted { $0.document.id < $1.document.id } }
    }
    public func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>? { try access { $0.tasks[id] } }
    public func tasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try access { $0.tasks.values.sorted { $0.document.id < $1.document.id } }
    }
    public func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await tasks().filter { $0.document.room == room }
    }
    public func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await tasks().filter(\.document.isActive)
    }
    public func liveRooms() async throws(StoreError) -> [RoomID] {
        try await rooms().filter(\.document.isLive).map(\.document.id)
    }
    public func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>] {
        Array(try await rooms().drop { room in id.map { room.document.id <= $0 } ?? false }.prefix(limit))
    }
    public func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID] {
        let rooms = Set(try await tasks().map(\.document.room)).sorted()
        return Array(rooms.drop { room in id.map { room <= $0 } ?? false }.prefix(limit))
    }
    public func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID] {
        Dictionary(uniqueKeysWithValues: try await tasks().map { ($0.document.id, $0.document.room) })
    }
    public func counts() async throws(StoreError) -> (rooms: Int, tasks: Int) {
        try access { ($0.rooms.count, $0.tasks.count) }
    }
    public func roomsNamingLayouts() async throws(StoreError) -> [String: [RoomID]] {
        try await rooms().reduce(into: [:]) { rooms, room in
            if let layout = room.document.settings.layout { rooms[layout, default: []].append(room.document.id) }
        }
    }
    public func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry] {
        try access { Array(($0.timeline[task] ?? []).reversed().prefix(limit)) }
    }
    public func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord] {
        try access { Array(($0.switches[task] ?? []).reversed().prefix(limit)) }
    }
    public func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent] {
        try access { Array($0.events.filter { $0.room == room }.prefix(limit)) }
    }
    public func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion] {
        try access { $0.layoutVersions.values.compactMap { $0.last?.version }.sorted { $0.layout < $1.layout } }
    }
    public func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion] {
        try access { Array(($0.layoutVersions[layout] ?? []).reversed().prefix(limit).map(\.version)) }
    }
    public func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]? {
        try access { $0.layoutVersions[layout]?.first { $0.version.number == version }?.content }
    }
    public func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent] {
        try access { Array(($0.layoutEvents[layout] ?? []).reversed().prefix(limit)) }
    }
    public func close() async { state.withLock { $0.isClosed = true } }

    private func access<Value: Sendable>(
        _ body: (inout sending State) throws(StoreError) -> sending Value
    ) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in
            guard !state.isClosed else { throw .engine("the store is closed") }
            return try body(&state)
        }
    }
}
