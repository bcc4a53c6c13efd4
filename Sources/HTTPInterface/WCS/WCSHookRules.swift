import EventSubscription

/// The app server's settings for the hooks of one connection: `restClientConfig` in its answer to `connect`. Pure.
struct WCSHookRules: Hashable, Sendable {
    private struct Rule: Hashable, Sendable {
        var isSent = true
        var failsOnError = false
        var renames = false
        /// Fields that are omitted.
        var excluded: Set<String> = []
    }

    private var rules: [WCSHookMethod: Rule] = [:]

    /// Creates the default rules: everything is sent, and errors are logged.
    init() {}

    /// - Parameter answer: The fields of the answer to `connect`.
    init(_ answer: [String: JSONValue]) {
        let config = answer.object("restClientConfig")
        for method in WCSHookMethod.allCases {
            let fields = config.object(method.rawValue)
            var rule = Rule()
            rule.isSent = fields.text("restPolicy") != "DISABLE"
            rule.failsOnError = fields.text("restOnError") == "FAIL"
            let overwritten = Self.names(fields["restOverwrite"])
            rule.renames =
                fields.text("restPolicy") == "OVERWRITE" && (overwritten.isEmpty || overwritten.contains("name"))
            rule.excluded = Self.names(fields["restExclude"])
            rules[method] = rule
        }
    }

    private func rule(_ method: WCSHookMethod) -> Rule { rules[method] ?? Rule() }

    func isSent(_ method: WCSHookMethod) -> Bool { rule(method).isSent }

    /// Returns whether a stream is refused if the server cannot be asked.
    func failsOnError(_ method: WCSHookMethod) -> Bool { rule(method).failsOnError }

    /// Returns whether the server's answer may rename the stream.
    func renames(_ method: WCSHookMethod) -> Bool { rule(method).renames }

    func fields(_ method: WCSHookMethod, _ fields: [String: JSONValue]) -> [String: JSONValue] {
        let excluded = rule(method).excluded
        return excluded.isEmpty ? fields : fields.filter { !excluded.contains($0.key) }
    }

    /// Reads names of fields: a list, or a comma-separated text.
    private static func names(_ value: JSONValue?) -> Set<String> {
        switch value {
        case .string(let text):
            Set(text.split(separator: ",").map { String($0.drop { $0 == " " }.prefix { $0 != " " }) })
        case .array(let elements): Set(elements.compactMap { if case .string(let name) = $0 { name } else { nil } })
        default: []
        }
    }
}
