/// A value that writes its document by itself: for what every event writes, because Codable's containers take most of an
/// event's time otherwise.
///
/// Says exactly what its `Encodable` conformance says; `expectAll` in the tests compares the two.
public protocol DocumentWritable: Encodable {
    func write(to document: inout DocumentWriter) throws
}

extension DocumentWritable {
    /// The value as JSON.
    ///
    /// - Throws: `EncodingError` for numbers that JSON has not.
    public func document() throws -> String {
        var document = DocumentWriter(capacity: 1024)
        try write(to: &document)
        return document.text
    }
}
