import MixModel
import Synchronization
import TextFormats

/// A store in memory, for tests and trials. Its content is lost with the process.
public final class MemoryTaskStore: TaskStore {
    struct State {
        var rooms: [RoomID: Versioned<Room>] = [:]
        var tasks: [TaskID: Versioned<TaskMachine>] = [:]
        /// Events with the time at which they were stored, oldest first.
        var events: [(event: RoomEvent, at: Double)] = []
        var known: Set<[UTF8Key]> = []
        var timeline: [TaskID: [StampedEntry]] = [:]
        var switches: [TaskID: [SwitchRecord]] = [:]
        /// Time of deletion, in seconds since 1970, of each deleted task whose history still exists.
        var removedTasks: [TaskID: Double] = [:]
        /// The versions of each layout, oldest first.
        var layoutVersions: [String: [NewLayoutVersion]] = [:]
        var layoutEvents: [String: [LayoutEvent]] = [:]
        var channels = MemoryChannels()
        var leases = MemoryLeases()
        var subscriptions: [SubscriptionID: Versioned<Subscription>] = [:]
        var outbox: MemoryOutbox
        var isClosed = false
        /// Time of the last access, in seconds since 1970.
        var lastTime = -Double.infinity
    }
    private let state: Mutex<State>
    private let clock: StoreClock
    private let retention: Retention

    public init(clock: StoreClock = .system, retention: Retention = Retention()) {
        self.clock = clock
        self.retention = retention
        state = Mutex(State(outbox: MemoryOutbox(limit: retention.waitingMessages)))
    }

    public func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        try access { state, time throws(StoreError) in
            for requirement in change.require where !state.leases.holds(requirement) {
                throw .fenced("task \(requirement.task)")
            }
            if let event = change.event, state.known.contains(State.key(event)) { return .duplicate }
            try Self.check(change.room, id: \.id, in: state.rooms)
            for task in change.tasks { try Self.check(task.write, id: \.id, in: state.tasks) }
            try Self.check(change.subscription, id: \.id, in: state.subscriptions)
            if let version = change.layoutVersion?.version {
                guard version.number > state.layoutVersions[version.layout]?.last?.version.number ?? 0 else {
                    throw .conflict(document: "layout \(version.layout)")
                }
            }
            state.store(change, at: time)
            return .committed
        }
    }

    private static func check<Document, ID: Identifier>(
        _ write: StoreChange.Write<Document>?, id: KeyPath<Document, ID>, in documents: [ID: Versioned<Document>]
    ) throws(StoreError) {
        let (key, expected): (ID, Int)
        switch write {
        case nil: return
        case .put(let document, let version): (key, expected) = (document[keyPath: id], version)
        case .delete(let text, let version): (key, expected) = (ID(text), version)
        }
        guard documents[key]?.version ?? 0 == expected else { throw .conflict(document: key.rawValue) }
    }

    public func check() async throws(StoreError) { try access { _, _ in } }

    @discardableResult public func removeExpired() async throws(StoreError) -> Int {
        try access { [retention] state, time in state.removeExpired(retention, at: time) }
    }

    public func close() async { state.withLock { $0.isClosed = true } }

    func access<Value: Sendable>(
        _ body: (inout sending State, _ time: Double) throws(StoreError) -> sending Value
    ) throws(StoreError) -> Value {
        let time = clock.now()
        return try state.withLock { state throws(StoreError) in
            guard !state.isClosed else { throw .closed }
            if time < state.lastTime - ClockSteps.tolerance {
                state.outbox.clockWasSetBack(by: state.lastTime - time, to: time)
                state.leases.clockWasSetBack(by: state.lastTime - time, to: time)
            }
            state.lastTime = time
            return try body(&state, time)
        }
    }
}

// MARK: - Reading

