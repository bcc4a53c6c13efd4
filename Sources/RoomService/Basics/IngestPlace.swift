import TextFormats

/// The host and port of an RTMP ingest, as the URLs of its streams contain them. Pure.
package struct IngestPlace: Hashable, Sendable {
    /// Host name or IP address, without brackets.
    package let host: String
    /// Port, 1…65535.
    package let port: Int

    /// Maximum number of ingests of other nodes whose places are kept.
    static let most = 1024
    /// Maximum length of a host name, in bytes.
    private static let longestHost = 253

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Reads `host:port`, with brackets around an IPv6 address; `nil` if the text is not a place, or is a wildcard
    /// address.
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
            // The name ends up in URLs, so it must not contain characters that have a meaning there.
            let isPlain = host.utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "-._".utf8.contains(byte)
            }
            guard isPlain, 1...Self.longestHost ~= host.utf8.count else { return nil }
        }
        self.init(host: host, port: port)
    }

    /// Host and port as they appear in URLs.
    package var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// The address at which relays may reach the ingest.
    package var reach: Reach.Place {
        InternetAddress(text: host).map { Reach.Place(scheme: "rtmp", address: "\($0)", port: port) }
            ?? Reach.Place(scheme: "rtmp", address: "", port: port, name: host)
    }

    /// Returns the place at which other nodes of a cluster reach this one; `nil` if only this machine can reach it.
    ///
    /// - Parameters:
    ///   - asked: The place named in the configuration, if any.
    ///   - listening: Where the ingest listens, as an address or `localhost`.
    ///   - nodeHost: Host at which the other nodes reach this one.
    package static func advertised(asked: IngestPlace?, listening: IngestPlace, nodeHost: String) -> IngestPlace? {
        if let asked { return asked }
        if ["0.0.0.0", "::"].contains(listening.host) { return IngestPlace(host: nodeHost, port: listening.port) }
        let isOwn = listening.host == "localhost" || InternetAddress(text: listening.host)?.isLoopback ?? true
        return isOwn ? nil : listening
    }

    /// Parses the places that nodes report. Each is returned once, in an order that does not depend on that of the
    /// nodes; texts that are not places are left out.
    static func of(_ texts: [String]) -> [IngestPlace] {
        let places = Set(texts.compactMap { IngestPlace($0) })
        return Array(places.sorted { $0.text.precedesInUTF8($1.text) }.prefix(most))
    }
}
