import Foundation
import GRDB
import MixModel

/// A change with encoded documents, so that the writer, which all callers share, only has to store them.
struct PreparedChange: Sendable {
    private struct Event: Sendable {
        var app: String
        var source: String
        var id: String
        var room: String
        var type: String
        var text: String
    }

    private enum Document: Sendable {
        case put(id: String, text: String, expected: Int, columns: Columns)
        case delete(id: String, expected: Int)

        var id: String {
            switch self {
            case .put(let id, _, _, _), .delete(let id, _): id
            }
        }
        var expected: Int {
            switch self {
            case .put(_, _, let expected, _), .delete(_, let expected): expected
            }
        }
    }

    /// Columns that can be searched without reading documents.
    private enum Columns: Sendable {
        case room(life: Int, layout: String?)
        case task(room: String, isActive: Bool)
        case none
    }

    private struct Task: Sendable {
        var id: String
        var document: Document?
        var timeline: [String]
        var switches: [String]
    }

    private var require: [StoreChange.Requirement]
    private var event: Event?
    private var room: Document?
    private var tasks: [Task]
    private var layoutVersion: NewLayoutVersion?
    private var layoutVersionText = ""
    private var layoutEvent: (layout: String, text: String)?
    private var subscription: Document?
    private var outbox: [OutboxMessage]

    init(_ change: StoreChange) throws {
        require = change.require
        event = try change.event.map { event in
            Event(
                app: event.room.app.rawValue, source: event.source, id: event.id, room: event.room.rawValue,
                type: event.type, text: try event.document())
        }
        room = try change.room.map {
            try Self.document($0, id: \.id.rawValue, text: { try $0.document() }) {
                .room(life: $0.life.rawValue, layout: $0.settings.layout)
            }
        }
        tasks = try change.tasks.map { task in
            Task(
                id: task.id.rawValue,
                document: try task.write.map { write in
                    try Self.document(write, id: \.id.rawValue, text: { try $0.document() }) {
                        .task(room: $0.room.rawValue, isActive: $0.isActive)
                    }
                },
                timeline: try task.timeline.map { try DocumentEncoder.json($0) },
                switches: try task.switches.map { try DocumentEncoder.json($0) })
        }
        layoutVersion = change.layoutVersion
        if let version = change.layoutVersion?.version { layoutVersionText = try DocumentEncoder.json(version) }
        layoutEvent = try change.layoutEvent.map { ($0.layout, try DocumentEncoder.json($0)) }
        subscription = try change.subscription.map { try Self.document($0, id: \.id.rawValue) { _ in .none } }
        outbox = change.outbox
    }

    private static func document<Value: Encodable>(
        _ write: StoreChange.Write<Value>, id: KeyPath<Value, String>,
        text: (Value) throws -> String = { try DocumentEncoder.json($0) }, columns: (Value) -> Columns
    ) throws -> Document {
        switch write {
        case .put(let value, let expected):
            .put(
                id: value[keyPath: id], text: try text(value), expected: expected,
                columns: columns(value))
        case .delete(let id, let expected): .delete(id: id, expected: expected)
        }
    }

    // MARK: - Storing

    /// Stores the whole change, or refuses it without a trace, so that the other changes of the transaction remain.
    func store(_ db: Database, at time: Double) throws -> CommitResult {
        for requirement in require where try !SQLiteLeases.holds(requirement, db) {
            throw StoreError.fenced("task \(requirement.task)")
        }
        // The event log is checked first: a repeated event is a duplicate, regardless of later changes of the room.
        if let event, try !append(event, db, time) { return .duplicate }
        let number = db.lastInsertedRowID
        // Most events change only their room, in which case nothing else can be refused.
        if tasks.isEmpty, layoutVersion == nil, layoutEvent == nil, subscription == nil, outbox.isEmpty,
            try replaceRoom(db)
        {
            return .committed
        }
        do {
            try check(db)
        } catch let refusal as StoreError {
            if event != nil {
                try db.cachedStatement(sql: "DELETE FROM events WHERE number = ?").execute(arguments: [number])
            }
            throw refusal
        }
        if let room { try write(room, to: "rooms", db) }
        for task in tasks {
            if let document = task.document { try write(document, to: "tasks", db, time) }
            try append(task.timeline, to: "timeline", of: task.id, keeping: Retention.timelineEntries, db)
            try append(task.switches, to: "switches", of: task.id, keeping: Retention.switches, db)
        }
        if let layoutVersion { try append(layoutVersion, db) }
        if let layoutEvent {
            try append(
                [layoutEvent.text], to: "layout_events", of: layoutEvent.layout, column: "layout",
                keeping: Retention.layoutEvents, db)
        }
        if let subscription { try write(subscription, db) }
        for message in outbox { try SQLiteOutbox.append(message, db, time) }
        return .committed
    }

    /// Writes the room in one step if it is at the expected version and its indexed columns stay the same; otherwise
    /// writes nothing.
    private func replaceRoom(_ db: Database) throws -> Bool {
        guard case .put(let id, let text, let expected, .room(let life, let layout))? = room, expected > 0
        else { return false }
        try db.cachedStatement(
            sql: """
                UPDATE rooms SET version = ?3 + 1, document = ?2
                WHERE id = ?1 AND version = ?3 AND live = ?4 AND layout IS ?5
                """
        ).execute(arguments: [id, text, expected, life, layout])
        return db.changesCount == 1
    }

