import MixModel
import TaskStore

extension PostgreSQLTaskStore {
    public func announce(_ node: NodeID, _ profile: NodeProfile) async throws(StoreError) {
        let text = try profile.storedText()
        try await write { connection, _ in
            // The name as well, as in `renew`.
            guard let number = PostgreSQLLeases.number(of: node), let name = PostgreSQLLeases.name(of: node),
                try connection.execute(
                    "UPDATE nodes SET profile = $2 WHERE number = $1 AND name = $3",
                    [.integer(number), .text(text), .text(name)]
                ).affected == 1
            else { throw StoreError.expelled(node) }
        }
    }

    public func roster() async throws(StoreError) -> [NodeEntry] {
        let now = clock?.now()
        return try await read { connection in
            try connection.execute(
                """
                SELECT number, name, profile, site,
                    (until > coalesce($1::double precision, extract(epoch FROM clock_timestamp())))::int AS works
                FROM nodes ORDER BY number
                """, [.real(now)]
            ).rows.map { row in
                let name = try row.text("name")
                let node = Node(id: PostgreSQLLeases.id(name, try row.integer("number")), name: name)
                return NodeEntry(
                    node: node, profile: try row.optionalText("profile").flatMap(NodeProfile.init(storedText:)),
                    isAtWork: try row.integer("works") == 1, site: try row.optionalText("site"))
            }
        }
    }

    public func time() async throws(StoreError) -> Double? {
        try await read { connection in
            try connection.execute("SELECT extract(epoch FROM clock_timestamp())::double precision AS time")
                .rows.first?.real("time")
        }
    }

    public func holder(of room: RoomID) async throws(StoreError) -> NodeID? {
        let now = clock?.now()
        return try await read { connection in
            try connection.execute(
                """
                SELECT nodes.number, nodes.name FROM leases JOIN nodes ON nodes.number = owner
                WHERE task = $1
                    AND until > coalesce($2::double precision, extract(epoch FROM clock_timestamp()))
                """, [.text(TaskID.lease(of: room).rawValue), .real(now)]
            ).rows.first.map { PostgreSQLLeases.id(try $0.text("name"), try $0.integer("number")) }
        }
    }

    public func claimRooms(
        of lives: [RoomLife], by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await write { [looks] connection, time in
            _ = try PostgreSQLLeases.renew(node, at: time, until: time + duration.seconds, connection)
            let wanted = try looks.waiting(of: lives, limit: limit, at: time, connection)
            guard !wanted.isEmpty else { return [] }
            return try PostgreSQLLeases.claim(
                PostgreSQLRooms.unlocked(wanted, connection), by: node, at: time, connection)
        }
    }

    public func dismiss(_ leases: [Lease], areWanted: Bool) async throws(StoreError) {
        guard !leases.isEmpty else { return }
        let owner = areWanted ? "0" : "NULL"
        try await write { connection, _ in
            for lease in leases {
                guard let number = PostgreSQLLeases.number(of: lease.fence.owner) else { continue }
                try connection.execute(
                    "UPDATE leases SET owner = \(owner) WHERE task = $1 AND owner = $2 AND epoch = $3",
                    [.text(lease.task.rawValue), .integer(number), .integer(lease.fence.epoch)])
            }
        }
        if areWanted { await tell(.rooms) }
    }

    public func pass(_ lease: Lease, to receiver: NodeID) async throws(StoreError) -> PassOutcome {
        try await write { connection, time in
            guard let owner = PostgreSQLLeases.number(of: lease.fence.owner) else { return .notHeld }
            let number = PostgreSQLLeases.number(of: receiver) ?? 0
            // The node's row is deleted first, as in `expel`.
            let isAtWork = try !connection.execute(
                "SELECT 1 FROM nodes WHERE number = $1 AND until > $2 FOR SHARE", [.integer(number), .real(time)]
            ).rows.isEmpty
            let held: [SQLValue] = [.text(lease.task.rawValue), .integer(owner), .integer(lease.fence.epoch)]
            guard receiver == lease.fence.owner || isAtWork else {
                return try connection.execute(
                    "SELECT 1 FROM leases WHERE task = $1 AND owner = $2 AND epoch = $3", held
                ).rows.isEmpty ? .notHeld : .receiverGone
            }
            let passed = try connection.execute(
                "UPDATE leases SET owner = $4, epoch = epoch + 1 WHERE task = $1 AND owner = $2 AND epoch = $3",
                held + [.integer(number)])
            guard passed.affected == 1 else { return .notHeld }
            return .passed(Lease(task: lease.task, fence: Fence(owner: receiver, epoch: lease.fence.epoch + 1)))
        }
    }

