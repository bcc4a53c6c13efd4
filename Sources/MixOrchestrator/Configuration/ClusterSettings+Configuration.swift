import Foundation
import RoomService

extension ClusterSettings {
    /// - Returns: `nil` if the service runs alone.
    /// - Throws: `StartupError` that names the key.
    init?(_ values: ConfigurationValues, store: StoreConfiguration) throws(StartupError) {
        let name = values.text("node.id")
        let lease = try values.integer("node.leaseSeconds", in: 2...600)
        let capacity = try values.integer("node.maxRooms", in: 1...1_000_000)
        let drain = try values.integer("node.drainSeconds", in: 0...3600)
        let region = values.text("node.region")
        let publicURL = values.text("node.publicURL")
        let viewers: Viewers? = try values.choice("node.viewers")
        guard let url = values.text("node.url") else {
            for (key, isSet) in [
                ("node.id", name != nil), ("node.leaseSeconds", lease != nil), ("node.maxRooms", capacity != nil),
                ("node.drainSeconds", drain != nil), ("node.region", region != nil),
                ("node.publicURL", publicURL != nil), ("node.viewers", viewers != nil),
            ] where isSet {
                throw StartupError(
                    "configuration: \(key): found without node.url; expected the address of this node as well")
            }
            return nil
        }
        guard store.target != nil else {
            throw StartupError(
                "configuration: node.url: found with a store in a file; expected store.url postgresql://user@host/database, "
                    + "the same for all nodes")
        }
        guard let address = Self.address(url) else {
            throw StartupError(
                "configuration: node.url: expected an address that the other nodes reach, as in http://10.0.0.1:8080")
        }
        let id = name ?? ProcessInfo.processInfo.hostName
        guard id.isPlainLabel else {
            throw StartupError(
                "configuration: node.id: found \"\(id.prefix(100))\"; expected 1 to 100 letters, digits, \"-\", \".\" and \"_\""
            )
        }
        guard region?.isPlainLabel ?? true else {
            throw StartupError(
                "configuration: node.region: expected 1 to 100 letters, digits, \"-\", \".\" and \"_\", as in eu-west")
        }
        self.init(
            name: id, url: address, lease: .seconds(lease ?? 30), capacity: capacity, drain: .seconds(drain ?? 0),
            region: region)
        if let publicURL {
            guard let address = Self.address(publicURL) else {
                throw StartupError(
                    "configuration: node.publicURL: expected an address at which viewers reach this node, as in "
                        + "https://a.mix.example")
            }
            self.publicURL = address
        }
        self.viewers = viewers ?? .proxy
        guard self.viewers == .proxy || self.publicURL != nil else {
            throw StartupError(
                "configuration: node.viewers: found redirect without node.publicURL; expected the address at which viewers "
                    + "reach this node as well")
        }
    }

    /// Returns an address of a node without a slash at the end; `nil` if the text is no URL of a host alone.
    private static func address(_ text: String) -> String? {
        guard let parts = URLComponents(string: text), ["http", "https"].contains(parts.scheme), let host = parts.host,
            !host.isEmpty, parts.user == nil, parts.query == nil, parts.fragment == nil,
            ["", "/"].contains(parts.path), text.utf8.count <= 500
        else { return nil }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}

extension String {
    /// Whether this is 1 to 100 letters, digits, `-`, `.` and `_` of ASCII.
    var isPlainLabel: Bool {
        1...100 ~= utf8.count
            && utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || "-._".utf8.contains(byte)
            }
    }
}