extension MemoryTaskStore {
    public func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? { try access { s, _ in s.rooms[id] } }
    public func rooms() async throws(StoreError) -> [Versioned<Room>] {
        try access { state, _ in state.rooms.values.sorted { $0.document.id < $1.document.id } }
    }
    public func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>? {
        try access { state, _ in state.tasks[id] }
    }
    public func tasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try access { state, _ in state.tasks.values.sorted { $0.document.id < $1.document.id } }
    }
    public func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry] {
        try access { state, _ in Array((state.timeline[task] ?? []).reversed().prefix(limit)) }
    }
    public func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord] {
        try access { state, _ in Array((state.switches[task] ?? []).reversed().prefix(limit)) }
    }
    public func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent] {
        try access { state, _ in Array(state.events.lazy.map(\.event).filter { $0.room == room }.prefix(limit)) }
    }
    public func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion] {
        try access { state, _ in
            state.layoutVersions.values.compactMap { $0.last?.version }.sorted { $0.layout < $1.layout }
        }
    }
    public func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion] {
        try access { state, _ in
            Array((state.layoutVersions[layout] ?? []).reversed().prefix(limit).map(\.version))
        }
    }
    public func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]? {
        try access { state, _ in state.layoutVersions[layout]?.first { $0.version.number == version }?.content }
    }
    public func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent] {
        try access { state, _ in Array((state.layoutEvents[layout] ?? []).reversed().prefix(limit)) }
    }
}

// MARK: - Queries

extension MemoryTaskStore {
    public func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await tasks().filter { $0.document.room == room }
    }
    public func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await tasks().filter(\.document.isActive)
    }
    public func rooms(
        of life: RoomLife, after number: Int64, limit: Int
    ) async throws(StoreError) -> [NumberedRoom] {
        let numbered = try await rooms().enumerated().map { NumberedRoom(number: Int64($0 + 1), room: $1.document) }
        return Array(numbered.filter { $0.number > number && $0.room.life == life }.prefix(limit))
    }
    public func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>] {
        Array(try await rooms().drop { room in id.map { room.document.id <= $0 } ?? false }.prefix(limit))
    }
    public func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID] {
        let rooms = Set(try await tasks().map(\.document.room)).sorted()
        return Array(rooms.drop { room in id.map { room <= $0 } ?? false }.prefix(limit))
    }
    public func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID] {
        Dictionary(try await tasks().map { ($0.document.id, $0.document.room) }) { first, _ in first }
    }
    public func counts() async throws(StoreError) -> (rooms: Int, tasks: Int) {
        try access { state, _ in (state.rooms.count, state.tasks.count) }
    }
    public func usage() async throws(StoreError) -> [AppID: StoredUsage] {
        try await rooms().reduce(into: [:]) { usage, room in
            usage[room.document.id.app, default: StoredUsage(rooms: 0, bytes: 0)].rooms += 1
            usage[room.document.id.app]?.bytes += room.document.weight
        }
    }
    public func rooms(naming layout: String, of app: AppID?, limit: Int) async throws(StoreError) -> [RoomID] {
        let naming = try await rooms().map(\.document).filter { $0.settings.layout == layout }.map(\.id)
        return Array(naming.filter { app == nil || $0.app == app }.prefix(limit))
    }
}

// MARK: - Leases and outbox

