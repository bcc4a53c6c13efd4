import GRDB
import MixModel

extension SQLiteTaskStore {
    public func announce(_ node: NodeID, _ profile: NodeProfile) async throws(StoreError) {
        let text = try profile.storedText()
        try await write { db, _ in
            if let number = SQLiteLeases.number(of: node) {
                try db.execute(sql: "UPDATE nodes SET profile = ? WHERE number = ?", arguments: [text, number])
                if db.changesCount == 1 { return }
            }
            throw StoreError.expelled(node)
        }
    }

    public func roster() async throws(StoreError) -> [NodeEntry] {
        try await write { db, time in
            try Row.fetchAll(db, sql: "SELECT number, name, until, profile FROM nodes ORDER BY number").map { row in
                let name: String = try row.value("name")
                let until: Double = try row.value("until")
                let profile: String? = try row.value("profile")
                return NodeEntry(
                    node: Node(id: SQLiteLeases.id(name, try row.value("number")), name: name),
                    profile: profile.flatMap(NodeProfile.init(storedText:)),
                    isAtWork: until > time)
            }
        }
    }

    public func time() async throws(StoreError) -> Double? { nil }

    public func holder(of room: RoomID) async throws(StoreError) -> NodeID? {
        try await write { db, time in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT number, name FROM leases JOIN nodes ON number = owner WHERE task = ? AND until > ?
                    """, arguments: [TaskID.lease(of: room).rawValue, time]
            ).map { SQLiteLeases.id(try $0.value("name"), try $0.value("number")) }
        }
    }

    public func claimRooms(
        of lives: [RoomLife], by node: NodeID, limit: Int, for duration: Duration
    ) async throws(StoreError) -> [Lease] {
        try await write { db, time in
            _ = try SQLiteLeases.renew(node, at: time, until: time + duration.seconds, db)
            let list = lives.map { "\($0.rawValue)" }.joined(separator: ", ")
            let wanted = try String.fetchAll(
                db,
                sql: """
                    SELECT lease FROM (
                        SELECT '//' || room AS lease FROM tasks WHERE active = 1
                        UNION SELECT '//' || id FROM rooms WHERE live IN (\(list))
                        UNION SELECT task FROM leases WHERE owner IS NOT NULL AND task >= '//' AND task < '/0'
                    ) LEFT JOIN leases ON task = lease WHERE \(SQLiteLeases.isFree) ORDER BY lease LIMIT ?1
                    """, arguments: [limit, time])
            return try SQLiteLeases.claim(wanted.map { TaskID($0) }, by: node, at: time, db)
        }
    }

    public func dismiss(_ leases: [Lease], areWanted: Bool) async throws(StoreError) {
        guard !leases.isEmpty else { return }
        try await write { db, _ in
            for lease in leases {
                guard let number = SQLiteLeases.number(of: lease.fence.owner) else { continue }
                let owner = areWanted ? "0" : "NULL"
                try db.execute(
                    sql: "UPDATE leases SET owner = \(owner) WHERE task = ? AND owner = ? AND epoch = ?",
                    arguments: [lease.task.rawValue, number, lease.fence.epoch])
            }
        }
    }

    public func pass(_ lease: Lease, to receiver: NodeID) async throws(StoreError) -> PassOutcome {
        try await write { db, time in
            guard try SQLiteLeases.holds(StoreChange.Requirement(task: lease.task, fence: lease.fence), db) else {
                return .notHeld
            }
            let number = SQLiteLeases.number(of: receiver)
            let isAtWork = try Bool.fetchOne(
                db, sql: "SELECT 1 FROM nodes WHERE number = ? AND until > ?", arguments: [number, time])
            guard receiver == lease.fence.owner || isAtWork != nil else { return .receiverGone }
            try db.execute(
                sql: "UPDATE leases SET owner = ?, epoch = epoch + 1 WHERE task = ?",
                arguments: [number, lease.task.rawValue])
            return .passed(Lease(task: lease.task, fence: Fence(owner: receiver, epoch: lease.fence.epoch + 1)))
        }
    }

    public func forgetLeases(limit: Int) async throws(StoreError) -> Int {
        try await write { db, _ in try SQLiteLeases.forget(limit: limit, db) }
    }

    public func inherit(from earlier: NodeID, by node: NodeID) async throws(StoreError) -> [Lease] {
        try await write { db, _ in
            guard let number = SQLiteLeases.number(of: node),
                try Bool.fetchOne(db, sql: "SELECT 1 FROM nodes WHERE number = ?", arguments: [number]) != nil
            else { throw StoreError.expelled(node) }
            if let old = SQLiteLeases.number(of: earlier) {
                try db.execute(sql: "DELETE FROM nodes WHERE number = ?", arguments: [old])
                try db.execute(
                    sql: "UPDATE leases SET owner = ?, epoch = epoch + 1 WHERE owner = ?", arguments: [number, old])
            }
            return try SQLiteLeases.leases(of: node, db)
        }
    }
}
