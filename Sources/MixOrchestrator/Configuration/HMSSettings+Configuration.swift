import EventSubscription
import HTTPInterface
import MixModel
import RoomService
import TextFormats

extension HMSSettings {
    /// Reads the settings under `hundredms`.
    ///
    /// - Parameters:
    ///   - sources: Addresses from which pages may be loaded.
    ///   - callbacks: Addresses that may be called.
    ///   - file: The configuration file, whose permissions are checked if it contains a secret.
    /// - Returns: `nil` if the interface is off.
    init?(
        _ values: ConfigurationValues, apps: AppSettings, sources: AllowList, callbacks: AllowList, file: String?
    ) throws(StartupError) {
        self.init()
        isStrict = try values.flag("hundredms.strict") ?? isStrict
        maxSeconds = try values.number("hundredms.maxSeconds", in: Self.durations) ?? maxSeconds
        emptySeconds = try values.number("hundredms.emptySeconds", in: Self.durations) ?? emptySeconds
        meetingURL = values.text("hundredms.meetingURL")
        if let meetingURL {
            // Checked with sample names in place, because a URL cannot contain braces. The part after `#` is the page's
            // own.
            let sample = EventParser.substitute(meetingURL, ["room": "room", "app": "app"])
            _ = try Self.url(
                String(sample.prefix { $0 != "#" }), "hundredms.meetingURL", sources, setting: "sources.allow")
        }
        if let text = values.text("hundredms.url") {
            guard let url = try? StreamURL(text), url.scheme == .http || url.scheme == .https, !text.contains("?")
            else {
                throw Self.wrong("hundredms.url", "another text", "a URL without a query, as in https://mixer.example")
            }
            publicURL = text.hasSuffix("/") ? String(text.dropLast()) : text
        }
        renditions = try Self.renditions(values.list("hundredms.renditions"))
        webhook = try readWebhook(values, callbacks, file: file)
        guard try values.flag("hundredms.enabled") ?? false else { return nil }
        guard !apps.accessKeys.isEmpty else {
            throw Self.wrong(
                "hundredms.enabled", "true without an access key",
                "accessKeys of an app, whose secret signs the management tokens")
        }
    }

    private static func renditions(_ words: [String]) throws(StartupError) -> [Int] {
        guard words.count <= HLSSettings.mostRenditions else {
            throw wrong("hundredms.renditions", "\(words.count)", "at most \(HLSSettings.mostRenditions) heights")
        }
        var heights: [Int] = []
        for word in words {
            guard let height = Int(word), 90...1080 ~= height, height % 2 == 0 else {
                throw wrong("hundredms.renditions", "\"\(word)\"", "an even number of pixels, 90…1080")
            }
            heights.append(height)
        }
        return heights
    }

    /// Reads `hundredms.webhook`.
    private mutating func readWebhook(
        _ values: ConfigurationValues, _ callbacks: AllowList, file: String?
    ) throws(StartupError) -> HMSWebhooks.Settings? {
        let name = "hundredms.webhook"
        var holder = PlaybackSettings()
        let secret = try holder.key("\(name).secret", values, file: file)
        warnings = holder.warnings
        let header = values.text("\(name).header")
        guard let text = values.text("\(name).url") else {
            guard secret == nil, header == nil else {
                throw Self.wrong("\(name).url", "nothing", "the URL to which webhooks are posted")
            }
            return nil
        }
        let url = try Self.url(text, "\(name).url", callbacks, setting: "callbacks.allow")
        guard (secret == nil) == (header == nil) else {
            throw Self.wrong("\(name).header", "it or the secret alone", "both header and secret, or neither")
        }
        guard let header, let secret else { return HMSWebhooks.Settings(url: url, header: nil) }
        let isName =
            1...HMSWebhooks.Settings.longestName ~= header.utf8.count
            && header.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 || $0 == 0x2D }
        guard isName else {
            throw Self.wrong(
                "\(name).header", "\"\(header.prefix(100))\"", "letters, digits and dashes, as in X-Secret")
        }
        return HMSWebhooks.Settings(url: url, header: (header, secret))
    }

    private static func url(
        _ text: String, _ key: String, _ allowed: AllowList, setting: String
    ) throws(StartupError) -> StreamURL {
        do throws(InputError) {
            return try allowed.check(text, schemes: [.http, .https], field: key, setting: setting)
        } catch {
            throw wrong(error.field, error.found.map { "\"\($0)\"" } ?? "another text", error.expected)
        }
    }

    private static func wrong(_ key: String, _ found: String, _ expected: String) -> StartupError {
        StartupError("configuration: \(key): found \(found); expected \(expected)")
    }
}
