import MixModel

/// For which tenant events are taken, and what an event's `app` may say.
public enum AppRule: Hashable, Sendable {
    /// Whoever sends them belongs to this one.
    case only(AppID)
    /// Whoever sends them may speak for any of these; without an `app` it is the standard one.
    case any(Set<AppID>)

    /// - Throws: `InputError` of code `foreignApp` or `invalidField`.
    public func app(_ named: String?, field: String) throws(InputError) -> AppID {
        switch self {
        case .only(let own):
            guard let named, AppID(named) != own else { return own }
            throw InputError(
                .foreignApp, field: field, found: JSONValue.string(named).summary,
                expected: "\"\(own)\", the app of the token, or nothing")
        case .any(let apps):
            let app = named.map { AppID($0) } ?? .standard
            guard app != .standard, !apps.contains(app) else { return app }
            let known = apps.union([.standard]).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
            throw InputError(
                .invalidField, field: field, found: JSONValue.string(app.rawValue).summary,
                expected: "\(known); others are made in the configuration under apps")
        }
    }
}
