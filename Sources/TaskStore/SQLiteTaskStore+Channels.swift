import GRDB
import MixModel

extension SQLiteTaskStore {
    public func commit(_ change: ChannelChange) async throws(StoreError) {
        try await write { db, time in try SQLiteChannels.store(change, db, at: time) }
    }

    public func channel(of room: RoomID, limit: Int) async throws(StoreError) -> StoredChannel {
        try await read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT id, document FROM channel_messages WHERE room = ? ORDER BY id DESC LIMIT ?",
                arguments: [room.rawValue, limit])
            let document = try String.fetchOne(
                db, sql: "SELECT document FROM channels WHERE room = ?", arguments: [room.rawValue])
            let messages = try rows.reversed().map { row in
                StoredMessage(id: try row.value("id"), document: try row.value("document"))
            }
            return StoredChannel(messages: messages, document: document)
        }
    }
}

/// The SQL statements of channels. A trigger removes the data of a deleted room.
enum SQLiteChannels {
    /// - Throws: `StoreError` if the change is refused; it has then left no trace.
    static func store(_ change: ChannelChange, _ db: Database, at time: Double) throws {
        let room = change.room.rawValue
        for requirement in change.require where try !SQLiteLeases.holds(requirement, db) {
            throw StoreError.fenced("task \(requirement.task)")
        }
        let isThere = try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT 1 FROM rooms WHERE id = ?"), arguments: [room])
        guard isThere != nil else { throw StoreError.conflict(document: room) }
        for message in change.messages { try append(message, of: room, keeping: change.kept, db, time) }
        for id in change.removed {
            try db.cachedStatement(sql: "DELETE FROM channel_messages WHERE room = ? AND id = ?")
                .execute(arguments: [room, id])
        }
        if let document = change.document {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO channels (room, document) VALUES (?, ?)")
                .execute(arguments: [room, document])
        }
        for message in change.outbox { try SQLiteOutbox.append(message, db, time) }
    }

    private static func append(
        _ message: StoredMessage, of room: String, keeping kept: Int, _ db: Database, _ time: Double
    ) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO channel_messages (room, id, document, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
                """
        ).execute(arguments: [room, message.id, message.document, time])
        // Trimming occasionally is sufficient, and cheaper.
        guard db.changesCount == 1, db.lastInsertedRowID % 64 == 0 else { return }
        try db.cachedStatement(
            sql: """
                DELETE FROM channel_messages WHERE room = ?1 AND id <= (
                    SELECT id FROM channel_messages WHERE room = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
                """
        ).execute(arguments: [room, kept])
    }
}
