import EventSubscription

/// A client's data in `connection`.
struct WCSConnect: Hashable, Sendable {
    /// All fields that the client sent.
    var fields: [String: JSONValue]

    init(_ fields: [String: JSONValue]) {
        self.fields = fields
    }

    /// A token of the service, as `authToken` or in `custom`.
    var token: String? { fields.object("custom").text("token") ?? fields.text("authToken") }
}
