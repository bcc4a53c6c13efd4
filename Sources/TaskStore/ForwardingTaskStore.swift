import MixModel

/// A store in front of another one. It forwards every call that it does not handle itself.
public protocol ForwardingTaskStore: TaskStore {
    var base: any TaskStore { get }
}

extension ForwardingTaskStore {
    public func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult { try await base.commit(change) }
    public func room(_ id: RoomID) async throws(StoreError) -> Versioned<Room>? { try await base.room(id) }
    public func rooms() async throws(StoreError) -> [Versioned<Room>] { try await base.rooms() }
    public func task(_ id: TaskID) async throws(StoreError) -> Versioned<TaskMachine>? { try await base.task(id) }
    public func tasks() async throws(StoreError) -> [Versioned<TaskMachine>] { try await base.tasks() }
    public func timeline(of task: TaskID, limit: Int) async throws(StoreError) -> [StampedEntry] {
        try await base.timeline(of: task, limit: limit)
    }
    public func switches(of task: TaskID, limit: Int) async throws(StoreError) -> [SwitchRecord] {
        try await base.switches(of: task, limit: limit)
    }
    public func events(of room: RoomID, limit: Int) async throws(StoreError) -> [RoomEvent] {
        try await base.events(of: room, limit: limit)
    }
    public func newestLayoutVersions() async throws(StoreError) -> [LayoutVersion] {
        try await base.newestLayoutVersions()
    }
    public func layoutVersions(of layout: String, limit: Int) async throws(StoreError) -> [LayoutVersion] {
        try await base.layoutVersions(of: layout, limit: limit)
    }
    public func layoutContent(of layout: String, version: Int) async throws(StoreError) -> [UInt8]? {
        try await base.layoutContent(of: layout, version: version)
    }
    public func layoutEvents(of layout: String, limit: Int) async throws(StoreError) -> [LayoutEvent] {
        try await base.layoutEvents(of: layout, limit: limit)
    }
    public func commit(_ change: ChannelChange) async throws(StoreError) { try await base.commit(change) }
    public func channel(of room: RoomID, limit: Int) async throws(StoreError) -> StoredChannel {
        try await base.channel(of: room, limit: limit)
    }
    public func check() async throws(StoreError) { try await base.check() }
    @discardableResult public func removeExpired() async throws(StoreError) -> Int { try await base.removeExpired() }
    public func close() async { await base.close() }
}

extension ForwardingTaskStore {
    public func register(
        _ name: String, at site: String?, for duration: Duration
    ) async throws(StoreError) -> NodeID {
        try await base.register(name, at: site, for: duration)
    }
    public func nodes() async throws(StoreError) -> [Node] { try await base.nodes() }
    public func claim(
        _ tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await base.claim(tasks, by: node, for: duration)
    }
    public func claimAvailable(
        by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await base.claimAvailable(by: node, limit: limit, for: duration)
    }
    public func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal {
        try await base.renew(node, for: duration)
    }
    public func release(_ lease: Lease) async throws(StoreError) { try await base.release(lease) }
    public func leases(of node: NodeID) async throws(StoreError) -> [Lease] { try await base.leases(of: node) }
    public func owned(by node: NodeID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await base.owned(by: node)
    }
    public func expel(_ node: NodeID) async throws(StoreError) { try await base.expel(node) }
}

extension ForwardingTaskStore {
    public func announce(_ node: NodeID, _ profile: NodeProfile) async throws(StoreError) {
        try await base.announce(node, profile)
    }
    public func roster() async throws(StoreError) -> [NodeEntry] { try await base.roster() }
    public func time() async throws(StoreError) -> Double? { try await base.time() }
    public func hints() -> AsyncStream<StoreHint> { base.hints() }
    public func holder(of room: RoomID) async throws(StoreError) -> NodeID? { try await base.holder(of: room) }
    public func claimRooms(
        of lives: [RoomLife], by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await base.claimRooms(of: lives, by: node, limit: limit, for: duration)
    }
    public func dismiss(_ leases: [Lease], areWanted: Bool) async throws(StoreError) {
        try await base.dismiss(leases, areWanted: areWanted)
    }
    public func forgetLeases(limit: Int) async throws(StoreError) -> Int { try await base.forgetLeases(limit: limit) }
    public func pass(_ lease: Lease, to receiver: NodeID) async throws(StoreError) -> PassOutcome {
        try await base.pass(lease, to: receiver)
    }
    public func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease] {
        try await base.inherit(from: earlier, by: node)
    }
}

