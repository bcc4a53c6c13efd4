import TextFormats

/// Host and port at which an RTMP ingest is reached, as its streams' URLs have them. Pure.
package struct IngestPlace: Hashable, Sendable {
    /// Name or address, without brackets.
    package let host: String
    /// 1…65535.
    package let port: Int

    /// Most ingests of other nodes whose places are known.
    static let most = 1024
    /// Longest name, in bytes.
    private static let longestHost = 253

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`, with brackets around an IPv6 address; `nil` if it is none, or stands for all addresses.
    package init?(_ text: String) {
        guard let parts = text.splitAtLast(":"), let port = Int(parts.tail), 1...65_535 ~= port else { return nil }
        var host = String(parts.head)
        if host.startsInUTF8(with: "["), host.endsInUTF8(with: "]") {
            host = String(host.dropFirst().dropLast())
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        if let address = InternetAddress(text: host) {
            guard !["0.0.0.0", "::"].contains("\(address)") else { return nil }
        } else {
            // A name ends up in URLs, so that it has nothing that means something there.
            let isPlain = host.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "-._".utf8.contains(byte)
            }
            guard isPlain, 1...Self.longestHost ~= host.utf8.count else { return nil }
        }
        self.init(host: host, port: port)
    }

    /// Host and port as URLs have them.
    package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Where relays may connect to reach the ingest.
    package var reach: Reach.Place {
        InternetAddress(text: host).map { Reach.Place(scheme: "rtmp", address: "\($0)", port: port) }
            ?? Reach.Place(scheme: "rtmp", address: "", port: port, name: host)
    }

    /// Returns the place that other nodes of a cluster reach; `nil` if only this machine does.
    ///
    /// - Parameters:
    ///   - asked: The place that the configuration names, if any.
    ///   - listening: Where the ingest listens, as an address or `localhost`.
    ///   - nodeHost: Host at which the other nodes reach this one.
    package static func advertised(asked: IngestPlace?, listening: IngestPlace, nodeHost: String) -> IngestPlace? {
        if let asked { return asked }
        if ["0.0.0.0", "::"].contains(listening.host) { return IngestPlace(host: nodeHost, port: listening.port) }
        let isOwn = listening.host == "localhost" || InternetAddress(text: listening.host)?.isLoopback ?? true
        return isOwn ? nil : listening
    }

    /// Returns the places that nodes tell of, each once, in an order that does not depend on that of the nodes. What is no
    /// place is left out.
    static func of(_ texts: [String]) -> [IngestPlace] {
        let places = Set(texts.compactMap { IngestPlace($0) })
        return Array(places.sorted { $0.text.precedesInUTF8($1.text) }.prefix(most))
    }
}
