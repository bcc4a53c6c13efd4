import MixModel

/// The tenants for which events are accepted, and the permitted values of an event's `app`.
public enum AppRule: Hashable, Sendable {
    /// The sender belongs to this tenant.
    case only(AppID)
    /// The sender may speak for any of these tenants, and for the standard one, which an event without an `app`
    /// implies.
    case any(Set<AppID>)

    /// Returns the tenant of an event with this `app`.
    ///
    /// - Throws: `InputError` of code `foreignApp` or `invalidField`.
    public func app(_ named: String?, field: String) throws(InputError) -> AppID {
        switch self {
        case .only(let own):
            guard let named, AppID(named) != own else { return own }
            throw InputError(
                .foreignApp, field: field, found: JSONValue.string(named).summary,
                expected: "\"\(own)\", the token's app, or no app at all")
        case .any(let apps):
            let app = named.map { AppID($0) } ?? .standard
            guard app != .standard, !apps.contains(app) else { return app }
            let known = apps.union([.standard]).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
            throw InputError(
                .invalidField, field: field, found: JSONValue.string(app.rawValue).summary,
                expected: "one of \(known); further apps are configured under apps")
        }
    }
}
