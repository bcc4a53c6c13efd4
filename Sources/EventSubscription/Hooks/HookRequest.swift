import TextFormats

/// A call of a media server, independent of any HTTP library.
package struct HookRequest: Hashable, Sendable {
    package enum Method: String, Hashable, Sendable, CaseIterable {
        case get = "GET"
        case post = "POST"
    }

    package var method: Method
    /// Query as received, without `?`.
    package var query: String
    /// Headers with names in lower case, in order of arrival.
    package var headers: [Header]
    /// Body as received. Signatures are verified over these bytes.
    package var body: [UInt8]
    /// Last component of the path, percent-decoded; `nil` if the path ends with the hook's name.
    package var pathToken: String?
    /// IP address of the caller.
    package var peer: String
    /// Time of arrival, in seconds since 1970.
    package var arrival: Double

    package struct Header: Hashable, Sendable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Maximum length of a body, in bytes, unless its hook specifies another. Most servers send at most a few thousand.
    package static let longestBody = 64 << 10

    package init(
        method: Method, query: String = "", headers: [Header] = [], body: [UInt8] = [], pathToken: String? = nil,
        peer: String = "127.0.0.1", arrival: Double = 0
    ) {
        self.method = method
        self.query = query
        self.headers = headers
        self.body = body
        self.pathToken = pathToken
        self.peer = peer
        self.arrival = arrival
    }

    /// Returns the first value of a header.
    ///
    /// - Parameter name: In lower case.
    package func header(_ name: String) -> String? { headers.first { $0.name.hasSameUTF8(as: name) }?.value }

    /// The secret sent by a server without signatures: the last component of the path, `token` in the query, or a
    /// bearer token, in this order.
    package var token: String? {
        if let pathToken { return pathToken }
        if let token = HookForm(query.utf8).first("token") { return token }
        guard let field = header("authorization"), field.prefix(7).lowercased() == "bearer " else { return nil }
        return String(field.dropFirst(7))
    }
}
