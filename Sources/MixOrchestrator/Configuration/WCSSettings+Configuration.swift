import EventSubscription
import HTTPInterface
import RoomService

extension WCSSettings {
    private enum Access: String, CaseIterable { case tokens, hook }

    /// - Parameters:
    ///   - callbacks: Addresses that may be called.
    ///   - file: The configuration file, whose permissions are checked if it contains a key.
    /// - Returns: `nil` if the interface is off.
    init?(_ values: ConfigurationValues, callbacks: AllowList, file: String?) throws(StartupError) {
        let patterns = values.list("wcs.patterns")
        do throws(InputError) {
            self.init(names: try NamePatterns(patterns.isEmpty ? WCSSettings.patterns : patterns))
        } catch {
            throw Self.wrong("wcs.\(error.field)", error.found ?? "nothing", error.expected)
        }
        numbers.all = try values.integer("wcs.maxConnections", in: 1...1_000_000) ?? numbers.all
        numbers.perAddress =
            try values.integer("wcs.maxConnectionsPerAddress", in: 1...1_000_000) ?? numbers.perAddress
        var holder = PlaybackSettings()
        hooks = try Self.hooks(values, callbacks, &holder, file: file)
        warnings = holder.warnings
        let access: Access? = try values.choice("wcs.access")
        guard access != .hook || hooks != nil else {
            throw Self.wrong("wcs.access", "hook without wcs.hooks.url", "both, or wcs.access: tokens")
        }
        hooks?.replacesTokens = access == .hook
        guard try values.flag("wcs.enabled") ?? false else { return nil }
    }

    /// Reads `wcs.hooks`.
    private static func hooks(
        _ values: ConfigurationValues, _ allowed: AllowList, _ holder: inout PlaybackSettings, file: String?
    ) throws(StartupError) -> WCSHooks.Settings? {
        let name = "wcs.hooks"
        let secret = try holder.key("\(name).secret", values, file: file)
        let timeout = try values.number("\(name).timeout", in: WCSHooks.Settings.timeouts)
        guard let base = values.text("\(name).url") else {
            guard secret == nil, timeout == nil else {
                throw wrong(
                    "\(name).url", "nothing", "the URL of the app's server, as in http://127.0.0.1:8081/apps/EchoApp")
            }
            return nil
        }
        guard secret.map({ WebhookSignature.key(of: $0) != nil }) ?? true else {
            throw wrong(
                "\(name).secret", "another text", "\(WebhookSignature.prefix) followed by 24 to 64 bytes in Base64")
        }
        guard !base.contains("?") else { throw wrong("\(name).url", "a query", "a URL without one") }
        do throws(InputError) {
            return try WCSHooks.Settings(
                base: base, timeout: timeout ?? WCSHooks.Settings.standardTimeout, secret: secret
            ) { text throws(InputError) in
                try allowed.check(text, schemes: [.http, .https], field: "\(name).url", setting: "callbacks.allow")
            }
        } catch {
            throw wrong(error.field, error.found.map { "\"\($0)\"" } ?? "another text", error.expected)
        }
    }

    private static func wrong(_ key: String, _ found: String, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found); expected \(expected)")
    }
}
