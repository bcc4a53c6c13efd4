import EventSubscription

/// What a client says of itself in `connection`.
struct WCSConnect: Hashable, Sendable {
    /// All that the client sent.
    var fields: [String: JSONValue]

    init(_ fields: [String: JSONValue]) {
        self.fields = fields
    }

    /// A token of the service, as `authToken` or in `custom`.
    var token: String? { fields.object("custom").text("token") ?? fields.text("authToken") }
}
