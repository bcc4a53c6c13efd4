/// Which addresses a connection may go to once the name of its host has been looked up: every public one, and those of
/// local networks that the operator has spelt.
///
/// A plan carries it to the relay, which looks names up itself: what a name means may have changed since the URL was
/// accepted, so the address that is connected to is the one that is judged.
public struct Reach: Hashable, Codable, Sendable {
    /// Addresses of a local network that are allowed.
    public struct Place: Hashable, Codable, Sendable {
        /// `nil`: by every scheme.
        public var scheme: String?
        /// An address as `InternetAddress` writes it, a pattern of them (`10.0.*`), or `localhost`, which means loopback
        /// addresses where the URL says `localhost` too.
        public var address: String
        /// `nil`: on every port.
        public var port: Int?

        public init(scheme: String? = nil, address: String, port: Int? = nil) {
            self.scheme = scheme
            self.address = address
            self.port = port
        }
    }

    public var places: [Place]

    public init(places: [Place]) { self.places = places }

    /// 127.0.0.0/8 and ::1, beside the public ones.
    public static let loopback = Reach(places: [Place(address: "127.*"), Place(address: "::1")])

    /// Where a connection is to go.
    public struct Target: Hashable, Sendable {
        /// In lower case, as in `rtmp`.
        public var scheme: String
        /// A name or an address; IPv6 without brackets.
        public var host: String
        public var port: Int

        public init(scheme: String, host: String, port: Int) {
            self.scheme = scheme
            self.host = host
            self.port = port
        }
    }

    public func allows(_ address: InternetAddress, of target: Target) -> Bool {
        address.isPublic
            || places.contains { place in
                guard place.scheme ?? target.scheme == target.scheme, place.port ?? target.port == target.port else {
                    return false
                }
                if place.address == "localhost" { return target.host.lowercased() == "localhost" && address.isLoopback }
                return Wildcard.matches(place.address, "\(address)")
            }
    }

    /// Why there is no connection, and what to do about it; holds nothing of the URL but its host.
    ///
    /// - Parameter setting: The list that places come from, as in `sources.allow`.
    public static func refusal(_ target: Target, at address: InternetAddress, setting: String) -> String {
        let spelt = "\(address)".contains(":") ? "[\(address)]" : "\(address)"
        let what = target.host == "\(address)" ? target.host : "\(target.host) is at \(address), which"
        return "may not connect: \(what) is in a local network and not in \(setting); "
            + "add \(target.scheme)://\(spelt):\(target.port) there if it is meant"
    }
}
