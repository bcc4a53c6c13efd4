/// A request of a WHIP client (RFC 9725).
struct WHIPRequest: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// - Parameter offer: The session description.
        case begin(offer: String)
        case end
    }

    var kind: Kind
    /// HTTP URL.
    var url: String
    /// Secret.
    var token: String?

    /// Largest accepted answer, in bytes.
    static let longestAnswer = 64 << 10

    var message: HTTPExchange.Message {
        var message = HTTPExchange.Message()
        if let token { message.fields.append(("Authorization", "Bearer \(token)")) }
        switch kind {
        case .begin(let offer):
            message.method = "POST"
            message.fields += [("Content-Type", "application/sdp"), ("Accept", "application/sdp")]
            message.body = Array(offer.utf8)
        case .end: message.method = "DELETE"
        }
        return message
    }
}

/// A WHIP server's response, without the parts that the client does not need.
struct WHIPResponse: Hashable, Sendable {
    var status: Int
    /// Value of `Location`.
    var location: String?
    /// Value of `Content-Type`.
    var type: String?
    var body: [UInt8]

    init(status: Int, location: String? = nil, type: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.location = location
        self.type = type
        self.body = body
    }

    init(_ response: HTTPResponse) {
        self.init(
            status: response.status, location: response.field("location"), type: response.field("content-type"),
            body: response.body)
    }
}
