import EventSubscription
import Foundation
import MixModel
import RoomService

/// Reading of `hooks` and `hooks.{name}`. A hook is enabled by its secret.
extension HookRules {
    /// - Parameters:
    ///   - apps: The configured apps.
    ///   - file: The configuration file, whose permissions are checked if it contains a secret.
    init(_ values: ConfigurationValues, apps: Set<AppID>, file: String?) throws(StartupError) {
        self.init()
        unmatched = try values.choice("hooks.unmatched") ?? unmatched
        failsClosed = try values.flag("hooks.failClosed") ?? failsClosed
        for hook in EventHooks.all {
            let key = "hooks.\(hook.name)"
            guard let secret = try secret(of: hook, values, file: file) else {
                if let other = ["patterns", "arguments", "app", "url", "allow"].first(where: {
                    values.text("\(key).\($0)") != nil || !values.list("\(key).\($0)").isEmpty
                }) {
                    throw Self.wrong(
                        "\(key).\(other)", "the setting of a hook without a secret",
                        "\(key).secretFile or \(key).secret as well, which enables the hook")
                }
                continue
            }
            settings[hook.name] = try Self.settings(key, secret: secret, values, apps: apps)
        }
    }

    private static func settings(
        _ key: String, secret: HookSecret, _ values: ConfigurationValues, apps: Set<AppID>
    ) throws(StartupError) -> HookSettings {
        let tenant = values.text("\(key).app").map { AppID($0) }
        if let tenant, tenant != .standard, !apps.contains(tenant) {
            let known = apps.union([.standard]).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
            throw wrong("\(key).app", "\"\(tenant)\"", "one of \(known); further apps are configured under apps")
        }
        let arguments = try values.flag("\(key).arguments") ?? false
        do {
            return HookSettings(
                secret: secret,
                names: try NamePatterns(
                    values.list("\(key).patterns"), allowsArguments: arguments, tenant: tenant, tenants: apps),
                urlTemplate: try values.text("\(key).url").map { text throws(InputError) in
                    try HookURLTemplate(text)
                },
                sources: try HookSources(values.list("\(key).allow")))
        } catch {
            throw wrong("\(key).\(error.field)", error.found ?? "nothing", error.expected)
        }
    }

    private mutating func secret(
        of hook: any EventHook, _ values: ConfigurationValues, file configuration: String?
    ) throws(StartupError) -> HookSecret? {
        let key = "hooks.\(hook.name).secret"
        let text: String
        let place: String?
        switch (values.secret(key), values.text("\(key)File")) {
        case (nil, nil): return nil
        case (_?, _?): throw Self.wrong(key, "both", "either \(key) or \(key)File")
        case (let given?, nil): (text, place) = (given, configuration)
        case (nil, let path?):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw Self.wrong("\(key)File", "\"\(path)\"", "a readable file")
            }
            text = String(decoding: data.prefix(1 << 10), as: UTF8.self).trimmingCharacters(
                in: .whitespacesAndNewlines)
            place = path
        }
        guard hook.shortestSecret...512 ~= text.utf8.count, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Self.wrong(
                key, "\(text.utf8.count) bytes",
                "\(hook.shortestSecret) to 512 printable ASCII characters without spaces, as `openssl rand -hex 32` "
                    + "prints")
        }
        if let place, let mode = try? FileManager.default.attributesOfItem(atPath: place)[.posixPermissions] as? Int,
            mode & 0o007 != 0
        {
            warnings.append("\(place) holds secrets and is open to every user of this machine: run chmod o= \(place)")
        }
        return HookSecret(text)
    }

    private static func wrong(_ key: String, _ found: String, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found); expected \(expected)")
    }
}
