import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// The store as one run of the service may use it.
///
/// It holds the leases of the run's tasks and adds the lease's fence to every write of a task. If another run or
/// another machine takes a task over, the store refuses this run's later writes to the task.
package final class NodeStore: ForwardingTaskStore, Service {
    package let base: any TaskStore
    private let node: NodeID
    private let logger: Logger
    private let fences = Mutex<[TaskID: Fence]>([:])

    /// Time for which leases are valid without renewal. On one machine no other node takes them, because every start
    /// expels the earlier runs.
    static let lease: Duration = .seconds(30)
    static let renewalInterval: Duration = .seconds(10)
    /// Maximum number of tasks claimed in one transaction.
    private static let claimSize = 1000

    private init(_ store: any TaskStore, node: NodeID, logger: Logger) {
        base = store
        self.node = node
        self.logger = logger
    }

    /// Registers this run and takes every stored task.
    ///
    /// - Parameters:
    ///   - name: Name of the data directory's owner. The caller has locked the directory, so earlier runs have ended and
    ///     their leases are freed at once.
    ///   - site: Text that the directory's lives since one start of the machine share (`LeaseStore.register`).
    /// - Throws: `StoreError`, such as `copied` if a copy of the directory is at work.
    package static func join(
        _ store: any TaskStore, name: String, site: String? = nil, logger: Logger
    ) async throws(StoreError) -> NodeStore {
        let id = try await store.register(name, at: site, for: lease)
        for earlier in try await store.nodes() where earlier.name == name && earlier.id != id {
            try await store.expel(earlier.id)
        }
        let node = NodeStore(store, node: id, logger: logger)
        try await node.claimStored()
        return node
    }

    private func claimStored() async throws(StoreError) {
        while true {
            let leases = try await base.claimAvailable(by: node, limit: Self.claimSize, for: Self.lease)
            take(leases)
            if leases.count < Self.claimSize { return }
        }
    }

    private func take(_ leases: [Lease]) {
        fences.withLock { fences in for lease in leases { fences[lease.task] = lease.fence } }
    }

    /// Renews the leases until the service shuts down. They remain with a node that has ended until its successor
    /// expels it.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.renewalInterval)) != nil { await self.renew() }
        }
    }

    private func renew() async {
        do throws(StoreError) {
            guard try await base.renew(node, for: Self.lease) == .lapsed else { return }
            let held = try await base.leases(of: node)
            let lost = fences.withLock { fences in
                let lost = Set(fences.keys).subtracting(held.map(\.task))
                for task in lost { fences[task] = nil }
                return lost
            }
            logger.warning("leases had expired", metadata: ["lost": "\(lost.count)", "node": "\(node)"])
        } catch {
            logger.error("cannot renew leases: \(error)", metadata: ["node": "\(node)"])
        }
    }

    // MARK: Writing

    package func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        // Most events concern rooms without a task.
        guard change.tasks.contains(where: { $0.write != nil }) else { return try await base.commit(change) }
        let tasks = change.tasks.filter { $0.write != nil }.map(\.id)
        let known = fences.withLock { fences in tasks.map { ($0, fences[$0]) } }
        let unclaimed = known.filter { $0.1 == nil }.map(\.0)
        var guarded = change
        for case (let task, let fence?) in known { guarded.require.append(.init(task: task, fence: fence)) }
        do {
            let result: CommitResult
            if unclaimed.isEmpty {
                result = try await base.commit(guarded)
            } else {
                let leases: [Lease]
                (result, leases) = try await base.commit(guarded, claiming: unclaimed, by: node, for: Self.lease)
                take(leases)
            }
            forgetDeleted(change)
            return result
        } catch {
            if case .fenced = error { fences.withLock { fences in for task in tasks { fences[task] = nil } } }
            throw error
        }
    }

    private func forgetDeleted(_ change: StoreChange) {
        for case .delete(let id, _)? in change.tasks.map(\.write) { fences.withLock { $0[TaskID(id)] = nil } }
    }
}
