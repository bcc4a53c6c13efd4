/// The outcome of one statement.
struct SQLResult: Sendable {
    var rows: [SQLRow]
    /// Number of rows that the statement inserted, changed, deleted or returned.
    var affected: Int
}

/// A row of a result. Columns are found by name; wrong names and unexpected contents throw.
struct SQLRow: Sendable {
    /// A column that is missing or cannot be read as the requested type.
    struct Unreadable: Error, CustomStringConvertible {
        var description: String
    }

    /// The columns' names, shared by all rows of a result.
    final class Columns: Sendable {
        let places: [String: Int]
        init(_ names: [String]) { places = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first } }
    }

    private let columns: Columns
    private let cells: [String?]

    init(_ columns: Columns, _ cells: [String?]) {
        self.columns = columns
        self.cells = cells
    }

    func has(_ column: String) -> Bool { columns.places[column] != nil }

    func optionalText(_ column: String) throws -> String? {
        guard let place = columns.places[column] else { throw Unreadable(description: "no column \(column)") }
        return cells[place]
    }

    func text(_ column: String) throws -> String { try required(column, optionalText(column)) }

    func integer(_ column: String) throws -> Int64 { try required(column, Int64(text(column))) }

    func optionalReal(_ column: String) throws -> Double? {
        guard let text = try optionalText(column) else { return nil }
        return try required(column, Double(text))
    }

    func real(_ column: String) throws -> Double { try required(column, optionalReal(column)) }

    func optionalInteger(_ column: String) throws -> Int64? {
        guard let text = try optionalText(column) else { return nil }
        return try required(column, Int64(text))
    }

    /// Returns the bytes of a `bytea`.
    func optionalBytes(_ column: String) throws -> [UInt8]? {
        guard let text = try optionalText(column) else { return nil }
        return try required(column, Self.bytes(text))
    }

    func bytes(_ column: String) throws -> [UInt8] { try required(column, optionalBytes(column)) }

    private func required<Value>(_ column: String, _ value: Value?) throws -> Value {
        guard let value else { throw Unreadable(description: "the column \(column) cannot be read") }
        return value
    }

    /// Decodes `\x` and hexadecimal digits.
    private static func bytes(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { utf8 in
            guard utf8.count % 2 == 0, utf8.starts(with: #"\x"#.utf8) else { return nil }
            var bytes: [UInt8] = []
            bytes.reserveCapacity(utf8.count / 2)
            for place in stride(from: 2, to: utf8.count, by: 2) {
                guard let high = digit(utf8[place]), let low = digit(utf8[place + 1]) else { return nil }
                bytes.append(high << 4 | low)
            }
            return bytes
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
