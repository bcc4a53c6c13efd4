import MixModel
import TaskStore

/// The SQL statements of `LeaseStore`. A node's leases are valid while `nodes.until` is in the future; expelling a node
/// deletes its row.
enum PostgreSQLLeases {
    static func register(
        _ name: String, at site: String? = nil, until: Double, _ connection: PGConnection
    ) throws -> NodeID {
        let made = try connection.execute(
            "INSERT INTO nodes (name, until, site) VALUES ($1, $2, $3) RETURNING number",
            [.text(name), .real(until), .text(site)])
        guard let row = made.rows.first else { throw StoreError.engine("no number for the node \(name)") }
        return id(name, try row.integer("number"))
    }

    /// Checks that no node of this name is at work at another site. None can register until the end of the transaction.
    ///
    /// - Throws: `StoreError.copied`.
    static func checkCopies(of name: String, at site: String, time: Double, _ connection: PGConnection) throws {
        // Copies of a machine may start at the same time.
        try connection.execute(
            """
            SELECT pg_advisory_xact_lock(
                hashtextextended('mixorchestrator node ' || current_schema() || ' ' || $1::text, 0))
            """, [.text(name)])
        let others = try connection.execute(
            "SELECT 1 FROM nodes WHERE name = $1 AND until > $2 AND site <> $3 LIMIT 1",
            [.text(name), .real(time), .text(site)])
        guard others.rows.isEmpty else { throw StoreError.copied(name) }
    }

    static func nodes(_ connection: PGConnection) throws -> [Node] {
        try connection.execute("SELECT number, name FROM nodes ORDER BY number").rows.map { row in
            let name = try row.text("name")
            return Node(id: id(name, try row.integer("number")), name: name)
        }
    }

    /// Renews the leases of a node.
    ///
    /// The name is compared as well: a database that was restored, or whose last transactions a failover lost, gives
    /// numbers a second time.
    ///
    /// - Returns: `kept` if none had expired.
    static func renew(_ node: NodeID, at time: Double, until: Double, _ connection: PGConnection) throws -> Renewal {
        guard let number = number(of: node), let name = name(of: node) else { throw StoreError.expelled(node) }
        let renewed = try connection.execute(
            """
            UPDATE nodes SET until = $2
            FROM (SELECT number, until FROM nodes WHERE number = $1 AND name = $3 FOR UPDATE) AS earlier
            WHERE nodes.number = earlier.number RETURNING earlier.until AS before
            """, [.integer(number), .real(until), .text(name)])
        guard let row = renewed.rows.first else { throw StoreError.expelled(node) }
        return try row.real("before") > time ? .kept : .lapsed
    }

    static func claim(
        _ tasks: [TaskID], by node: NodeID, at time: Double, _ connection: PGConnection
    ) throws -> [Lease] {
        guard let number = number(of: node) else { throw StoreError.expelled(node) }
        let names = SQLValue.texts(tasks.map(\.rawValue))
        // No leases may be deleted in the meantime, because a new lease continues their epochs.
        try connection.execute("SELECT pg_advisory_xact_lock_shared($1)", [.integer(forgetting)])
        // In a fixed order, so that two nodes never wait for each other.
        try connection.execute(
            """
            INSERT INTO leases (task, owner, epoch)
            SELECT task, $2::bigint, 1 + coalesce((SELECT epoch FROM leases WHERE task = '//'), 0)
            FROM (SELECT DISTINCT unnest($1::text[]) COLLATE "C" AS task) AS wanted ORDER BY task
            ON CONFLICT (task) DO UPDATE SET owner = $2, epoch = leases.epoch + 1
            WHERE leases.owner IS NULL
                OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.number = leases.owner AND nodes.until > $3)
            """, [names, .integer(number), .real(time)])
        let held = try connection.execute(
            "SELECT task, epoch FROM leases WHERE task = ANY($1::text[]) AND owner = $2", [names, .integer(number)])
        let epochs = Dictionary(
            try held.rows.map { (TaskID(try $0.text("task")), try $0.integer("epoch")) }
        ) { first, _ in first }
        return tasks.compactMap { task in
            epochs[task].map { Lease(task: task, fence: Fence(owner: node, epoch: $0)) }
        }
    }

