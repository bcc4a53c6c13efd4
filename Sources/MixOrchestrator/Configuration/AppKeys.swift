import Configuration
import EventSubscription
import RoomService
import Yams

/// The form of `apps` in a YAML file and in the environment.
enum AppKeys {
    private static let ofApp = ["id", "tokens", "accessKeys", "callbackKey", "callbackKeyFile", "quotas"]
    private static let ofToken = ["token", "tokenFile", "scopes", "user"]
    private static let ofAccessKey = ["id", "secret", "secretFile", "securityToken", "securityTokenFile"]

    /// Checks the list and adds its values as `apps.{n}.…`.
    ///
    /// - Throws: `StartupError` with file, line and remedy. It contains no token.
    static func read(
        _ node: Node, name: String, into values: inout [AbsoluteConfigKey: ConfigValue]
    ) throws(StartupError) {
        for (index, app) in try list(node, "apps", name).enumerated() {
            let path = ["apps", "\(index)"]
            for (key, value) in try fields(app, "apps", known: ofApp, name) {
                switch key {
                case "tokens":
                    for (number, token) in try list(value, "apps.tokens", name).enumerated() {
                        let path = path + ["tokens", "\(number)"]
                        for (key, value) in try fields(token, "apps.tokens", known: ofToken, name) {
                            let isSecret = key == "token"
                            values[AbsoluteConfigKey(path + [key])] = ConfigValue(
                                key == "scopes"
                                    ? .stringArray(try words(value, "apps.tokens.scopes", name))
                                    : .string(try word(value, "apps.tokens.\(key)", name)),
                                isSecret: isSecret)
                        }
                    }
                case "accessKeys":
                    for (number, accessKey) in try list(value, "apps.accessKeys", name).enumerated() {
                        let path = path + ["accessKeys", "\(number)"]
                        for (key, value) in try fields(accessKey, "apps.accessKeys", known: ofAccessKey, name) {
                            values[AbsoluteConfigKey(path + [key])] = ConfigValue(
                                .string(try word(value, "apps.accessKeys.\(key)", name)),
                                isSecret: key == "secret" || key == "securityToken")
                        }
                    }
                case "quotas":
                    for (key, value) in try fields(
                        value, "apps.quotas", known: Quotas.Name.allCases.map(\.rawValue), name)
                    {
                        values[AbsoluteConfigKey(path + ["quotas", key])] = ConfigValue(
                            .string(try word(value, "apps.quotas.\(key)", name)), isSecret: false)
                    }
                default:
                    values[AbsoluteConfigKey(path + [key])] = ConfigValue(
                        .string(try word(value, "apps.\(key)", name)), isSecret: key == "callbackKey")
                }
            }
        }
    }

    private static func place(_ node: Node, _ name: String) -> String { "\(name):\(node.mark?.line ?? 0)" }

    private static func list(_ node: Node, _ key: String, _ name: String) throws(StartupError) -> [Node] {
        if ConfigurationKeys.isEmpty(node) { return [] }
        guard case .sequence(let items) = node else {
            throw StartupError("\(place(node, name)): \(key): expected a list, with - before each entry")
        }
        return Array(items)
    }

    /// Returns the keys and values of one entry, without empty ones.
    private static func fields(
        _ node: Node, _ key: String, known: [String], _ name: String
    ) throws(StartupError) -> [(String, Node)] {
        guard case .mapping(let mapping) = node else {
            throw StartupError("\(place(node, name)): \(key): expected entries with \(known.joined(separator: ", "))")
        }
        var fields: [(String, Node)] = []
        for (keyNode, value) in mapping {
            let field = keyNode.string ?? ""
            guard known.contains(field) else {
                let suggestion = Suggestion.nearest(to: field, among: known).map { " Did you mean \($0)?" } ?? ""
                throw StartupError(
                    "\(place(keyNode, name)): \(key).\(field) is not a setting.\(suggestion) Settings of an entry: "
                        + known.joined(separator: ", "))
            }
            guard !fields.contains(where: { $0.0 == field }) else {
                throw StartupError("\(place(keyNode, name)): \(key).\(field) appears twice")
            }
            if !ConfigurationKeys.isEmpty(value) { fields.append((field, value)) }
        }
        return fields
    }

    private static func word(_ node: Node, _ key: String, _ name: String) throws(StartupError) -> String {
        guard let text = node.scalar?.string else {
            throw StartupError("\(place(node, name)): \(key): expected a single value")
        }
        return text
    }

    private static func words(_ node: Node, _ key: String, _ name: String) throws(StartupError) -> [String] {
        if let text = node.scalar?.string { return [text] }
        var words: [String] = []
        for item in try list(node, key, name) { words.append(try word(item, key, name)) }
        return words
    }

    /// Returns whether an environment variable sets part of `apps`.
    ///
    /// The names are `APPS_0_ID`, `APPS_0_TOKENS_0_TOKEN`, `…_TOKEN_FILE`, `…_SCOPES`, `APPS_0_ACCESS_KEYS_0_ID`,
    /// `…_SECRET`, `…_SECRET_FILE`, `…_SECURITY_TOKEN`, `…_SECURITY_TOKEN_FILE`, `APPS_0_QUOTAS_ROOMS` and so on.
    static func isVariable(_ name: some StringProtocol) -> Bool {
        let parts = name.split(separator: Character("_"), omittingEmptySubsequences: false).map { String($0) }
        func isNumber(_ index: Int) -> Bool { parts.count > index && Int(parts[index]).map { $0 >= 0 } ?? false }
        guard parts.first == "APPS", isNumber(1) else { return false }
        if ["ID", "CALLBACK_KEY", "CALLBACK_KEY_FILE"].contains(parts.dropFirst(2).joined(separator: "_")) {
            return true
        }
        if parts.dropFirst(2).first == "QUOTAS" {
            let key = parts.dropFirst(3).joined(separator: "_")
            return Quotas.Name.allCases.contains { ConfigurationKeys.variable($0.rawValue) == key }
        }
        if parts.dropFirst(2).prefix(2) == ["ACCESS", "KEYS"], isNumber(4) {
            return ofAccessKey.map(ConfigurationKeys.variable).contains(parts.dropFirst(5).joined(separator: "_"))
        }
        guard parts.count > 2, parts[2] == "TOKENS", isNumber(3) else { return false }
        return ["TOKEN", "TOKEN_FILE", "SCOPES", "USER"].contains(parts.dropFirst(4).joined(separator: "_"))
    }
}
