import EventSubscription

/// What a client says of itself in `connection`.
struct WCSConnect: Hashable, Sendable {
    var appKey: String
    /// A token of the service, as `authToken` or in `custom`.
    var token: String?

    init(_ fields: [String: JSONValue]) {
        appKey = fields.text("appKey") ?? "defaultApp"
        token = fields.object("custom").text("token") ?? fields.text("authToken")
    }
}