    /// Returns the stored tasks that `claim` would take.
    static func available(limit: Int, at time: Double, _ connection: PGConnection) throws -> [TaskID] {
        try connection.execute(
            """
            SELECT id FROM tasks LEFT JOIN leases ON task = id
            WHERE owner IS NULL OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.number = owner AND until > $2)
            ORDER BY id LIMIT $1
            """, [.integer(Int64(limit)), .real(time)]
        ).rows.map { TaskID(try $0.text("id")) }
    }

    static func release(_ lease: Lease, _ connection: PGConnection) throws {
        guard let number = number(of: lease.fence.owner) else { return }
        try connection.execute(
            "UPDATE leases SET owner = NULL WHERE task = $1 AND owner = $2 AND epoch = $3",
            [.text(lease.task.rawValue), .integer(number), .integer(lease.fence.epoch)])
    }

    static func leases(of node: NodeID, _ connection: PGConnection) throws -> [Lease] {
        guard let number = number(of: node) else { return [] }
        return try connection.execute(
            "SELECT task, epoch FROM leases WHERE owner = $1 ORDER BY task", [.integer(number)]
        ).rows.map { row in
            Lease(task: TaskID(try row.text("task")), fence: Fence(owner: node, epoch: try row.integer("epoch")))
        }
    }

    /// Removes a node. Its row is deleted first: a concurrent claim of the node either ends before that, or finds no
    /// row.
    static func expel(_ node: NodeID, _ connection: PGConnection) throws {
        guard let number = number(of: node), let name = name(of: node) else { return }
        let expelled = try connection.execute(
            "DELETE FROM nodes WHERE number = $1 AND name = $2", [.integer(number), .text(name)])
        // The number may be another node's by now, as for `renew`.
        if expelled.affected == 0 {
            let others = try connection.execute("SELECT 1 FROM nodes WHERE number = $1", [.integer(number)])
            guard others.rows.isEmpty else { return }
        }
        // Rooms are marked as orphaned: no node has the number 0.
        try connection.execute(
            "UPDATE leases SET owner = CASE WHEN task >= '//' AND task < '/0' THEN 0 END WHERE owner = $1",
            [.integer(number)])
    }

    /// Number of the lock that prevents leases from being made while others are deleted.
    private static let forgetting: Int64 = 0x6D69_786C_6561_7365

    /// Deletes leases of rooms that do not exist, and keeps the highest of their epochs. Has no effect while leases are
    /// being made.
    static func forget(limit: Int, _ connection: PGConnection) throws -> Int {
        let isAlone = try connection.execute(
            "SELECT pg_try_advisory_xact_lock($1)::int AS locked", [.integer(forgetting)]
        ).rows.first?.integer("locked")
        guard isAlone == 1 else { return 0 }
        let gone = try connection.execute(
            """
            DELETE FROM leases WHERE task IN (
                SELECT task FROM leases
                WHERE owner IS NULL AND task > '//' AND task < '/0'
                    AND NOT EXISTS (SELECT 1 FROM rooms WHERE id = substr(leases.task, 3))
                    AND NOT EXISTS (SELECT 1 FROM tasks WHERE room = substr(leases.task, 3))
                LIMIT $1 FOR UPDATE SKIP LOCKED
            ) RETURNING epoch
            """, [.integer(Int64(limit))]
        ).rows.map { try $0.integer("epoch") }
        guard let highest = gone.max() else { return 0 }
        try connection.execute(
            """
            INSERT INTO leases (task, owner, epoch) VALUES ('//', NULL, $1)
            ON CONFLICT (task) DO UPDATE SET epoch = greatest(leases.epoch, excluded.epoch)
            """, [.integer(highest)])
        return gone.count
    }