    /// Checks that every document is at its expected version.
    ///
    /// - Throws: `StoreError.conflict`.
    private func check(_ db: Database) throws {
        if let room { try check(room, in: "rooms", db) }
        for case let document? in tasks.map(\.document) { try check(document, in: "tasks", db) }
        if let subscription { try check(subscription, in: "subscriptions", db) }
        if let version = layoutVersion?.version {
            let newest = try Int.fetchOne(
                db.cachedStatement(sql: "SELECT max(number) FROM layout_versions WHERE layout = ?"),
                arguments: [version.layout])
            guard version.number > newest ?? 0 else { throw StoreError.conflict(document: "layout \(version.layout)") }
        }
    }

    private func check(_ document: Document, in table: String, _ db: Database) throws {
        let version = try Int.fetchOne(
            db.cachedStatement(sql: "SELECT version FROM \(table) WHERE id = ?"), arguments: [document.id])
        guard version ?? 0 == document.expected else { throw StoreError.conflict(document: document.id) }
    }

    /// Appends an event. Returns false if the event already exists.
    private func append(_ event: Event, _ db: Database, _ time: Double) throws -> Bool {
        try db.cachedStatement(
            sql: """
                INSERT INTO events (app, source, id, room, type, document, at) VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """
        ).execute(arguments: [event.app, event.source, event.id, event.room, event.type, event.text, time])
        return db.changesCount == 1
    }

    private func write(_ document: Document, to table: String, _ db: Database, _ time: Double = 0) throws {
        switch document {
        case .put(let id, let text, 0, .room(let life, let layout)):
            try db.cachedStatement(
                sql: "INSERT INTO rooms (id, version, document, live, layout) VALUES (?, 1, ?, ?, ?)"
            ).execute(arguments: [id, text, life, layout])
        case .put(let id, let text, 0, .task(let room, let isActive)):
            try db.cachedStatement(
                sql: "INSERT INTO tasks (id, version, document, room, active) VALUES (?, 1, ?, ?, ?)"
            ).execute(arguments: [id, text, room, isActive])
        case .put(let id, let text, _, .room(let life, let layout)):
            // Most changes leave the indexed columns, and so the indices, unchanged.
            try db.cachedStatement(
                sql: """
                    UPDATE rooms SET version = version + 1, document = ?2 WHERE id = ?1 AND live = ?3 AND layout IS ?4
                    """
            ).execute(arguments: [id, text, life, layout])
            guard db.changesCount == 0 else { return }
            try db.cachedStatement(
                sql: "UPDATE rooms SET version = version + 1, document = ?2, live = ?3, layout = ?4 WHERE id = ?1"
            ).execute(arguments: [id, text, life, layout])
        case .put(let id, let text, _, .task(_, let isActive)):
            try db.cachedStatement(
                sql: "UPDATE tasks SET version = version + 1, document = ?2 WHERE id = ?1 AND active = ?3"
            ).execute(arguments: [id, text, isActive])
            guard db.changesCount == 0 else { return }
            try db.cachedStatement(
                sql: "UPDATE tasks SET version = version + 1, document = ?2, active = ?3 WHERE id = ?1"
            ).execute(arguments: [id, text, isActive])
        case .put(_, _, _, .none): break
        case .delete(let id, _):
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE id = ?").execute(arguments: [id])
            if table == "tasks" {
                try db.cachedStatement(sql: "INSERT OR REPLACE INTO removed_tasks (task, at) VALUES (?, ?)")
                    .execute(arguments: [id, time])
            }
        }
    }

    private func append(
        _ rows: [String], to table: String, of owner: String, column: String = "task", keeping limit: Int,
        _ db: Database
    ) throws {
        guard !rows.isEmpty else { return }
        let insertion = try db.cachedStatement(sql: "INSERT INTO \(table) (\(column), document) VALUES (?, ?)")
        for row in rows {
            try insertion.execute(arguments: [owner, row])
            // Trimming occasionally is sufficient, and cheaper.
            guard db.lastInsertedRowID % 64 == 0 else { continue }
            try db.execute(
                sql: """
                    DELETE FROM \(table) WHERE \(column) = ?1 AND number <= (
                        SELECT number FROM \(table) WHERE \(column) = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
                    """, arguments: [owner, limit])
        }
    }

    private func append(_ new: NewLayoutVersion, _ db: Database) throws {
        let (layout, number) = (new.version.layout, new.version.number)
        try db.cachedStatement(
            sql: "INSERT INTO layout_versions (layout, number, document, content) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [layout, number, layoutVersionText, Data(new.content)])
        try db.cachedStatement(
            sql: """
                DELETE FROM layout_versions WHERE layout = ?1 AND number <= (
                    SELECT number FROM layout_versions WHERE layout = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
                """
        ).execute(arguments: [layout, Retention.layoutVersions])
    }

    private func write(_ subscription: Document, _ db: Database) throws {
        switch subscription {
        case .put(let id, let text, let expected, _):
            try db.execute(
                sql: "INSERT OR REPLACE INTO subscriptions (id, version, document) VALUES (?, ?, ?)",
                arguments: [id, expected + 1, text])
        case .delete(let id, _):
            try db.execute(sql: "DELETE FROM subscriptions WHERE id = ?", arguments: [id])
            try db.execute(
                sql: "DELETE FROM outbox WHERE subscription = ? AND settled IS NULL", arguments: [id])
        }
    }
}
