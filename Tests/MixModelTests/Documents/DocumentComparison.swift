import Foundation
import MixModel
import Testing

/// Expects that a value's own document equals the one of its `Encodable` conformance, and that `JSONDecoder` reads it.
func expectSame<Value: DocumentWritable & Decodable & Equatable>(
    _ value: Value, _ comment: String = "", sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let ours = Data(try value.document().utf8)
    let theirs = try JSONEncoder().encode(value)
    // Two texts that are not dictionaries would be equal too.
    let fields = try #require(try JSONSerialization.jsonObject(with: ours) as? NSDictionary)
    #expect(
        fields == (try JSONSerialization.jsonObject(with: theirs) as? NSDictionary),
        "\(String(decoding: ours, as: UTF8.self)) \(comment)", sourceLocation: sourceLocation)
    #expect(
        try JSONDecoder().decode(Value.self, from: ours) == value, "\(comment)", sourceLocation: sourceLocation)
}

/// Expects the same for a value without any `nil`: a property that is added later fails here until it is written and
/// the sample contains it.
///
/// - Parameter left: Names of properties that are not part of the document.
func expectAll<Value: DocumentWritable & Decodable & Equatable>(
    _ value: Value, except left: Set<String> = [], sourceLocation: SourceLocation = #_sourceLocation
) throws {
    for child in Mirror(reflecting: value).children where !left.contains(child.label ?? "") {
        // A boxed value is optional within its box.
        let isBoxed = String(describing: type(of: child.value)).hasPrefix("Boxed<")
        let value = isBoxed ? Mirror(reflecting: child.value).children.first?.value ?? child.value : child.value
        let mirror = Mirror(reflecting: value)
        let isMissing = mirror.displayStyle == .optional && mirror.children.isEmpty
        #expect(!isMissing, "the sample has no \(child.label ?? "")", sourceLocation: sourceLocation)
    }
    try expectSame(value, sourceLocation: sourceLocation)
}
