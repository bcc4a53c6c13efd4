/// A value of a column, in a form that every engine can hold.
package enum StoredValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}

/// A table that every engine has, for copies of whole stores.
package struct StoredTable: Sendable {
    package enum Kind: Sendable { case integer, real, text, blob }

    package struct Column: Sendable {
        package var name: String
        package var kind: Kind
    }

    package var name: String
    package var columns: [Column]
    /// The columns by which rows are ordered. Their values are unique to each row.
    package var key: [String]
    /// Whether the engine assigns increasing values to the column `number`, which are never reused.
    package var isNumbered: Bool

    private init(_ name: String, key: [String] = ["number"], isNumbered: Bool = true, _ columns: [(String, Kind)]) {
        self.name = name
        self.key = key
        self.isNumbered = isNumbered
        self.columns = columns.map { Column(name: $0.0, kind: $0.1) }
    }

    /// The columns' names, separated by commas.
    package var list: String { columns.map(\.name).joined(separator: ", ") }

    /// The values of `key` in a row of this table.
    package func key(of row: [StoredValue]) -> [StoredValue] {
        key.compactMap { name in columns.firstIndex { $0.name == name }.map { row[$0] } }
    }

    /// All tables of a store.
    package static let all = [
        StoredTable(
            "rooms",
            [
                ("number", .integer), ("id", .text), ("version", .integer), ("document", .text), ("live", .integer),
                ("layout", .text),
            ]),
        StoredTable(
            "tasks",
            [
                ("number", .integer), ("id", .text), ("room", .text), ("version", .integer), ("document", .text),
                ("active", .integer),
            ]),
        StoredTable(
            "events",
            [
                ("number", .integer), ("app", .text), ("source", .text), ("id", .text), ("room", .text),
                ("type", .text), ("document", .text), ("at", .real),
            ]),
        StoredTable("timeline", [("number", .integer), ("task", .text), ("document", .text)]),
        StoredTable("switches", [("number", .integer), ("task", .text), ("document", .text)]),
        StoredTable(
            "layout_versions", key: ["layout", "number"], isNumbered: false,
            [("layout", .text), ("number", .integer), ("document", .text), ("content", .blob)]),
        StoredTable("layout_events", [("number", .integer), ("layout", .text), ("document", .text)]),
        StoredTable(
            "channel_messages",
            [("number", .integer), ("room", .text), ("id", .integer), ("document", .text), ("at", .real)]),
        StoredTable("channels", key: ["room"], isNumbered: false, [("room", .text), ("document", .text)]),
        StoredTable("nodes", [("number", .integer), ("name", .text), ("until", .real)]),
        StoredTable(
            "leases", key: ["task"], isNumbered: false, [("task", .text), ("owner", .integer), ("epoch", .integer)]),
        StoredTable("removed_tasks", key: ["task"], isNumbered: false, [("task", .text), ("at", .real)]),
        StoredTable(
            "subscriptions", key: ["id"], isNumbered: false,
            [("id", .text), ("version", .integer), ("document", .text)]),
        StoredTable(
            "outbox",
            [
                ("number", .integer), ("subscription", .text), ("id", .text), ("lane", .text), ("topic", .text),
                ("body", .blob), ("queued", .real), ("due", .real), ("attempts", .integer), ("earlier", .integer),
                ("settled", .real), ("dead", .integer),
            ]),
        StoredTable(
            "attempts",
            [
                ("number", .integer), ("subscription", .text), ("message", .text), ("at", .real), ("document", .text),
            ]),
        StoredTable(
            "set_aside",
            [
                ("number", .integer), ("source", .text), ("id", .blob), ("document", .blob), ("content", .blob),
                ("at", .real),
            ]),
    ]
}

/// The whole content of a store that no service uses. Calls block.
package protocol StoreContents: AnyObject {
    /// Human-readable description of the store.
    var place: String { get }
    /// Runs `body` in one transaction, which is rolled back if it throws.
    func transaction<Value>(_ body: () throws -> Value) throws -> Value
    func count(_ table: StoredTable) throws -> Int
    /// Returns at most `limit` rows with a greater key, in the order of their keys; `nil` starts from the first.
    func rows(_ table: StoredTable, after key: [StoredValue]?, limit: Int) throws -> [[StoredValue]]
    func insert(_ rows: [[StoredValue]], into table: StoredTable) throws
    /// Returns the highest number that the table's rows ever had; 0 if it never had a row.
    func highestNumber(_ table: StoredTable) throws -> Int64
    func setHighestNumber(_ number: Int64, _ table: StoredTable) throws
}

/// Copies a whole store into an empty one of another engine.
package enum StoreCopy {
    /// Number of rows that are read and written at once.
    static let page = 500

    /// Copies everything, and compares every row afterwards. If any step fails, the target stays empty.
    ///
    /// - Returns: The number of rows of each table.
    package static func copy(
        from source: any StoreContents, to target: any StoreContents
    ) throws -> [(table: String, rows: Int)] {
        try source.transaction {
            try target.transaction {
                for table in StoredTable.all where try target.count(table) > 0 {
                    throw StoreError.engine(
                        "\(target.place) is not empty (it has rows in \(table.name)): nothing was copied. Name an "
                            + "empty one")
                }
                var counts: [(table: String, rows: Int)] = []
                for table in StoredTable.all {
                    try pages(table, of: source) { try target.insert($0, into: table) }
                    if table.isNumbered { try target.setHighestNumber(try source.highestNumber(table), table) }
                    counts.append((table.name, try compare(table, source, target)))
                }
                return counts
            }
        }
    }

    private static func pages(
        _ table: StoredTable, of source: any StoreContents, _ body: ([[StoredValue]]) throws -> Void
    ) throws {
        var key: [StoredValue]?
        while case let rows = try source.rows(table, after: key, limit: page), let last = rows.last {
            try body(rows)
            key = table.key(of: last)
        }
    }

    /// Compares all rows and returns their number.
    private static func compare(
        _ table: StoredTable, _ source: any StoreContents, _ target: any StoreContents
    ) throws -> Int {
        var (key, count): ([StoredValue]?, Int) = (nil, 0)
        while true {
            let rows = try source.rows(table, after: key, limit: page)
            guard try target.rows(table, after: key, limit: page) == rows else {
                throw StoreError.engine(
                    "\(table.name) in \(target.place) differs from the source: nothing is stored there")
            }
            count += rows.count
            guard let last = rows.last else { break }
            key = table.key(of: last)
        }
        guard try source.count(table) == count, try target.count(table) == count else {
            throw StoreError.engine("\(table.name) in \(target.place) has another number of rows than \(source.place)")
        }
        return count
    }
}