    static func id(_ name: String, _ number: Int64) -> NodeID { NodeID("\(name)#\(number)") }

    static func number(of node: NodeID) -> Int64? {
        node.rawValue.lastIndex(of: "#").flatMap { Int64(node.rawValue[node.rawValue.index(after: $0)...]) }
    }

    static func name(of node: NodeID) -> String? {
        node.rawValue.lastIndex(of: "#").map { String(node.rawValue[..<$0]) }
    }
}

extension PostgreSQLTaskStore {
    public func register(
        _ name: String, at site: String?, for duration: Duration
    ) async throws(StoreError) -> NodeID {
        try await write { connection, time in
            if let site { try PostgreSQLLeases.checkCopies(of: name, at: site, time: time, connection) }
            return try PostgreSQLLeases.register(name, at: site, until: time + duration.seconds, connection)
        }
    }

    public func nodes() async throws(StoreError) -> [Node] { try await read(PostgreSQLLeases.nodes) }

    public func claim(
        _ tasks: [TaskID], by node: NodeID, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await write { connection, time in
            _ = try PostgreSQLLeases.renew(node, at: time, until: time + duration.seconds, connection)
            return try PostgreSQLLeases.claim(tasks, by: node, at: time, connection)
        }
    }

    public func claimAvailable(
        by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await write { connection, time in
            _ = try PostgreSQLLeases.renew(node, at: time, until: time + duration.seconds, connection)
            let tasks = try PostgreSQLLeases.available(limit: limit, at: time, connection)
            return try PostgreSQLLeases.claim(tasks, by: node, at: time, connection)
        }
    }

    public func renew(_ node: NodeID, for duration: Duration) async throws(StoreError) -> Renewal {
        try await write { connection, time in
            try PostgreSQLLeases.renew(node, at: time, until: time + duration.seconds, connection)
        }
    }

    public func release(_ lease: Lease) async throws(StoreError) {
        try await write { connection, _ in try PostgreSQLLeases.release(lease, connection) }
    }

    public func leases(of node: NodeID) async throws(StoreError) -> [Lease] {
        try await read { try PostgreSQLLeases.leases(of: node, $0) }
    }

    public func owned(by node: NodeID) async throws(StoreError) -> [Versioned<TaskMachine>] {
        guard let number = PostgreSQLLeases.number(of: node) else { return [] }
        return try await documents(
            "tasks WHERE id IN (SELECT task FROM leases WHERE owner = $1) ORDER BY id", [.integer(number)])
    }

    public func expel(_ node: NodeID) async throws(StoreError) {
        try await write { connection, _ in try PostgreSQLLeases.expel(node, connection) }
        await tell(.departure)
    }
}

/// A node whose leases have not expired.
package struct NodeAtWork: Hashable, Sendable {
    package var node: Node
    /// The node's site; `nil` if it is not known, or the node runs an earlier release.
    package var site: String?
    /// Time at which its leases end unless it renews them, in s since 1970 by the store's clock.
    package var until: Double

    package init(node: Node, site: String?, until: Double) {
        self.node = node
        self.site = site
        self.until = until
    }
}

extension PostgreSQLTaskStore {
    /// Returns the nodes whose leases have not expired, in the order of registration. Nothing is written.
    package func nodesAtWork() async throws(StoreError) -> [NodeAtWork] {
        let now = clock?.now()
        return try await read { connection in
            try connection.execute(
                """
                SELECT number, name, site, until FROM nodes
                WHERE until > coalesce($1::double precision, extract(epoch FROM clock_timestamp())) ORDER BY number
                """, [.real(now)]
            ).rows.map { row in
                let name = try row.text("name")
                return NodeAtWork(
                    node: Node(id: PostgreSQLLeases.id(name, try row.integer("number")), name: name),
                    site: try row.optionalText("site"), until: try row.real("until"))
            }
        }
    }
}
