/// A value that writes its own document.
///
/// Intended for values that every event writes, because Codable's containers would take most of an event's time. The
/// document equals that of the `Encodable` conformance exactly; `expectAll` in the tests compares the two.
public protocol DocumentWritable: Encodable {
    func write(to document: inout DocumentWriter) throws
}

extension DocumentWritable {
    /// Returns the value as JSON.
    ///
    /// - Throws: `EncodingError` for numbers that JSON cannot represent.
    public func document() throws -> String {
        var document = DocumentWriter(capacity: 1024)
        try write(to: &document)
        return document.text
    }
}
