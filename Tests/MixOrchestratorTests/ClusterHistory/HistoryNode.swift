import EncodedMedia
import Foundation
import MixModel
import Synchronization
import TaskStore
import TestSupport

@testable import MixOrchestrator
@testable import RoomService

/// The store of a history's nodes.
struct HistoryPlace: Sendable {
    /// Opens the store for one life of a node.
    var open: @Sendable () async throws -> any TaskStore
    /// Fails the database over to its standby; `nil` means that the links are cut for a moment.
    var promote: (@Sendable () async throws -> Void)?
    /// Closes the stores that a life has opened.
    var close: @Sendable (any TaskStore) async -> Void
}

/// One node of a history, which is stopped and started many times. Thread-safe.
final class HistoryNode: Sendable {
    /// Name of the node, which a copy of its machine shares.
    let name: String
    /// Site of all lives of this machine. A copy has another one.
    let site: String
    private let directory: String
    private let place: HistoryPlace
    private let lease: Duration
    private let log = LogRecorder()

    /// The rooms that a life believes it has, at one moment.
    struct Possession: Sendable {
        let node: NodeID
        let rooms: [RoomID: OwnershipMachine.Holding]

        /// Returns the rooms whose leases last at a time, in ns of CLOCK_BOOTTIME, without those that are leaving.
        func lasting(at time: Int64) -> [RoomID: OwnershipMachine.Holding] {
            rooms.filter { $0.value.until > time && !$0.value.isLeaving }
        }
    }

    struct Life: Sendable {
        let store: any TaskStore
        let link: FaultyLink
        let cluster: ClusterNode
        let registry: RoomRegistry
        let relays: ScriptedRelays
        let task: Task<Void, any Error>
    }
    private struct State {
        var life: Life?
        var isFrozen = false
    }
    private let state = Mutex(State())

    init(_ name: String, at site: String, in directory: String, _ place: HistoryPlace, lease: Duration) throws {
        self.name = name
        self.site = site
        self.directory = directory + "/" + site
        self.place = place
        self.lease = lease
        try FileManager.default.createDirectory(
            atPath: self.directory + "/relays", withIntermediateDirectories: true)
    }

    /// The current life; `nil` while the node is stopped.
    var life: Life? { state.withLock { $0.life } }
    /// The handler of requests; `nil` while the node is stopped or frozen.
    var registry: RoomRegistry? { state.withLock { $0.isFrozen ? nil : $0.life?.registry } }
    /// What the current life has; `nil` while the node is stopped.
    var possession: Possession? {
        guard let life else { return nil }
        return life.cluster.machine.withLock { Possession(node: $0.node, rooms: $0.holdings) }
    }
    /// The end of the node's log.
    var lastMessages: String { log.text.split(separator: "\n").suffix(60).joined(separator: "\n") }

    /// Starts a life unless there is one. Retries until the store can be used.
    func start() async throws {
        while life == nil {
            do {
                try await begin()
            } catch {
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Tries once to start a life, unless there is one.
    ///
    /// - Returns: False if a copy of the machine is at work.
    /// - Throws: Any other reason, such as a store that cannot be reached.
    func attempt() async throws -> Bool {
        guard life == nil else { return true }
        do {
            try await begin()
            return true
        } catch {
            guard (error as? StoreError) == .copied(name) else { throw error }
            return false
        }
    }

    private func begin() async throws {
        let store = try await place.open()
        let link = await FaultyLink(store)
        do {
            let cluster = try await ClusterNode.join(
                link, ClusterSettings(name: name, url: "http://\(name)", lease: lease), identity: name,
                site: site, keepsRelays: false, shutdown: ShutdownNotice(), logger: log.logger)
            let relays = ScriptedRelays()
            let (begins, begin) = AsyncStream.makeStream(of: RoomRegistry.self)
            let task = Task { [log, directory] in
                defer { begin.finish() }
                try await withRegistry(
                    cluster, relays: relays, in: directory, hasOutputs: true, cluster: cluster, log: log
                ) { registry in
                    begin.yield(registry)
                    await link.life()
                }
            }
            for await registry in begins {
                state.withLock {
                    $0.life = Life(
                        store: store, link: link, cluster: cluster, registry: registry, relays: relays, task: task)
                }
                return
            }
            try await task.value
            throw StoreError.engine("the life ended at once")
        } catch {
            await place.close(store)
            throw error
        }
    }

    /// Kills the service and its relays.
    func kill() async {
        guard let life = takeLife() else { return }
        life.link.die()
        await finish(life)
    }

    /// Stops the service properly: its rooms move first.
    func stop() async {
        guard let life else { return }
        _ = try? await life.cluster.drain()
        guard let life = takeLife() else { return }
        await finish(life)
    }

    private func takeLife() -> Life? {
        state.withLock { state in
            state.isFrozen = false
            return state.life.take()
        }
    }

    private func finish(_ life: Life) async {
        life.relays.tearDown()
        life.link.end()
        _ = try? await life.task.value
        life.relays.tearDown()
        await place.close(life.store)
    }

    /// Freezes or thaws the process.
    func freeze(_ isFrozen: Bool) {
        let life = state.withLock { state in
            state.isFrozen = isFrozen && state.life != nil
            return state.life
        }
        life?.link.freeze(isFrozen)
    }

    /// The relays of a task that may send at this moment.
    func sending(_ task: TaskID) -> [ScriptedRelay] {
        let held = held(task)
        let now = BootClock.now()
        return held.filter { $0.until > now }.map(\.relay)
    }

    /// The running relays of a task that have a plan, and the `BootClock` times until which they may send.
    func held(_ task: TaskID) -> [(relay: ScriptedRelay, until: Int64)] {
        guard let life else { return [] }
        return life.relays.running.compactMap { relay in
            guard relay.task == task, relay.plan != nil else { return nil }
            let last = relay.commands.last { if case .hold = $0 { true } else { false } }
            if case .hold(let until) = last { return (relay, until) }
            return nil
        }
    }
}