extension ForwardingTaskStore {
    public func takeMessages(
        of subscription: SubscriptionID, limit: Int, lease: Duration
    ) async throws(StoreError) -> OutboxTake {
        try await base.takeMessages(of: subscription, limit: limit, lease: lease)
    }
    public func settle(
        _ item: OutboxItem, _ outcome: DeliveryOutcome, attempt: DeliveryAttempt?
    ) async throws(StoreError) {
        try await base.settle(item, outcome, attempt: attempt)
    }
    public func waitingSubscriptions() async throws(StoreError) -> [SubscriptionID] {
        try await base.waitingSubscriptions()
    }
    public func sendAgain(_ message: String, of subscription: SubscriptionID) async throws(StoreError) -> Bool {
        try await base.sendAgain(message, of: subscription)
    }
    public func sendDeadLettersAgain(of subscription: SubscriptionID, limit: Int) async throws(StoreError) -> Int {
        try await base.sendDeadLettersAgain(of: subscription, limit: limit)
    }
    public func subscriptions() async throws(StoreError) -> [Versioned<Subscription>] {
        try await base.subscriptions()
    }
    public func deliveries(
        of subscription: SubscriptionID, state: DeliveryState?, lane: String?, before: Int64?, limit: Int
    ) async throws(StoreError) -> [Delivery] {
        try await base.deliveries(of: subscription, state: state, lane: lane, before: before, limit: limit)
    }
    public func delivery(
        _ message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> Delivery? {
        try await base.delivery(message, of: subscription)
    }
    public func attempts(
        of message: String, of subscription: SubscriptionID
    ) async throws(StoreError) -> [DeliveryAttempt] {
        try await base.attempts(of: message, of: subscription)
    }
    public func attempts(
        of subscriptions: [SubscriptionID], in time: ClosedRange<Double>, offset: Int, limit: Int
    ) async throws(StoreError) -> [LoggedAttempt] {
        try await base.attempts(of: subscriptions, in: time, offset: offset, limit: limit)
    }
    public func deliveryCounts(of subscription: SubscriptionID) async throws(StoreError) -> DeliveryCounts {
        try await base.deliveryCounts(of: subscription)
    }
    public func waitingMessages() async throws(StoreError) -> Int { try await base.waitingMessages() }
}

extension ForwardingTaskStore {
    public func tasks(of room: RoomID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        try await base.tasks(of: room)
    }
    public func activeTasks() async throws(StoreError) -> [Versioned<TaskMachine>] { try await base.activeTasks() }
    public func rooms(
        of life: RoomLife, after number: Int64, limit: Int
    ) async throws(StoreError) -> [NumberedRoom] {
        try await base.rooms(of: life, after: number, limit: limit)
    }
    public func rooms(after id: RoomID?, limit: Int) async throws(StoreError) -> [Versioned<Room>] {
        try await base.rooms(after: id, limit: limit)
    }
    public func roomsWithTasks(after id: RoomID?, limit: Int) async throws(StoreError) -> [RoomID] {
        try await base.roomsWithTasks(after: id, limit: limit)
    }
    public func roomsOfTasks() async throws(StoreError) -> [TaskID: RoomID] { try await base.roomsOfTasks() }
    public func counts() async throws(StoreError) -> (rooms: Int, tasks: Int) { try await base.counts() }
    public func usage() async throws(StoreError) -> [AppID: StoredUsage] { try await base.usage() }
    public func rooms(naming layout: String, of app: AppID?, limit: Int) async throws(StoreError) -> [RoomID] {
        try await base.rooms(naming: layout, of: app, limit: limit)
    }
}
