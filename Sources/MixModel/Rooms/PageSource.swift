import TextFormats

/// A web page that is opened in a browser and published as a stream.
public struct PageSource: Hashable, Codable, Sendable {
    /// A parameter that is added to the page's query.
    public struct Parameter: Hashable, Codable, Sendable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// `http://` or `https://`, possibly with a query and a fragment. May contain a secret.
    public var url: String
    /// Added to the query in this order.
    public var parameters: [Parameter]
    /// Added to the query as `token` when the page is opened the first time, and never again. Secret.
    public var token: String?
    /// Size in pixels, even; `nil` = the size of the room's canvas.
    public var width: Int?
    public var height: Int?
    /// Pictures per second; `nil` = the frame rate of the room's canvas.
    public var frameRate: Int?
    public var ready: PageReadiness
    /// `nil` = the end that `ready` implies.
    public var end: PageEnding?

    public static let sizes = 160...1920
    public static let frameRates = 1...60
    /// Maximum number of parameters, and maximum length of names, values, tokens and expressions in bytes of UTF-8.
    public static let mostParameters = 32
    public static let longestName = 64
    public static let longestValue = 512
    public static let longestExpression = 1024

    public init(
        url: String, parameters: [Parameter] = [], token: String? = nil, width: Int? = nil, height: Int? = nil,
        frameRate: Int? = nil, ready: PageReadiness = .painted, end: PageEnding? = nil
    ) {
        self.url = url
        self.parameters = parameters
        self.token = token
        self.width = width
        self.height = height
        self.frameRate = frameRate
        self.ready = ready
        self.end = end
    }

    /// The URL without its fragment.
    public var placeURL: String { String(decoding: url.utf8.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self) }

    /// Returns the URL to open.
    ///
    /// - Parameter hasToken: Whether the URL contains the token.
    public func address(hasToken: Bool) -> String {
        let added =
            parameters + (hasToken ? [token].compactMap(\.self).map { Parameter(name: "token", value: $0) } : [])
        guard !added.isEmpty else { return url }
        let query = added.map { PercentEncoding.encoded($0.name) + "=" + PercentEncoding.encoded($0.value) }
            .joined(separator: "&")
        let mark = url.utf8.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
        let (base, fragment) = (url[..<mark], url[mark...])
        guard let question = base.utf8.firstIndex(of: UInt8(ascii: "?")) else { return base + "?" + query + fragment }
        let isOpen = base.utf8.index(after: question) == base.endIndex || base.utf8.last == UInt8(ascii: "&")
        return base + (isOpen ? "" : "&") + query + fragment
    }
}

/// The moment at which a page goes on air.
public enum PageReadiness: Hashable, Codable, Sendable {
    /// The page has been painted, and the network has been idle for half a second.
    case painted
    /// The page writes START to its console.
    case console
    /// A JavaScript expression becomes true.
    case expression(String)

    /// The end of a page for which none is given. Scripts that know nothing of the service may write END for themselves, so
    /// it counts only for pages that are known to speak to it.
    public var impliedEnd: PageEnding { self == .console ? .console : .never }
}

/// The moment at which a page ends its publication by itself.
public enum PageEnding: Hashable, Codable, Sendable {
    case never
    /// The page writes END to its console, also before it is on air.
    case console
    /// A JavaScript expression becomes true while the page is on air.
    case expression(String)
}