extension MemoryTaskStore {
    public func register(
        _ name: String, at site: String?, for duration: Duration
    ) async throws(StoreError) -> NodeID {
        try access { state, time throws(StoreError) in
            try state.leases.register(name, at: site, time: time, until: time + duration.seconds)
        }
    }
    public func nodes() async throws(StoreError) -> [Node] { try access { state, _ in state.leases.nodes.map(\.node) } }
    public func claim(
        _ tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try access { state, time throws(StoreError) in
            _ = try state.leases.renew(node, at: time, until: time + duration.seconds)
            return state.leases.claim(tasks, by: node, at: time)
        }
    }
    public func claimAvailable(
        by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try access { state, time throws(StoreError) in
            _ = try state.leases.renew(node, at: time, until: time + duration.seconds)
            let free = state.tasks.keys.filter { state.leases.isFree($0, at: time) }.sorted()
            return state.leases.claim(Array(free.prefix(limit)), by: node, at: time)
        }
    }
    public func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal {
        try access { state, time throws(StoreError) in
            try state.leases.renew(node, at: time, until: time + duration.seconds)
        }
    }
    public func release(_ lease: Lease) async throws(StoreError) {
        try access { state, _ in state.leases.release(lease) }
    }
    public func leases(of node: NodeID) async throws(StoreError) -> [Lease] {
        try access { state, _ in state.leases.leases(of: node) }
    }
    public func owned(by node: NodeID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        try access { state, _ in state.leases.leases(of: node).compactMap { state.tasks[$0.task] } }
    }
    public func expel(_ node: NodeID) async throws(StoreError) {
        try access { state, _ in state.leases.expel(node) }
    }
    public func takeMessages(
        of subscription: SubscriptionID, limit: Int, lease: Duration
    ) async throws(StoreError) -> OutboxTake {
        try access { state, time in
            state.outbox.take(of: subscription, limit, at: time, until: time + lease.seconds)
        }
    }
    public func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, attempt: DeliveryAttempt?
    ) async throws(StoreError) {
        let isSettled = try access { state, time in state.outbox.settle(item, outcome, attempt, at: time) }
        guard isSettled else { throw .fenced("message \(item.message.id)") }
    }
    public func waitingSubscriptions() async throws(StoreError) -> [SubscriptionID] {
        try access { state, _ in
            let waiting = state.outbox.entries.lazy.map(\.delivery).filter { $0.state == .waiting }
            return Set(waiting.map(\.message.subscription)).sorted()
        }
    }
    public func sendAgain(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Bool {
        try access { state, time in state.outbox.sendAgain(message, of: subscription, at: time) }
    }
    public func sendDeadLettersAgain(of subscription: SubscriptionID, limit: Int) async throws(StoreError) -> Int {
        try access { state, time in state.outbox.sendDeadLettersAgain(of: subscription, limit: limit, at: time) }
    }
}

// MARK: - Subscriptions and deliveries

extension MemoryTaskStore {
    public func subscriptions() async throws(StoreError) -> [Versioned<Subscription>] {
        try access { state, _ in state.subscriptions.values.sorted { $0.document.id < $1.document.id } }
    }
    public func deliveries(
        of subscription: SubscriptionID, state wanted: DeliveryState?, lane: String?, before: Int64?, limit: Int
    ) async throws(StoreError) -> [Delivery] {
        let all = try access { state, _ in state.outbox.entries.map(\.delivery) }
        let found = all.reversed().filter { delivery in
            delivery.message.subscription == subscription && wanted ?? delivery.state == delivery.state
                && lane.map(delivery.message.lane.hasSameUTF8) ?? true
                && before.map { delivery.number < $0 } ?? true
        }
        return Array(found.prefix(limit))
    }
    public func delivery(
        _ message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> Delivery? {
        try access { state, _ in
            state.outbox.entries.first {
                $0.delivery.message.id.hasSameUTF8(as: message) && $0.delivery.message.subscription == subscription
            }?.delivery
        }
    }
    public func attempts(
        of message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> [DeliveryAttempt] {
        try access { state, _ in
            state.outbox.log.filter { $0.message.hasSameUTF8(as: message) && $0.subscription == subscription }.map(
                \.attempt)
        }
    }
    public func attempts(
        of subscriptions: [SubscriptionID], in time: ClosedRange<Double>, offset: Int, limit: Int
    ) async throws(StoreError) -> [LoggedAttempt] {
        let log = try access { state, _ in state.outbox.log }
        let found = log.reversed().filter { subscriptions.contains($0.subscription) && time.contains($0.attempt.at) }
        return Array(found.dropFirst(offset).prefix(limit))
    }
    public func deliveryCounts(of subscription: SubscriptionID) async throws(StoreError) -> DeliveryCounts {
        try access { state, _ in
            let own = state.outbox.entries.map(\.delivery).filter { $0.message.subscription == subscription }
            return DeliveryCounts(
                waiting: own.count { $0.state == .waiting }, dead: own.count { $0.state == .dead })
        }
    }
    public func waitingMessages() async throws(StoreError) -> Int {
        try access { state, _ in state.outbox.entries.count { $0.delivery.state == .waiting } }
    }
}
