/// A client's request to publish or play a stream.
package struct RTMPStreamRequest: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        case publish, play
    }

    package var kind: Kind
    /// The application as the client wrote it, without a query and without slashes at its ends.
    package var application: String
    /// The stream's name without a query. May be a secret.
    package var name: String
    /// The queries of name and application, joined by `&`. May hold secrets.
    package var query: String
    /// Whether the client says that it is this service's (`RTMPClient.publisherName`).
    package var isOwnClient = false

    package init(kind: Kind, application: String, name: String, query: String = "") {
        self.kind = kind
        self.application = application
        self.name = name
        self.query = query
    }

    /// Reads the parts of a request. A query may follow the name (`alice?token=…`) or the application
    /// (`live?token=…`); that of the name comes first.
    init(_ kind: Kind, application: String, stream: String) {
        let (app, appQuery) = Self.split(application)
        let (name, nameQuery) = Self.split(stream)
        self.init(
            kind: kind, application: Self.trimmed(app), name: Self.trimmed(name),
            query: [nameQuery, appQuery].filter { !$0.isEmpty }.joined(separator: "&"))
    }

    /// Returns the text before and after the first `?`. Compares bytes, because a combining mark may follow it.
    private static func split(_ text: String) -> (String, String) {
        let bytes = text.utf8
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return (text, "") }
        return (
            String(decoding: bytes[..<mark], as: UTF8.self), String(decoding: bytes[mark...].dropFirst(), as: UTF8.self)
        )
    }

    private static func trimmed(_ text: String) -> String {
        let slash = UInt8(ascii: "/")
        var bytes = text.utf8.drop { $0 == slash }
        while bytes.last == slash { bytes = bytes.dropLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
