import Foundation
import Testing

@testable import LayoutEngine

/// The text about algorithms in `layout.schema.json` and `layouts/README.md` is generated from `LayoutAlgorithms.all`.
/// After an intended change, run with `UPDATE_GOLDEN=1` and read the difference before you commit it.
struct AlgorithmDocumentTests {
    private static let isUpdate = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"

    @Test func schemaIsThatOfTheAlgorithms() throws {
        let file = GoldenSceneTests.layouts.appending(path: "layout.schema.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        let generated = try AlgorithmSchema.replacing(in: JSONDocument(text)).text + "\n"
        if Self.isUpdate { try generated.write(to: file, atomically: true, encoding: .utf8) }
        #expect(try String(contentsOf: file, encoding: .utf8) == generated)
    }

    @Test func readmeListsTheAlgorithms() throws {
        let file = GoldenSceneTests.layouts.appending(path: "README.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(text.range(of: "| `algorithm` |")).lowerBound
        let end = try #require(text.range(of: "\n\n", range: start..<text.endIndex)).lowerBound
        let generated = text.replacingCharacters(in: start..<end, with: Self.table)
        if Self.isUpdate { try generated.write(to: file, atomically: true, encoding: .utf8) }
        #expect(try String(contentsOf: file, encoding: .utf8) == generated)
    }

    private static var table: String {
        let rows = LayoutAlgorithms.all.map { algorithm in
            let keys = algorithm.keys.map { key in
                switch key.values {
                case .words(let words): "`\(key.name)` " + words.map { "`\($0)`" }.joined(separator: " ")
                case .number(let range): "`\(key.name)` \(number(range.lowerBound))…\(number(range.upperBound))"
                case .integer(let range): "`\(key.name)` \(range.lowerBound)…\(range.upperBound)"
                case .aspect: "`\(key.name)` `\"16:9\"`"
                }
            }
            return
                "| `\(algorithm.name)` | \(algorithm.summary) |\(keys.isEmpty ? "" : " ")\(keys.joined(separator: ", ")) |"
        }
        return (["| `algorithm` | arrangement | additional keys |", "|---|---|---|"] + rows).joined(separator: "\n")
    }

    private static func number(_ value: Double) -> String { JSONDocument.number(value).line }
}

/// The parts of the schema that depend on the algorithms.
private enum AlgorithmSchema {
    static func replacing(in schema: JSONDocument) throws -> JSONDocument {
        var schema = schema
        let keys = LayoutAlgorithms.keys
        try schema.update("$defs") { definitions in
            var members = definitions.members
            // The definitions of keys are together, between these two.
            let featured = try #require(members.firstIndex { $0.key == "featured" })
            let next = try #require(members.firstIndex { $0.key == "x" })
            members.replaceSubrange(featured + 1..<next, with: keys.map { ($0, definition(of: $0)) })
            definitions = .object(members)
        }
        try schema.update("$defs", "algorithm") { $0 = algorithm }
        for place in ["arrangement", "rest"] {
            try schema.update("$defs", place, "properties") { properties in
                var members = properties.members
                let featured = try #require(members.firstIndex { $0.key == "featured" })
                let next = try #require(members.firstIndex { $0.key == (place == "rest" ? "fit" : "panes") })
                members.replaceSubrange(
                    featured + 1..<next, with: keys.map { ($0, .object([("$ref", .string("#/$defs/\($0)"))])) })
                properties = .object(members)
            }
            try schema.update("$defs", place, "allOf") { $0 = .array(rules(isRest: place == "rest")) }
        }
        return schema
    }

    private static var algorithm: JSONDocument {
        let summaries = LayoutAlgorithms.all.map { "`\($0.name)`: \($0.summary)." }
        return .object([
            words(LayoutAlgorithms.names),
            ("description", .string(summaries.joined(separator: " "))),
        ])
    }

    private static func definition(of name: String) -> JSONDocument {
        let uses = LayoutAlgorithms.all.flatMap { algorithm in
            algorithm.keys.filter { $0.name == name }.map { (algorithm: algorithm.name, key: $0) }
        }
        guard let first = uses.first?.key else { return .object([]) }
        var members: [(String, JSONDocument)] =
            switch first.values {
            case .words(let words): [Self.words(words)]
            case .number(let range):
                type("number") + [
                    ("minimum", .number(range.lowerBound)),
                    ("maximum", .number(range.upperBound)),
                ]
            case .integer(let range):
                type("integer") + [
                    ("minimum", .number(Double(range.lowerBound))),
                    ("maximum", .number(Double(range.upperBound))),
                ]
            case .aspect:
                type("string") + [("pattern", .string("^0*([1-9][0-9]?|100):0*([1-9][0-9]?|100)$"))]
            }
        let isShared = uses.allSatisfy { $0.key.defaultValue == first.defaultValue }
        if isShared, let value = first.defaultValue { members.append(("default", document(value))) }
        var sentences: [String] = []
        for (index, use) in uses.enumerated() where !uses[..<index].contains(where: { $0.key == use.key }) {
            let names = uses.filter { $0.key == use.key }.map(\.algorithm).joined(separator: " and ")
            let value = isShared ? nil : use.key.defaultValue.map { " (default \(document($0).line))" }
            sentences.append("For \(names): \(use.key.summary)\(value ?? "").")
        }
        members.append(("description", .string(sentences.joined(separator: " "))))
        return .object(members)
    }

    /// Returns the schema of one of several words, or of a parameter.
    private static func words(_ words: [String]) -> (String, JSONDocument) {
        let list = JSONDocument.object([("enum", .array(words.map { .string($0) }))])
        return ("anyOf", .array([list, .object([("$ref", .string("#/$defs/reference"))])]))
    }

    /// Returns the schema of a scalar, or of a parameter.
    private static func type(_ name: String) -> [(String, JSONDocument)] {
        [("type", .array([.string(name), .string("object")])), ("$ref", .string("#/$defs/orParam"))]
    }

    private static func document(_ value: AlgorithmKey.Default) -> JSONDocument {
        switch value {
        case .word(let word): .string(word)
        case .number(let number): .number(number)
        }
    }

    /// Returns rules for the keys that each algorithm forbids, and for an arrangement those that panes forbid.
    private static func rules(isRest: Bool) -> [JSONDocument] {
        func forbid(_ keys: [String]) -> JSONDocument {
            .object([
                ("propertyNames", .object([("not", .object([("enum", .array(keys.map { .string($0) }))]))]))
            ])
        }
        let rules = LayoutAlgorithms.all.map { algorithm -> (JSONDocument, [String]) in
            let own = algorithm.keys.map(\.name)
            let name = JSONDocument.object([("const", .string(algorithm.name))])
            return (
                .object([
                    ("properties", .object([("algorithm", name)])), ("required", .array([.string("algorithm")])),
                ]),
                LayoutAlgorithms.keys.filter { !own.contains($0) } + (isRest ? [] : ["rest"])
            )
        }
        let panes = (
            JSONDocument.object([("required", .array([.string("panes")]))]),
            ["featured"] + LayoutAlgorithms.keys + ["gap", "margin"]
        )
        return (rules + (isRest ? [] : [panes])).filter { !$0.1.isEmpty }.map {
            .object([("if", $0.0), ("then", forbid($0.1))])
        }
    }
}
