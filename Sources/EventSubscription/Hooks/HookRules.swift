/// The configured hooks, and the settings common to all of them.
package struct HookRules: Sendable {
    /// The answer to a publisher whose stream's name belongs to no room.
    package enum Unmatched: String, Hashable, Sendable, CaseIterable {
        /// The publisher may continue but is in no room.
        case allow
        /// The publisher is refused.
        case refuse
    }

    package var unmatched = Unmatched.allow
    /// Whether publishers are refused while the service cannot store events. If false, they may continue, and the
    /// stream's next report adds it to the room.
    package var failsClosed = false
    /// Settings of the hooks that are enabled, by name.
    package var settings: [String: HookSettings] = [:]
    /// Problems that do not prevent the service from starting but should be fixed.
    package var warnings: [String] = []

    package init() {}
}

/// The settings of one hook.
package struct HookSettings: Sendable {
    package var secret: HookSecret
    package var names: NamePatterns
    /// Template of pull URLs, see `HookURLTemplate`; `nil` = `sources.urlTemplate`.
    package var urlTemplate: HookURLTemplate?
    package var sources: HookSources
    /// The servers' statistics; `nil` if they are not read.
    package var poll: HookPoll?

    package init(
        secret: HookSecret, names: NamePatterns, urlTemplate: HookURLTemplate? = nil, sources: HookSources = .loopback,
        poll: HookPoll? = nil
    ) {
        self.secret = secret
        self.names = names
        self.urlTemplate = urlTemplate
        self.sources = sources
        self.poll = poll
    }
}

/// The servers whose statistics are read for a hook, and the interval.
package struct HookPoll: Hashable, Sendable {
    /// One URL for each server, `http://` or `https://`. No other URL is requested, and redirects are not followed.
    package var urls: [StreamURL]
    /// User name and password as `name:password`, or the access token of OvenMediaEngine; `nil` = none are sent.
    package var credentials: HookSecret?
    /// Time between two readings, in seconds.
    package var seconds: Int

    package static let standardSeconds = 10
    /// Maximum number of servers.
    package static let mostURLs = 16

    package init(urls: [StreamURL], credentials: HookSecret? = nil, seconds: Int = standardSeconds) {
        self.urls = urls
        self.credentials = credentials
        self.seconds = seconds
    }
}
