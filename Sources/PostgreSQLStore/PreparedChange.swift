import MixModel
import TaskStore

/// A change with encoded documents, so that the writer, which all callers share, only has to send it.
struct PreparedChange: Sendable {
    private static let change = call("commit_change_1", 38)
    private static let channel = call("commit_channel_1", 15)

    /// The call that stores the change.
    let statement: String
    /// The parameters of `statement`.
    let parameters: EncodedParameters

    private static func call(_ function: String, _ count: Int) -> String {
        "SELECT \(function)(" + (1...count).map { "$\($0)" }.joined(separator: ", ") + ") AS outcome"
    }

    /// - Parameter now: Time in seconds since 1970; `nil` = the server's time.
    /// - Throws: `StoreError.engine` for a value that cannot be written as a document or a text.
    init(_ change: StoreChange, now: Double?) throws(StoreError) {
        try self.init(Self.change) { try Self.values(change, now) }
    }

    /// - Parameter now: Time in seconds since 1970; `nil` = the server's time.
    /// - Throws: `StoreError.engine` for a value that cannot be written as a text.
    init(_ change: ChannelChange, now: Double?) throws(StoreError) {
        try self.init(Self.channel) { Self.values(change, now) }
    }

    private init(_ statement: String, _ values: () throws -> [SQLValue]) throws(StoreError) {
        self.statement = statement
        do {
            parameters = try EncodedParameters(values())
        } catch let failure as PGFailure {
            throw .engine(failure.message)
        } catch {
            throw .engine("a document cannot be written: \(error)")
        }
    }

    private static func values(_ change: StoreChange, _ now: Double?) throws -> [SQLValue] {
        var values: [SQLValue] = [.real(now)]
        values.reserveCapacity(38)
        values += fences(change.require)
        values += try event(change.event)
        values += try room(change.room)
        values += try tasks(change.tasks)
        values += try layout(change)
        values += try subscription(change.subscription)
        values += messages(change.outbox)
        return values
    }

    private static func values(_ change: ChannelChange, _ now: Double?) -> [SQLValue] {
        [.real(now)] + fences(change.require) + [
            .text(change.room.rawValue), .integers(change.messages.map(\.id)),
            .texts(change.messages.map(\.document)), .integers(change.removed), .text(change.document),
            .integer(Int64(change.kept)),
        ] + messages(change.outbox)
    }

    private static func fences(_ require: [StoreChange.Requirement]) -> [SQLValue] {
        guard !require.isEmpty else { return [.null, .null, .null] }
        return [
            .texts(require.map(\.task.rawValue)),
            .integers(require.map { PostgreSQLLeases.number(of: $0.fence.owner) }),
            .integers(require.map(\.fence.epoch)),
        ]
    }

    private static func event(_ event: RoomEvent?) throws -> [SQLValue] {
        guard let event else { return Array(repeating: .null, count: 6) }
        return [
            .text(event.room.app.rawValue), .text(event.source), .text(event.id), .text(event.room.rawValue),
            .text(event.type), .text(try event.document()),
        ]
    }

    private static func room(_ write: StoreChange.Write<Room>?) throws -> [SQLValue] {
        switch write {
        case nil: Array(repeating: .null, count: 5)
        case .put(let room, let expected):
            [
                .text(room.id.rawValue), .integer(Int64(expected)), .text(try room.document()),
                .integer(Int64(room.life.rawValue)), .text(room.settings.layout),
            ]
        case .delete(let id, let expected): [.text(id), .integer(Int64(expected)), .null, .null, .null]
        }
    }

    private static func tasks(_ changes: [StoreChange.TaskChange]) throws -> [SQLValue] {
        guard !changes.isEmpty else { return Array(repeating: .null, count: 9) }
        var (ids, documents, rooms): ([String?], [String?], [String?]) = ([], [], [])
        var (expectations, active): ([Int64?], [Int64?]) = ([], [])
        for write in changes.compactMap(\.write) {
            switch write {
            case .put(let task, let expected):
                ids.append(task.id.rawValue)
                expectations.append(Int64(expected))
                documents.append(try task.document())
                rooms.append(task.room.rawValue)
                active.append(task.isActive ? 1 : 0)
            case .delete(let id, let expected):
                ids.append(id)
                expectations.append(Int64(expected))
                documents.append(nil)
                rooms.append(nil)
                active.append(nil)
            }
        }
        let timeline = changes.flatMap { change in change.timeline.map { (change.id.rawValue, $0) } }
        let switches = changes.flatMap { change in change.switches.map { (change.id.rawValue, $0) } }
        return [
            .texts(ids), .integers(expectations), .texts(documents), .texts(rooms), .integers(active),
            .texts(timeline.map(\.0)), .texts(try timeline.map { try DocumentEncoder.json($0.1) }),
            .texts(switches.map(\.0)), .texts(try switches.map { try DocumentEncoder.json($0.1) }),
        ]
    }

    private static func layout(_ change: StoreChange) throws -> [SQLValue] {
        var values: [SQLValue] = Array(repeating: .null, count: 6)
        if let new = change.layoutVersion {
            values[0] = .text(new.version.layout)
            values[1] = .integer(Int64(new.version.number))
            values[2] = .text(try DocumentEncoder.json(new.version))
            values[3] = .bytes(new.content)
        }
        if let event = change.layoutEvent {
            values[4] = .text(event.layout)
            values[5] = .text(try DocumentEncoder.json(event))
        }
        return values
    }

    private static func subscription(_ write: StoreChange.Write<Subscription>?) throws -> [SQLValue] {
        switch write {
        case nil: [.null, .null, .null]
        case .put(let subscription, let expected):
            [
                .text(subscription.id.rawValue), .integer(Int64(expected)),
                .text(try DocumentEncoder.json(subscription)),
            ]
        case .delete(let id, let expected): [.text(id), .integer(Int64(expected)), .null]
        }
    }

    private static func messages(_ messages: [OutboxMessage]) -> [SQLValue] {
        guard !messages.isEmpty else { return Array(repeating: .null, count: 5) }
        return [
            .texts(messages.map(\.subscription.rawValue)), .texts(messages.map(\.id)), .texts(messages.map(\.lane)),
            .texts(messages.map(\.topic.rawValue)), .blobs(messages.map(\.body)),
        ]
    }

    /// Parses the answer of `statement`.
    ///
    /// - Throws: `StoreError.conflict` or `StoreError.fenced`: nothing of the change was stored.
    static func outcome(_ result: SQLResult) throws -> CommitResult {
        let text = try result.rows.first?.text("outcome") ?? ""
        switch text {
        case "committed": return .committed
        case "duplicate": return .duplicate
        default: break
        }
        // Split by bytes: the rest may begin with a combining character.
        let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        let (word, name) = (text[..<colon], String(text.utf8[colon...].dropFirst()) ?? "")
        if word == "fenced" { throw StoreError.fenced("task \(name)") }
        if word == "conflict" { throw StoreError.conflict(document: name) }
        throw StoreError.engine("the answer \"\(text)\" is unknown")
    }
}