    public func forgetLeases(limit: Int) async throws(StoreError) -> Int {
        try await write { connection, _ in try PostgreSQLLeases.forget(limit: limit, connection) }
    }

    public func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease] {
        try await write { connection, time in
            guard let number = PostgreSQLLeases.number(of: node),
                let heir = try connection.execute(
                    "SELECT site FROM nodes WHERE number = $1 FOR SHARE", [.integer(number)]
                ).rows.first
            else { throw StoreError.expelled(node) }
            if let old = PostgreSQLLeases.number(of: earlier) {
                // Its row is deleted first, as in `expel`. A node that was suspended may have renewed its leases since it
                // was found to be dead.
                let ended = try connection.execute(
                    "DELETE FROM nodes WHERE number = $1 AND (until <= $2 OR site = $3) IS NOT FALSE",
                    [.integer(old), .real(time), .text(heir.optionalText("site"))])
                if ended.affected == 0,
                    let row = try connection.execute("SELECT name FROM nodes WHERE number = $1", [.integer(old)]).rows
                        .first
                {
                    throw StoreError.copied(try row.text("name"))
                }
                try connection.execute(
                    "UPDATE leases SET owner = $2, epoch = epoch + 1 WHERE owner = $1",
                    [.integer(old), .integer(number)])
            }
            return try PostgreSQLLeases.leases(of: node, connection)
        }
    }
}

/// The SQL statements that find rooms without a node.
enum PostgreSQLRooms {
    /// Finds at most `$1` leases of nodes that had expired at `$2`.
    ///
    /// Rows are compared as a whole and sorted by both columns, which only the index by owner provides. With
    /// `owner = …` the planner chooses the index by name and reads every lease: it expects to meet the owner soon,
    /// because few nodes have all leases.
    static let orphanedQuery = """
        SELECT found.task FROM (SELECT number FROM nodes WHERE until <= $2 UNION ALL SELECT 0) AS gone
        CROSS JOIN LATERAL (
            SELECT task FROM leases
            WHERE owner IS NOT NULL AND (owner, task) >= (gone.number, '//') AND (owner, task) < (gone.number, '/0')
            ORDER BY owner, task LIMIT $1
        ) AS found
        ORDER BY found.task LIMIT $1
        """

    /// Returns the names of the leases of rooms whose node is gone, or gave them up. The time does not grow with the
    /// number of rooms.
    static func orphaned(limit: Int, at time: Double, _ connection: PGConnection) throws -> [TaskID] {
        try connection.execute(orphanedQuery, [.integer(Int64(limit)), .real(time)])
            .rows.map { TaskID(try $0.text("task")) }
    }

    /// Returns the names of the leases of rooms that need a node and have none, including rooms that never had one.
    /// Reads every room with a relay or a publisher.
    static func waiting(
        of lives: [RoomLife], limit: Int, at time: Double, _ connection: PGConnection
    ) throws -> [TaskID] {
        try connection.execute(
            """
            SELECT wanted.lease FROM (
                SELECT '//' || room COLLATE "C" AS lease FROM tasks WHERE active = 1
                UNION SELECT '//' || id COLLATE "C" FROM rooms WHERE live = ANY($3::bigint[])
                UNION SELECT task FROM leases WHERE owner IS NOT NULL AND task >= '//' AND task < '/0'
            ) AS wanted LEFT JOIN leases ON leases.task = wanted.lease
            WHERE leases.owner IS NULL
                OR NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.number = leases.owner AND nodes.until > $2)
            ORDER BY wanted.lease LIMIT $1
            """,
            [.integer(Int64(limit)), .real(time), .integers(lives.map { Int64($0.rawValue) })]
        ).rows.map { TaskID(try $0.text("lease")) }
    }

    /// Returns those of the leases that no other node is taking at the moment, and locks them.
    static func unlocked(_ leases: [TaskID], _ connection: PGConnection) throws -> [TaskID] {
        let names = SQLValue.texts(leases.map(\.rawValue))
        let known = try connection.execute("SELECT task FROM leases WHERE task = ANY($1::text[])", [names]).rows.map {
            TaskID(try $0.text("task"))
        }
        let locked = try connection.execute(
            "SELECT task FROM leases WHERE task = ANY($1::text[]) ORDER BY task FOR UPDATE SKIP LOCKED", [names]
        ).rows.map { TaskID(try $0.text("task")) }
        let busy = Set(known).subtracting(locked)
        return leases.filter { !busy.contains($0) }
    }
}
