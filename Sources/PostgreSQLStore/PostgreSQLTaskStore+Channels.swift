import MixModel
import TaskStore

extension PostgreSQLTaskStore {
    public func commit(_ change: ChannelChange) async throws(StoreError) {
        _ = try await writer.write(PreparedChange(change, now: clock?.now()))
    }

    public func channel(of room: RoomID, limit: Int) async throws(StoreError) -> StoredChannel {
        let name = SQLValue.text(room.rawValue)
        return try await read { connection in
            let rows = try connection.execute(
                "SELECT id, document FROM channel_messages WHERE room = $1 ORDER BY id DESC LIMIT $2",
                [name, .integer(Int64(limit))]
            ).rows
            let document = try connection.execute("SELECT document FROM channels WHERE room = $1", [name]).rows.first
            return StoredChannel(
                messages: try rows.reversed().map { row in
                    StoredMessage(id: try row.integer("id"), document: try row.text("document"))
                }, document: try document?.text("document"))
        }
    }
}
