import MixModel
import RTMP
import TextFormats

/// Opens the kind of pull that a URL needs, by its scheme and credentials.
enum Pulls {
    /// Begins to connect and returns at once; a connection that cannot be made ends with `.ended`.
    ///
    /// - Parameter reach: Addresses that the connection may go to; `nil` = any.
    static func open(_ url: String, reach: Reach? = nil, onEvent: @escaping @Sendable (PullEvent) -> Void)
        -> any SourcePull
    {
        let limits = reach.map { Destination.Limits(reach: $0, setting: "sources.allow") }
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return switch scheme {
        case "http", "https": HTTPPull.open(url, limits: limits, onEvent: onEvent)
        case _ where RTMPAddress.hasCredentials(url): RTMPPull.open(url, limits: limits, onEvent: onEvent)
        default: RTMPSocketPull.open(url, limits: limits, onEvent: onEvent)
        }
    }
}
