import EventSubscription
import MixModel
import RoomService

/// Reads subscriptions of this service's own kind from requests.
struct SubscriptionReader: Sendable {
    let registry: SubscriptionRegistry

    /// Longest note, in Unicode scalars.
    static let longestNote = 64

    /// Reads a new subscription. Omitted fields get their defaults; without `secret`, it has none.
    func read(_ document: JSONValue, id: SubscriptionID, app: AppID) throws(InputError) -> Subscription {
        var reader = try FieldReader(document)
        var subscription = Subscription(id: id, app: app, kind: .own, url: "", createdAt: wallClock())
        guard reader.value("url") != nil else {
            throw InputError(
                .missingField, field: "url", expected: "the URL to post messages to, such as https://host/path")
        }
        try patch(&subscription, &reader)
        if let secret = try Self.secret(&reader) { subscription.secrets = [.init(text: secret)] }
        try reader.finish()
        return subscription
    }

    /// Applies a JSON merge patch (RFC 7396): omitted fields stay, and null restores the default.
    func patch(_ subscription: inout Subscription, with document: JSONValue) throws(InputError) {
        var reader = try FieldReader(document)
        try patch(&subscription, &reader)
        try reader.finish()
    }

    /// Returns the value of `secret`, if it is present.
    static func secret(_ reader: inout FieldReader) throws(InputError) -> String? {
        guard let text = try reader.string("secret") else { return nil }
        guard WebhookSignature.key(of: text) != nil else {
            // Not quoted, because the value may nevertheless be a secret.
            throw InputError(
                .invalidField, field: "secret",
                expected: "whsec_ and 24 to 64 bytes in Base64, as `echo whsec_$(openssl rand -base64 32)` prints")
        }
        return text
    }

    private func patch(_ subscription: inout Subscription, _ reader: inout FieldReader) throws(InputError) {
        if reader.has("url") {
            let url = try reader.requiredString(
                "url", expected: "the URL to post messages to, such as https://host/path")
            // The placeholder that answers show instead of a query must not be accepted as a query.
            guard !url.hasSuffix("?***") else {
                throw InputError(
                    .invalidField, field: "url", found: "a redacted URL",
                    expected: "the full URL: responses show ?*** in place of its query")
            }
            subscription.url = try registry.check(url, field: "url").text
        }
        if reader.has("events") { subscription.topics = try topics(&reader) }
        if reader.has("rooms") {
            subscription.rooms = try names("rooms", at: SubscriptionRegistry.mostRooms, &reader)
        }
        if reader.has("users") {
            subscription.users = try names("users", at: SubscriptionRegistry.mostUsers, &reader)?.map { UserID($0) }
        }
        if reader.has("enabled") { subscription.isEnabled = try reader.boolean("enabled") ?? true }
        if reader.has("note") {
            subscription.note = try reader.string("note")
            guard subscription.note?.unicodeScalars.count ?? 0 <= Self.longestNote else {
                throw InputError(.invalidField, field: "note", expected: "at most \(Self.longestNote) characters")
            }
        }
    }

    /// Reads topics: `stream.published`, or `stream.*` for all that begin with `stream.`.
    private func topics(_ reader: inout FieldReader) throws(InputError) -> Set<Topic>? {
        guard let elements = try reader.array("events") else { return nil }
        var topics: Set<Topic> = []
        for (element, path) in elements {
            guard case .string(let text) = element else {
                throw InputError(.invalidField, field: path, found: element.summary, expected: "a type of event")
            }
            let found = Topic.allCases.filter { topic in
                topic.rawValue == text || (text.hasSuffix(".*") && topic.rawValue.hasPrefix(text.dropLast()))
            }
            guard !found.isEmpty else {
                let known = Topic.allCases.map(\.rawValue)
                throw InputError(
                    .invalidField, field: path, found: element.summary,
                    expected: "one of " + known.joined(separator: ", ") + ", or as in stream.*"
                        + Suggestion.phrase(for: text, among: known))
            }
            topics.formUnion(found)
        }
        guard !topics.isEmpty else {
            throw InputError(.invalidField, field: "events", expected: "at least one type, or null for all of them")
        }
        return topics
    }

    private func names(
        _ key: String, at most: Int, _ reader: inout FieldReader
    ) throws(InputError) -> [String]? {
        guard let elements = try reader.array(key) else { return nil }
        guard 1...most ~= elements.count else {
            throw InputError(
                .invalidField, field: key, found: "\(elements.count)", expected: "1 to \(most) names, or null for all")
        }
        var names: [String] = []
        for (element, path) in elements {
            guard case .string(let text) = element else {
                throw InputError(.invalidField, field: path, found: element.summary, expected: "a name")
            }
            let name = try EventParser.identifier(text, field: path)
            if !names.contains(where: name.hasSameUTF8) { names.append(name) }
        }
        return names
    }
}
