import TextFormats

/// The fields of form data (`application/x-www-form-urlencoded`) or of a query, in order.
///
/// Media servers append publishers' text to the end, so a name may occur again there: the first value is the server's
/// own. Fields after the 256th are ignored.
package struct HookForm: Hashable, Sendable {
    private struct Field: Hashable, Sendable {
        var name: String
        /// The value; `nil` if it is not UTF-8.
        var value: String?
    }
    private let fields: [Field]

    /// Maximum number of fields that are read.
    static let mostFields = 256

    package init(_ bytes: some Collection<UInt8>) {
        fields = bytes.split(separator: UInt8(ascii: "&"), maxSplits: Self.mostFields, omittingEmptySubsequences: true)
            .prefix(Self.mostFields)
            .compactMap { field in
                let encoded = field.prefix { $0 != UInt8(ascii: "=") }
                guard let name = Self.decoded(encoded) else { return nil }
                return Field(name: name, value: Self.decoded(field.dropFirst(encoded.count + 1)))
            }
    }

    /// Returns the first value of a field; `nil` if the field is missing or the value is not UTF-8.
    package func first(_ name: String) -> String? { fields.first { $0.name.hasSameUTF8(as: name) }?.value }

    /// The first value of each field whose value is UTF-8.
    package var values: [String: String] {
        fields.reversed().reduce(into: [:]) { values, field in
            if let value = field.value { values[field.name] = value }
        }
    }

    /// Returns whether the field occurs, even if its value is not UTF-8.
    package func has(_ name: String) -> Bool { fields.contains { $0.name.hasSameUTF8(as: name) } }

    /// Decodes form data; `nil` if the result is not UTF-8, because a replacement character must not become part of an
    /// identifier.
    private static func decoded(_ encoded: some Collection<UInt8>) -> String? {
        String(validating: PercentEncoding.formDecodedBytes(encoded), as: UTF8.self)
    }
}
