import TextFormats
import Testing

@testable import LayoutEngine

/// A JSON document that keeps the order of its members, for files that tests rewrite.
indirect enum JSONDocument {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSONDocument])
    case object([(key: String, value: JSONDocument)])

    init(_ text: String) throws { self.init(try JSONNode(parsing: Array(text.utf8), limits: .layouts)) }

    private init(_ node: JSONNode) {
        self =
            switch node.value {
            case .null: .null
            case .boolean(let value): .boolean(value)
            case .number(let value): .number(value)
            case .string(let text): .string(text)
            case .array(let elements): .array(elements.map { JSONDocument($0) })
            case .object(let members): .object(members.map { ($0.key, JSONDocument($0.node)) })
            }
    }

    var members: [(key: String, value: JSONDocument)] {
        if case .object(let members) = self { members } else { [] }
    }

    /// Changes the value at a path of keys, which must exist.
    mutating func update(_ path: String..., by change: (inout JSONDocument) throws -> Void) throws {
        try update(path[...], by: change)
    }

    private mutating func update(_ path: ArraySlice<String>, by change: (inout JSONDocument) throws -> Void) throws {
        guard let key = path.first else { return try change(&self) }
        var members = members
        let index = try #require(members.firstIndex { $0.key == key }, "\(key)")
        try members[index].value.update(path.dropFirst(), by: change)
        self = .object(members)
    }

    /// The document, indented by four spaces per level. A value that fits into 116 columns, without its key, is on one
    /// line.
    var text: String { text(indent: 0) }

    private func text(indent: Int) -> String {
        let parts: (brackets: (String, String), lines: [String])
        let inner = String(repeating: " ", count: indent + 4)
        switch self {
        case .array(let elements) where !elements.isEmpty:
            parts = (("[", "]"), elements.map { $0.text(indent: indent + 4) })
        case .object(let members) where !members.isEmpty:
            parts = (("{", "}"), members.map { "\(Self.quoted($0.key)): \($0.value.text(indent: indent + 4))" })
        default: return line
        }
        let outermost = if case .object = self { "{ \(line.dropFirst().dropLast()) }" } else { line }
        if indent > 0, indent + outermost.unicodeScalars.count <= 116 { return outermost }
        let lines = parts.lines.map { inner + $0 }.joined(separator: ",\n")
        return "\(parts.brackets.0)\n\(lines)\n\(String(repeating: " ", count: indent))\(parts.brackets.1)"
    }

    /// The document on one line.
    var line: String {
        switch self {
        case .null: "null"
        case .boolean(let value): "\(value)"
        case .number(let value): JSONNode.text(of: value)
        case .string(let text): Self.quoted(text)
        case .array(let elements): "[" + elements.map(\.line).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { "\(Self.quoted($0.key)): \($0.value.line)" }.joined(separator: ", ") + "}"
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
