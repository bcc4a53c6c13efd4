import Foundation
import Testing
import Yams

/// The parsed openapi.yaml. `@unchecked` because of its JSON values, which are never changed.
struct OpenAPIDocument: @unchecked Sendable {
    struct Operation: CustomTestStringConvertible, @unchecked Sendable {
        var id: String
        var method: String
        /// The path, with parameters as `{name}`.
        var path: String
        var parameters: [[String: Any]]
        var body: [String: Any]?
        var responses: [String: [String: Any]]
        var testDescription: String { "\(method) \(path)" }
    }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../..").standardizedFileURL
    static let methods: Set<String> = ["get", "put", "post", "delete", "options", "patch", "head"]

    let text: String
    let content: [String: Any]
    let operations: [Operation]

    init() throws {
        text = try String(contentsOf: Self.root.appendingPathComponent("openapi.yaml"), encoding: .utf8)
        let content = try #require(try Yams.load(yaml: text) as? [String: Any])
        self.content = content
        let paths = try #require(content["paths"] as? [String: [String: Any]])
        operations = try paths.sorted { $0.key < $1.key }.flatMap { path, item in
            try item.keys.filter(Self.methods.contains).sorted().map { method in
                let operation = try #require(item[method] as? [String: Any])
                let shared = item["parameters"] as? [[String: Any]] ?? []
                let own = operation["parameters"] as? [[String: Any]] ?? []
                let responses = try #require(operation["responses"] as? [String: [String: Any]])
                return Operation(
                    id: try #require(operation["operationId"] as? String, "\(method) \(path)"),
                    method: method.uppercased(), path: path,
                    parameters: (shared + own).map { Self.resolved($0, in: content) },
                    body: (operation["requestBody"] as? [String: Any]).map { Self.resolved($0, in: content) },
                    responses: responses.mapValues { Self.resolved($0, in: content) })
            }
        }
    }

    func schema(_ schema: Any?) -> JSONSchema { JSONSchema(schema ?? [String: Any](), in: content) }

    func resolved(_ object: [String: Any]) -> [String: Any] { Self.resolved(object, in: content) }

    /// Returns the object to which a `$ref` leads; other objects are returned unchanged.
    static func resolved(_ object: [String: Any], in content: [String: Any]) -> [String: Any] {
        guard let reference = object["$ref"] as? String else { return object }
        var value: Any? = content
        for part in reference.dropFirst(2).split(separator: "/") { value = (value as? [String: Any])?[String(part)] }
        return value as? [String: Any] ?? [:]
    }

    /// The `example` and `examples` of a media type or parameter, by name.
    func examples(of holder: [String: Any]) -> [(name: String, value: Any)] {
        var found: [(String, Any)] = []
        if let example = holder["example"] { found.append(("example", example)) }
        for (name, example) in holder["examples"] as? [String: [String: Any]] ?? [:] {
            if let value = example["value"] { found.append((name, value)) }
        }
        return found.sorted { $0.0 < $1.0 }
    }

    /// Returns an example, as Yams reads it, as JSON.
    static func json(_ value: Any) throws -> String {
        let data = try JSONSerialization.data(withJSONObject: plain(value), options: [.fragmentsAllowed, .sortedKeys])
        return String(decoding: data, as: UTF8.self)
    }

    /// Returns an example, an object of texts, as form data.
    static func form(_ value: Any) -> String {
        (value as? [String: Any] ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            .joined(separator: "&")
    }

    private static func plain(_ value: Any) -> Any {
        switch value {
        case let object as [String: Any]: object.mapValues(plain)
        case let array as [Any]: array.map(plain)
        case let flag as Bool: flag
        case let number as Int: number
        case let number as Double: number
        case let text as String: text
        default: NSNull()
        }
    }
}
