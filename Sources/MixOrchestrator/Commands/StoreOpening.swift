import Foundation
import Logging
import PostgreSQLStore
import RoomService
import TaskStore

/// Opens the configured store.
enum StoreOpening {
    static func path(data: String) -> String { data + "/orchestrator.sqlite" }

    /// - Throws: `StoreError` or `StartupError`, with the remedy.
    static func open(
        _ configuration: OrchestratorConfiguration, _ metrics: Metrics, _ logger: Logger
    ) async throws -> any TaskStore {
        let store: any TaskStore
        if let target = configuration.store.target {
            store = try await open(target, configuration, metrics, logger)
        } else {
            let path = path(data: configuration.data)
            store = try SQLiteTaskStore(
                path: path, onCommit: observer(metrics), onUnreadable: reporter(metrics, logger) { $0.advice(path) })
        }
        #if DEBUG
            return try CrashingTaskStore.wrapping(store)
        #else
            return store
        #endif
    }

    private static func open(
        _ target: PostgreSQLTarget, _ configuration: OrchestratorConfiguration, _ metrics: Metrics, _ logger: Logger
    ) async throws -> PostgreSQLTaskStore {
        let membership = ClusterMembership(data: configuration.data)
        let store = try PostgreSQLTaskStore(
            target, cluster: membership.cluster, name: configuration.store.cluster, onCommit: observer(metrics),
            onUnreadable: reporter(metrics, logger) { $0.advice(target.place, inspection: "the extension amcheck") })
        do {
            let name = configuration.store.nodeName(data: configuration.data)
            // A service inherits the rooms of its data directory's earlier run. Only the run of another machine can be at
            // work if the directory was never used with this database.
            if membership.cluster == nil, try await store.nodesAtWork().contains(where: { $0.node.name == name }) {
                throw StartupError(
                    "\(target.place) is used by a service with the same machine name and data directory (\(name)), but this "
                        + "data directory was not used with it: name another database in store.url, give the machine "
                        + "another name, or wait until the other service's lease has ended")
            }
            if let site = configuration.store.site(data: configuration.data) {
                try await waitForEarlierRun(of: name, at: site, store, logger)
            }
            // Services share the rooms of a store only if they know each other's addresses.
            if configuration.node == nil,
                let other = try await store.nodesAtWork().map(\.node).first(where: { $0.name != name })
            {
                throw StartupError(
                    "\(target.place) is used by another service (\(other.name)): stop it, or set node.url on both so "
                        + "that they share the rooms. If it is dead, its lease ends within 30 s")
            }
            try membership.join(store.cluster)
        } catch {
            await store.close()
            throw error
        }
        logger.info("the store is \(target.place)", metadata: ["cluster": "\(store.cluster)"])
        return store
    }

    /// Time between two looks at the leases of an earlier run.
    private static let lookInterval: Duration = .milliseconds(500)

    /// Waits until no service of this name is at work at another site. Writes nothing.
    ///
    /// The earlier run of this data directory is at another site if its machine has started again since, or the directory's
    /// volume was moved to another machine: its relays may still send until its lease ends.
    ///
    /// - Throws: `StoreError.copied` if it renews its lease: then it is a service on a copy.
    private static func waitForEarlierRun(
        of name: String, at site: String, _ store: PostgreSQLTaskStore, _ logger: Logger
    ) async throws {
        var watch = LeaseWatch()
        while true {
            let elsewhere = try await store.nodesAtWork().filter { life in
                life.node.name == name && life.site.map { $0 != site } ?? false
            }
            guard !elsewhere.isEmpty else { return }
            switch watch.look(elsewhere) {
            case nil: logger.notice("waits until the lease of an earlier run has ended", metadata: ["node": "\(name)"])
            case true?: throw StoreError.copied(name)
            case false?: break
            }
            try await Task.sleep(for: lookInterval)
        }
    }

    private static func observer(_ metrics: Metrics) -> @Sendable (GroupCommit) -> Void {
        { group in
            metrics.observe(.storeGroup, group.changes)
            metrics.set(.storeQueue, Double(group.waiting))
        }
    }

    private static func reporter(
        _ metrics: Metrics, _ logger: Logger, _ advice: @escaping @Sendable (UnreadableRow) -> String
    ) -> @Sendable (UnreadableRow) -> Void {
        { row in
            metrics.count(.storeUnreadable, row.table)
            logger.error("\(advice(row))", metadata: ["table": "\(row.table)", "id": "\(row.id)"])
        }
    }
}

/// Tells services at work from those that have ended and whose leases last on: only the former renew them.
struct LeaseWatch {
    private var seen: [NodeID: Double]?

    /// Compares leases with those of the last look.
    ///
    /// - Returns: Whether a lease is new or was renewed; `nil` at the first look.
    mutating func look(_ nodes: [NodeAtWork]) -> Bool? {
        defer { seen = Dictionary(nodes.map { ($0.node.id, $0.until) }) { max($0, $1) } }
        guard let seen else { return nil }
        return nodes.contains { $0.until > seen[$0.node.id] ?? -.infinity }
    }
}

/// The cluster of a data directory: that of the first database that was used with it.
struct ClusterMembership {
    private let path: String

    init(data: String) { path = data + "/store-cluster" }

    /// Identity of the cluster; `nil` if no database has been used yet.
    var cluster: String? {
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        return String(decoding: data.prefix(128), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Records the identity, unless one is recorded.
    func join(_ cluster: String) throws(StartupError) {
        guard self.cluster == nil else { return }
        do {
            try Data("\(cluster)\n".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw StartupError("cannot write \(path): \(error.localizedDescription)")
        }
    }
}
