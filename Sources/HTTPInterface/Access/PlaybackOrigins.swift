import HTTPTypes
import RoomService

/// The origins of web pages that may read answers, such as those for viewers (Fetch, §3.2).
package enum PlaybackOrigins: Hashable, Sendable {
    case any
    case only(Set<String>)

    /// No origin but the service's own; the default.
    package static let none = PlaybackOrigins.only([])

    /// - Parameter setting: Name of the setting with the origins.
    /// - Throws: `StartupError` when an entry is not an origin.
    package init(_ origins: [String], setting: String = "playback.cors") throws(StartupError) {
        if origins == ["*"] {
            self = .any
            return
        }
        for origin in origins {
            let parts = origin.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, ["http:", "https:"].contains(parts[0]), parts[1].isEmpty, !parts[2].isEmpty,
                origin.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !parts[2].contains("*"),
                !parts[2].contains("@")
            else {
                throw StartupError(
                    "configuration: \(setting): found \"\(origin)\"; expected \"*\" alone, or origins as in "
                        + "\"https://player.example\"")
            }
        }
        self = .only(Set(origins.map { $0.lowercased() }))
    }

    /// Returns whether the pages of an origin may read answers.
    func contains(_ origin: String) -> Bool {
        switch self {
        case .any: true
        case .only(let origins): origins.contains(origin.lowercased())
        }
    }

    /// Returns the headers of an answer to a request with this `Origin`.
    func headers(origin: String?) -> HTTPFields {
        switch self {
        case .any: return [.accessControlAllowOrigin: "*"]
        case .only(let origins):
            // A cache must not give one page's answer to another page.
            var headers: HTTPFields = [.vary: "Origin"]
            if let origin, origins.contains(origin.lowercased()) { headers[.accessControlAllowOrigin] = origin }
            return headers
        }
    }

    /// Returns the headers of an answer to a preflight.
    func preflight(origin: String?, methods: String = "GET, HEAD, OPTIONS") -> HTTPFields {
        var headers = headers(origin: origin)
        headers[.accessControlAllowMethods] = methods
        headers[.accessControlAllowHeaders] = "*"
        headers[.accessControlMaxAge] = "86400"
        return headers
    }
}
