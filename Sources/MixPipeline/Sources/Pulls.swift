/// Opens the pull that a URL's scheme asks for.
enum Pulls {
    /// Begins to connect and returns at once; a connection that cannot be made ends with `.ended`.
    static func open(_ url: String, onEvent: @escaping @Sendable (PullEvent) -> Void) -> any SourcePull {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return switch scheme {
        case "http", "https": HTTPPull.open(url, onEvent: onEvent)
        // TLS and Adobe's way of logging in are `rtmp2src`'s.
        case "rtmp" where !RTMPAddress.hasCredentials(url): RTMPSocketPull.open(url, onEvent: onEvent)
        default: RTMPPull.open(url, onEvent: onEvent)
        }
    }
}
