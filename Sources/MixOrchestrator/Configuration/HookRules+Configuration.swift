import EventSubscription
import Foundation
import MixModel
import RoomService

/// Reads `hooks` and `hooks.{name}`. A hook is enabled by its secret.
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
                let others = [
                    "patterns", "arguments", "app", "url", "allow", "poll", "pollSeconds", "pollSecret",
                    "pollSecretFile",
                ]
                if let other = others.first(where: {
                    values.text("\(key).\($0)") != nil || !values.list("\(key).\($0)").isEmpty
                }) {
                    throw Self.wrong(
                        "\(key).\(other)", "the setting of a hook without a secret",
                        "\(key).secretFile or \(key).secret as well, which enables the hook")
                }
                continue
            }
            var settings = try Self.settings(key, secret: secret, values, apps: apps)
            settings.poll = try poll(key, values, file: file)
            self.settings[hook.name] = settings
        }
    }

    private mutating func poll(
        _ key: String, _ values: ConfigurationValues, file: String?
    ) throws(StartupError) -> HookPoll? {
        let texts = values.list("\(key).poll")
        let seconds = try values.integer("\(key).pollSeconds", in: 1...3600)
        let credentials = try text(of: "\(key).pollSecret", values, file: file).map { HookSecret($0) }
        guard !texts.isEmpty else {
            if seconds != nil || credentials != nil {
                throw Self.wrong("\(key).poll", "nothing", "the URL of the server's statistics (docs/hooks.md)")
            }
            return nil
        }
        guard texts.count <= HookPoll.mostURLs else {
            throw Self.wrong("\(key).poll", "\(texts.count) URLs", "at most \(HookPoll.mostURLs)")
        }
        // Statistics do not contain them, so that every publisher would seem to have left.
        guard try values.flag("\(key).arguments") != true else {
            throw Self.wrong(
                "\(key).poll", "poll beside arguments: true",
                "either of them: statistics do not tell the arguments of publishers")
        }
        var urls: [StreamURL] = []
        for text in texts {
            guard let url = try? StreamURL(text), [.http, .https].contains(url.scheme) else {
                throw Self.wrong(
                    "\(key).poll", "\"\(StreamURL.redacted(text))\"",
                    "a URL that starts with http:// or https://, without user name")
            }
            urls.append(url)
        }
        return HookPoll(urls: urls, credentials: credentials, seconds: seconds ?? HookPoll.standardSeconds)
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
        of hook: any EventHook, _ values: ConfigurationValues, file: String?
    ) throws(StartupError) -> HookSecret? {
        let key = "hooks.\(hook.name).secret"
        guard let text = try text(of: key, values, file: file) else { return nil }
        guard text.utf8.count >= hook.shortestSecret else {
            throw Self.wrong(
                key, "\(text.utf8.count) bytes",
                "\(hook.shortestSecret) to 512 printable ASCII characters without spaces, as `openssl rand -hex 32` "
                    + "prints")
        }
        if let form = hook.form(neededBy: text) { throw Self.wrong(key, "another form", form) }
        return HookSecret(text)
    }

    /// Returns a secret, which is in the setting itself or in the file that the setting with `File` names.
    ///
    /// - Parameter configuration: The configuration file.
    private mutating func text(
        of key: String, _ values: ConfigurationValues, file configuration: String?
    ) throws(StartupError) -> String? {
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
        guard 1...512 ~= text.utf8.count, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Self.wrong(
                key, "\(text.utf8.count) bytes",
                "at most 512 printable ASCII characters without spaces, as `openssl rand -hex 32` prints")
        }
        if let place, let mode = try? FileManager.default.attributesOfItem(atPath: place)[.posixPermissions] as? Int,
            mode & 0o007 != 0
        {
            let warning =
                "\(place) holds secrets and is open to every user of this machine: run chmod o= \(place)"
            if !warnings.contains(warning) { warnings.append(warning) }
        }
        return text
    }

    private static func wrong(_ key: String, _ found: String, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found); expected \(expected)")
    }
}
