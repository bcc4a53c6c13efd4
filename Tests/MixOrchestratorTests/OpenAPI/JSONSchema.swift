import Foundation

/// Checks values against the part of JSON Schema 2020-12 that openapi.yaml uses. An unknown keyword is reported as an
/// error of the schema, so that no rule goes unchecked.
struct JSONSchema {
    private let schema: Any
    private let root: [String: Any]

    init(_ schema: Any, in root: [String: Any]) {
        self.schema = schema
        self.root = root
    }

    /// Returns the faults of `value`, one line each.
    func faults(of value: Any, at path: String = "$") -> [String] {
        guard let schema = schema as? [String: Any] else { return [] }
        return schema.sorted { $0.key < $1.key }.flatMap { key, rule in fault(key, rule, schema, value, path) }
    }

    private func sub(_ schema: Any) -> JSONSchema { JSONSchema(schema, in: root) }

    private func fault(
        _ key: String, _ rule: Any, _ schema: [String: Any], _ value: Any, _ path: String
    ) -> [String] {
        func expect(_ holds: Bool) -> [String] { holds ? [] : ["\(path): \(key) \(rule), found \(value)"] }
        let text = value as? String
        let object = value as? [String: Any]
        let array = value as? [Any]
        let number = Self.number(value)
        switch key {
        case "$ref":
            guard let reference = rule as? String else { return ["\(path): $ref \(rule)"] }
            return sub(OpenAPIDocument.resolved(["$ref": reference], in: root)).faults(of: value, at: path)
        case "type":
            let kinds = rule as? [String] ?? [rule as? String ?? ""]
            return expect(kinds.contains { Self.isKind($0, value) })
        case "const": return expect(Self.areEqual(rule, value))
        case "enum": return expect((rule as? [Any] ?? []).contains { Self.areEqual($0, value) })
        case "required":
            guard let object else { return [] }
            let missing = (rule as? [String] ?? []).filter { object[$0] == nil }
            return missing.isEmpty ? [] : ["\(path): misses \(missing)"]
        case "properties":
            guard let object, let properties = rule as? [String: Any] else { return [] }
            return properties.flatMap { name, schema in
                object[name].map { sub(schema).faults(of: $0, at: "\(path).\(name)") } ?? []
            }
        case "additionalProperties":
            guard let object else { return [] }
            let known = Set((schema["properties"] as? [String: Any] ?? [:]).keys)
            let strangers = object.keys.filter { !known.contains($0) }.sorted()
            if let isAllowed = rule as? Bool {
                return isAllowed || strangers.isEmpty ? [] : ["\(path): has \(strangers)"]
            }
            return strangers.flatMap { sub(rule).faults(of: object[$0] ?? NSNull(), at: "\(path).\($0)") }
        case "maxProperties": return expect(object.map { $0.count <= rule as? Int ?? 0 } ?? true)
        case "propertyNames":
            return object?.keys.sorted().flatMap { sub(rule).faults(of: $0, at: path) } ?? []
        case "items":
            return (array ?? []).enumerated().flatMap { sub(rule).faults(of: $1, at: "\(path)[\($0)]") }
        case "minItems": return expect(array.map { $0.count >= rule as? Int ?? 0 } ?? true)
        case "maxItems": return expect(array.map { $0.count <= rule as? Int ?? 0 } ?? true)
        case "minLength": return expect(text.map { $0.unicodeScalars.count >= rule as? Int ?? 0 } ?? true)
        case "maxLength": return expect(text.map { $0.unicodeScalars.count <= rule as? Int ?? 0 } ?? true)
        case "minimum": return expect(number.map { $0 >= Self.number(rule) ?? 0 } ?? true)
        case "exclusiveMinimum": return expect(number.map { $0 > Self.number(rule) ?? 0 } ?? true)
        case "maximum": return expect(number.map { $0 <= Self.number(rule) ?? 0 } ?? true)
        case "multipleOf":
            return expect(number.map { $0.truncatingRemainder(dividingBy: Self.number(rule) ?? 1) == 0 } ?? true)
        case "pattern":
            guard let text, let pattern = rule as? String else { return [] }
            return expect(text.range(of: pattern, options: .regularExpression) != nil)
        case "format":
            guard let text, rule as? String == "date-time" else { return [] }
            let styles = [true, false].map { Date.ISO8601FormatStyle(includingFractionalSeconds: $0) }
            return expect(styles.contains { (try? $0.parse(text)) != nil })
        case "allOf": return (rule as? [Any] ?? []).flatMap { sub($0).faults(of: value, at: path) }
        case "oneOf": return expect((rule as? [Any] ?? []).filter { sub($0).faults(of: value).isEmpty }.count == 1)
        case "anyOf": return expect((rule as? [Any] ?? []).contains { sub($0).faults(of: value).isEmpty })
        case "not": return expect(!sub(rule).faults(of: value).isEmpty)
        case "description", "default", "example": return []
        default: return ["\(path): the keyword \(key) is not known to this checker"]
        }
    }

    private static func number(_ value: Any) -> Double? {
        if value is Bool { return nil }
        return (value as? Int).map(Double.init) ?? value as? Double
    }

    private static func isKind(_ kind: String, _ value: Any) -> Bool {
        switch kind {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": value is Bool
        case "number": number(value) != nil
        case "integer": number(value).map { $0 == $0.rounded() } ?? false
        case "null": value is NSNull
        default: false
        }
    }

    private static func areEqual(_ one: Any, _ other: Any) -> Bool {
        if let one = number(one), let other = number(other) { return one == other }
        if let one = one as? String, let other = other as? String { return one == other }
        if let one = one as? Bool, let other = other as? Bool { return one == other }
        return one is NSNull && other is NSNull
    }
}
