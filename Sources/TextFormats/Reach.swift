/// The addresses to which a connection may go once its host name has been resolved: all public ones, and those in local
/// networks that the operator has listed.
///
/// A plan carries it to the relay, which resolves names itself. A name may resolve to another address than when the URL
/// was accepted, so the check applies to the address of the actual connection.
public struct Reach: Hashable, Codable, Sendable {
    /// Allowed addresses of a local network.
    public struct Place: Hashable, Codable, Sendable {
        /// URL scheme; `nil` means any.
        public var scheme: String?
        /// An address in the notation of `InternetAddress`, a pattern of addresses (`10.0.*`), or `localhost`, which
        /// matches loopback addresses if the URL says `localhost` too.
        public var address: String
        /// Port; `nil` means any.
        public var port: Int?
        /// Host that URLs must name, in upper or lower case; any address to which it resolves is then allowed. `nil`
        /// means that `address` decides.
        public var name: String?

        public init(scheme: String? = nil, address: String, port: Int? = nil, name: String? = nil) {
            self.scheme = scheme
            self.address = address
            self.port = port
            self.name = name
        }
    }

    public var places: [Place]

    public init(places: [Place]) { self.places = places }

    /// 127.0.0.0/8 and ::1, in addition to public addresses.
    public static let loopback = Reach(places: [Place(address: "127.*"), Place(address: "::1")])

    /// Returns the reach with additional places.
    public func adding(_ more: [Place]) -> Reach { more.isEmpty ? self : Reach(places: places + more) }

    /// The destination of a connection.
    public struct Target: Hashable, Sendable {
        /// URL scheme in lower case, such as `rtmp`.
        public var scheme: String
        /// Name or address. IPv6 addresses have no brackets.
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
                if let name = place.name { return target.host.lowercased().hasSameUTF8(as: name.lowercased()) }
                if place.address == "localhost" { return target.host.lowercased() == "localhost" && address.isLoopback }
                return Wildcard.matches(place.address, "\(address)")
            }
    }

    /// Returns the reason for refusing a connection, and the remedy. The text contains only scheme, host and port of
    /// the URL.
    ///
    /// - Parameter setting: Name of the list of allowed places, such as `sources.allow`.
    public static func refusal(_ target: Target, at address: InternetAddress, setting: String) -> String {
        let spelt = "\(address)".contains(":") ? "[\(address)]" : "\(address)"
        let what = target.host == "\(address)" ? target.host : "\(target.host) is at \(address), which"
        return "may not connect: \(what) is in a local network and not in \(setting); "
            + "add \(target.scheme)://\(spelt):\(target.port) there to allow it"
    }
}
