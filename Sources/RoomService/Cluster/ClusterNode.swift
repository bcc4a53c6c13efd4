import EncodedMedia
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// This service as one of several nodes on one store. It takes rooms, keeps their leases, and adds the lease's fence to
/// what rooms store. Thread-safe.
///
/// A room that another node took over is given up here at once: its relays are killed and it is dropped from memory.
package final class ClusterNode: ForwardingTaskStore, Service {
    package let base: any TaskStore
    package let settings: ClusterSettings
    /// Secret that other nodes present when they pass requests to this one.
    package let key: String
    /// Name of the data directory's owner, by which the node recognizes its earlier lives.
    let identity: String
    /// Site of the data directory, by which the store tells a copy of it from its next life; `nil` = no copy can exist.
    let site: String?
    let keepsRelays: Bool
    let logger: Logger
    let machine: Mutex<OwnershipMachine>
    /// The nodes as last read.
    let roster = Mutex<[NodeEntry]>([])
    /// Places of the other nodes' ingests, as last read.
    let ingests = Mutex<[IngestPlace]>([])
    let directory = HolderCache()
    /// Time until which an expelled node leaves rooms without a node to others, in ns of CLOCK_BOOTTIME.
    let rest = Mutex<Int64>(0)
    /// The life that was found to be expelled, while its successor is being registered.
    let expelled = Mutex<NodeID?>(nil)
    /// Lost rooms, on their way to the registry.
    let losses: AsyncStream<Set<RoomID>>
    let loss: AsyncStream<Set<RoomID>>.Continuation
    /// Rooms that are being prepared here, and the stream that brings them to `run`.
    let arrivals = Mutex<[RoomID: RoomArrival]>([:])
    let arrivingRooms: AsyncStream<RoomArrival>
    let arriving: AsyncStream<RoomArrival>.Continuation
    /// Requested drains.
    let drainRequests: AsyncStream<DrainRequest>
    let drainRequest: AsyncStream<DrainRequest>.Continuation
    /// Earliest time after which no further move begins, of all requests since the drain began; `nil` = no limit.
    let drainEnd = Mutex<ContinuousClock.Instant?>(nil)
    let load = Mutex<MachineLoad?>(nil)
    let health = Mutex<NodeHealth?>(nil)
    /// The reason why the node leaves rooms to others; `nil` = none.
    let trouble = Mutex<String?>(nil)
    let messenger = Mutex<(any MoveMessenger)?>(nil)
    let registry = Mutex<RoomRegistry?>(nil)
    let localStreams = Mutex<(any LocalStreams)?>(nil)
    let localPlayers = Mutex<(any LocalPlayers)?>(nil)
    let belongings = Mutex<(any RoomBelongings)?>(nil)
    let subscribers = Mutex<(subscriptions: SubscriptionRegistry, deliveries: DeliveryEngine)?>(nil)
    /// Makes the node's layouts look for changes by other nodes.
    let layoutLook = Mutex<(@Sendable () -> Void)?>(nil)
    let shutdown: ShutdownNotice

    private init(
        _ store: any TaskStore, _ settings: ClusterSettings, identity: String, site: String?, keepsRelays: Bool,
        machine: OwnershipMachine,
        key: String, shutdown: ShutdownNotice, logger: Logger
    ) {
        base = store
        self.settings = settings
        self.identity = identity
        self.site = site
        self.keepsRelays = keepsRelays
        self.key = key
        self.shutdown = shutdown
        self.logger = logger
        self.machine = Mutex(machine)
        (losses, loss) = AsyncStream.makeStream()
        (arrivingRooms, arriving) = AsyncStream.makeStream()
        (drainRequests, drainRequest) = AsyncStream.makeStream()
    }

    /// Registers this run, and takes over the rooms of an earlier life whose relays may still be on air.
    ///
    /// - Parameters:
    ///   - identity: Name of the data directory's owner. The caller has locked the directory, so that earlier lives have
    ///     ended.
    ///   - site: Text that the directory's lives since one start of the machine share (`LeaseStore.register`).
    ///   - patience: Time for which other nodes that have just registered may take to describe themselves.
    /// - Throws: `StartupError` if the cluster has another node of this name, or a service outside any cluster uses the
    ///   store; `StoreError.copied` if a copy of the directory is at work.
    package static func join(
        _ store: any TaskStore, _ settings: ClusterSettings, identity: String, site: String? = nil, keepsRelays: Bool,
        shutdown: ShutdownNotice, patience: Duration = .seconds(2), logger: Logger
    ) async throws -> ClusterNode {
        let found = try await introduced(store, to: identity, patience)
        for other in found where other.node.name != identity && other.isAtWork {
            guard let profile = other.profile else {
                throw StartupError(
                    "the service \(other.node.name) uses the store alone: give it a node.url, or stop it")
            }
            guard profile.name != settings.name else {
                throw StartupError(
                    "node.id: the node \(settings.name) at \(profile.url) is at work: choose another name, or run "
                        + "`mixorchestrator store expel \(settings.name)` if it is dead")
            }
        }
        let lease = settings.lease
        let asked = BootClock.now()
        let id = try await store.register(identity, at: site, for: lease)
        let key = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
        var machine = OwnershipMachine(node: id, lease: lease.nanoseconds, capacity: settings.capacity)
        do {
            for earlier in found where earlier.node.name == identity {
                machine.took(try await store.inherit(from: earlier.node.id, by: id), askedAt: asked)
            }
        } catch {
            // A copy whose leases had run out has renewed them in the meantime. It could not register beside this life. If
            // this life has inherited rooms, though, their relays may send until its lease ends.
            if case .copied = error, machine.holdings.isEmpty { try? await store.expel(id) }
            throw error
        }
        let node = ClusterNode(
            store, settings, identity: identity, site: site, keepsRelays: keepsRelays, machine: machine, key: key,
            shutdown: shutdown, logger: logger)
        try await node.announce()
        try await node.readRoster()
        logger.info(
            "node \(settings.name) of a cluster",
            metadata: ["url": "\(settings.url)", "rooms": "\(machine.holdings.count)"])
        return node
    }

    /// Returns the nodes, once all others at work have described themselves: nodes may start at the same time. A service
    /// that uses the store alone never does.
    private static func introduced(
        _ store: any TaskStore, to identity: String, _ patience: Duration
    ) async throws -> [NodeEntry] {
        let end = ContinuousClock.now + patience
        while true {
            let found = try await store.roster()
            let isComplete = found.allSatisfy { $0.node.name == identity || !$0.isAtWork || $0.profile != nil }
            if isComplete || ContinuousClock.now >= end { return found }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Sets the registry of the rooms that the node manages. Call before `run`.
    package func attach(_ registry: RoomRegistry) { self.registry.withLock { $0 = registry } }

    /// Sets the exchange through which the node reaches the others. Call before `run`.
    package func attach(_ exchange: NodeExchange) { messenger.withLock { $0 = exchange } }

    /// Sets the parts that must follow changes made by other nodes. Call before `run`.
    package func attach(_ subscriptions: SubscriptionRegistry, _ deliveries: DeliveryEngine) {
        subscribers.withLock { $0 = (subscriptions, deliveries) }
    }

    /// Sets the function that makes the node's layouts look for changes by other nodes. Call before `run`.
    package func attach(layouts look: @escaping @Sendable () -> Void) { layoutLook.withLock { $0 = look } }

    /// Clears the cache of rooms' nodes, because a room has moved.
    package func forgetHolders() { directory.forgetAll() }

    /// Identifier of this life of the node.
    package var id: NodeID { machine.withLock { $0.node } }

    /// Returns a room's deadline: the time until which its relays may send.
    package var relayDeadline: RelayDeadline { { room in self.machine.withLock { $0.deadline(of: room) } } }

    /// The other nodes, as last read.
    var others: [NodeEntry] {
        let own = machine.withLock { $0.node }
        return roster.withLock { $0 }.filter { $0.node.id != own }
    }

    func announce() async throws(StoreError) {
        try await base.announce(machine.withLock { $0.node }, profile)
    }

    func readRoster() async throws(StoreError) {
        let found = try await base.roster()
        roster.withLock { $0 = found }
        let own = id
        let places = IngestPlace.of(found.filter { $0.node.id != own }.compactMap(\.profile?.ingest))
        ingests.withLock { $0 = places }
    }

    // MARK: Writing

    package func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        guard let room = change.decidedBy else { return try await base.commit(change) }
        return try await asHolder(of: room) { lease throws(StoreError) in
            var guarded = change
            guarded.require.append(lease)
            return try await base.commit(guarded)
        }
    }

    package func commit(_ change: ChannelChange) async throws(StoreError) {
        try await asHolder(of: change.room) { lease throws(StoreError) in
            var guarded = change
            guarded.require.append(lease)
            try await base.commit(guarded)
        }
    }

    /// Writes with the lease of a room that this node has.
    ///
    /// - Throws: `StoreError.fenced` if another node has the room, and the errors of `body`.
    private func asHolder<Value: Sendable>(
        of room: RoomID, _ body: (StoreChange.Requirement) async throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        guard let fence = machine.withLock({ $0.holdings[room]?.fence }) else { throw .fenced("the room \(room)") }
        do {
            return try await body(StoreChange.Requirement(task: .lease(of: room), fence: fence))
        } catch {
            guard case .fenced = error else { throw error }
            if machine.withLock({ $0.fenced(room, fence) }) { loss.yield([room]) }
            throw .fenced("the room \(room)")
        }
    }
}

/// A cache of which nodes have which rooms. Thread-safe and bounded.
final class HolderCache: Sendable {
    private let known = Mutex<[RoomID: (node: NodeID?, at: Int64)]>([:])

    /// Maximum number of rooms that are remembered.
    static let limit = 4096
    /// Time for which an answer is valid, in ns.
    static let lifetime: Int64 = 1_000_000_000

    /// Returns the answer if it is less than a second old; `nil` otherwise.
    func holder(of room: RoomID, at now: Int64) -> NodeID?? {
        known.withLock { known in
            guard let answer = known[room], now - answer.at < Self.lifetime else { return nil }
            return .some(answer.node)
        }
    }

    func note(_ node: NodeID?, of room: RoomID, at now: Int64) {
        known.withLock { known in
            if known.count >= Self.limit { known = [:] }
            known[room] = (node, now)
        }
    }

    func forgetAll() { known.withLock { $0 = [:] } }

    func forget(_ room: RoomID) { known.withLock { $0[room] = nil } }

    var count: Int { known.withLock { $0.count } }
}
