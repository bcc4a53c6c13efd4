import Foundation
import GRDB
import MixModel

extension SQLiteTaskStore {
    public func register(
        _ name: String, at site: String?, for duration: Duration
    ) async throws(StoreError) -> NodeID {
        try await write { db, time in try SQLiteLeases.register(name, until: time + duration.seconds, db) }
    }

    public func nodes() async throws(StoreError) -> [Node] { try await read(SQLiteLeases.nodes) }

    public func claim(
        _ tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await write { db, time in
            _ = try SQLiteLeases.renew(node, at: time, until: time + duration.seconds, db)
            return try SQLiteLeases.claim(tasks, by: node, at: time, db)
        }
    }

    public func claimAvailable(
        by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await write { db, time in
            _ = try SQLiteLeases.renew(node, at: time, until: time + duration.seconds, db)
            let tasks = try SQLiteLeases.available(limit: limit, at: time, db)
            return try SQLiteLeases.claim(tasks, by: node, at: time, db)
        }
    }

    public func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal {
        try await write { db, time in try SQLiteLeases.renew(node, at: time, until: time + duration.seconds, db) }
    }

    public func release(_ lease: Lease) async throws(StoreError) {
        try await write { db, _ in try SQLiteLeases.release(lease, db) }
    }

    public func leases(of node: NodeID) async throws(StoreError) -> [Lease] {
        try await read { db in try SQLiteLeases.leases(of: node, db) }
    }

    public func owned(by node: NodeID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        guard let number = SQLiteLeases.number(of: node) else { return [] }
        return try await documents(
            "tasks WHERE id IN (SELECT task FROM leases WHERE owner = ?) ORDER BY id", [number])
    }

    public func expel(_ node: NodeID) async throws(StoreError) {
        try await write { db, _ in try SQLiteLeases.expel(node, db) }
    }
}
