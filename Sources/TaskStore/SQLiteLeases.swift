import Foundation
import GRDB
import MixModel

/// The SQL statements of `LeaseStore`. A node's leases are valid while `nodes.until` is in the future; expelling a node
/// deletes its row.
enum SQLiteLeases {
    /// Returns whether the task still belongs to that owner. Ownership does not end with time, only by a takeover, a release or
    /// an expulsion.
    static func holds(_ requirement: StoreChange.Requirement, _ db: Database) throws -> Bool {
        guard let number = number(of: requirement.fence.owner) else { return false }
        return try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM leases WHERE task = ? AND owner = ? AND epoch = ?"),
            arguments: [requirement.task.rawValue, number, requirement.fence.epoch]) != nil
    }

    static func register(_ name: String, until: Double, _ db: Database) throws -> NodeID {
        try db.cachedStatement(sql: "INSERT INTO nodes (name, until) VALUES (?, ?)").execute(arguments: [name, until])
        return id(name, db.lastInsertedRowID)
    }

    static func nodes(_ db: Database) throws -> [Node] {
        try Row.fetchAll(db, sql: "SELECT number, name FROM nodes ORDER BY number").map { row in
            let name: String = try row.value("name")
            return Node(id: id(name, try row.value("number")), name: name)
        }
    }

    /// Renews the leases of a node.
    ///
    /// - Returns: `kept` if none had expired.
    static func renew(_ node: NodeID, at time: Double, until: Double, _ db: Database) throws -> Renewal {
        guard let number = number(of: node),
            let before = try Double.fetchOne(
                db.cachedStatement(sql: "SELECT until FROM nodes WHERE number = ?"), arguments: [number])
        else { throw StoreError.expelled(node) }
        try db.cachedStatement(sql: "UPDATE nodes SET until = ? WHERE number = ?").execute(arguments: [until, number])
        return before > time ? .kept : .lapsed
    }

    static let isFree = "owner IS NULL OR owner NOT IN (SELECT number FROM nodes WHERE until > ?2)"

    static func claim(_ tasks: [TaskID], by node: NodeID, at time: Double, _ db: Database) throws -> [Lease] {
        guard let number = number(of: node) else { throw StoreError.expelled(node) }
        return try tasks.compactMap { task in
            try db.cachedStatement(
                sql: """
                    INSERT INTO leases (task, owner, epoch)
                    VALUES (?1, ?3, 1 + coalesce((SELECT epoch FROM leases WHERE task = '//'), 0))
                    ON CONFLICT DO UPDATE SET owner = ?3, epoch = epoch + 1 WHERE \(isFree)
                    """
            ).execute(arguments: [task.rawValue, time, number])
            let epoch = try Int64.fetchOne(
                db.cachedStatement(sql: "SELECT epoch FROM leases WHERE task = ? AND owner = ?"),
                arguments: [task.rawValue, number])
            return epoch.map { Lease(task: task, fence: Fence(owner: node, epoch: $0)) }
        }
    }

    /// Returns the stored tasks that `claim` would take.
    static func available(limit: Int, at time: Double, _ db: Database) throws -> [TaskID] {
        try String.fetchAll(
            db,
            sql: """
                SELECT id FROM tasks LEFT JOIN leases ON task = id WHERE \(isFree) ORDER BY id LIMIT ?1
                """, arguments: [limit, time]
        ).map { TaskID($0) }
    }

    static func release(_ lease: Lease, _ db: Database) throws {
        guard let number = number(of: lease.fence.owner) else { return }
        try db.cachedStatement(
            sql: "UPDATE leases SET owner = NULL WHERE task = ? AND owner = ? AND epoch = ?"
        ).execute(arguments: [lease.task.rawValue, number, lease.fence.epoch])
    }

    static func leases(of node: NodeID, _ db: Database) throws -> [Lease] {
        guard let number = number(of: node) else { return [] }
        return try Row.fetchAll(
            db, sql: "SELECT task, epoch FROM leases WHERE owner = ? ORDER BY task", arguments: [number]
        ).map { row in
            Lease(task: TaskID(try row.value("task")), fence: Fence(owner: node, epoch: try row.value("epoch")))
        }
    }

    static func expel(_ node: NodeID, _ db: Database) throws {
        guard let number = number(of: node) else { return }
        // Rooms are marked as orphaned: no node has the number 0.
        try db.execute(
            sql: "UPDATE leases SET owner = CASE WHEN task >= '//' AND task < '/0' THEN 0 END WHERE owner = ?",
            arguments: [number])
        try db.execute(sql: "DELETE FROM nodes WHERE number = ?", arguments: [number])
    }

    /// Deletes leases of rooms that do not exist, and keeps the highest of their epochs.
    static func forget(limit: Int, _ db: Database) throws -> Int {
        let gone = try Row.fetchAll(
            db,
            sql: """
                SELECT task, epoch FROM leases
                WHERE owner IS NULL AND task > '//' AND task < '/0'
                    AND NOT EXISTS (SELECT 1 FROM rooms WHERE id = substr(leases.task, 3))
                    AND NOT EXISTS (SELECT 1 FROM tasks WHERE room = substr(leases.task, 3))
                LIMIT ?
                """, arguments: [limit])
        for row in gone {
            let (task, epoch): (String, Int64) = (try row.value("task"), try row.value("epoch"))
            try db.execute(sql: "DELETE FROM leases WHERE task = ?", arguments: [task])
            try db.execute(
                sql: """
                    INSERT INTO leases (task, owner, epoch) VALUES ('//', NULL, ?1)
                    ON CONFLICT DO UPDATE SET epoch = max(epoch, ?1)
                    """, arguments: [epoch])
        }
        return gone.count
    }

    static func id(_ name: String, _ number: Int64) -> NodeID { NodeID("\(name)#\(number)") }

    static func number(of node: NodeID) -> Int64? {
        node.rawValue.lastIndex(of: "#").flatMap { Int64(node.rawValue[node.rawValue.index(after: $0)...]) }
    }
}
