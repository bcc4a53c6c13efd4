import Crypto
import EncodedMedia
import Foundation
import TextFormats

/// The TURN servers of the configuration, and what opens them.
package struct TurnServers: Hashable, Sendable {
    /// One server.
    package struct Server: Hashable, Sendable {
        /// Whether clients speak TLS with it.
        package var isSecured: Bool
        /// `host:port`, perhaps with `?transport=udp` or `?transport=tcp`.
        package var place: String

        package init(isSecured: Bool = false, place: String) {
            self.isSecured = isSecured
            self.place = place
        }

        /// The URL that clients receive (RFC 7065 §3.1).
        var url: String { "\(isSecured ? "turns" : "turn"):\(place)" }
    }

    /// The credentials with which clients may use the servers.
    package enum Access: Hashable, Sendable {
        /// One name and password for everyone.
        case password(user: String, password: String)
        /// Names and passwords that expire. The secret is the servers', too.
        ///
        /// - Parameter validity: Seconds, > 0.
        case secret(String, validity: Int)
    }

    /// A name and a password. Secret.
    package struct Credentials: Hashable, Sendable {
        package var user: String
        package var password: String
    }

    package var servers: [Server]
    package var access: Access

    package static let validities = 300...2_592_000

    package init(_ servers: [Server], access: Access) {
        self.servers = servers
        self.access = access
    }

    /// Returns what opens the servers from now on.
    ///
    /// With a shared secret the name is the time at which it expires, and the password its HMAC-SHA1 in base64
    /// (draft-uberti-behave-turn-rest-00 §2.2), as coturn's `static-auth-secret` wants it.
    ///
    /// - Parameter now: Seconds since 1970.
    package func credentials(at now: Int) -> Credentials {
        switch access {
        case .password(let user, let password): return Credentials(user: user, password: password)
        case .secret(let secret, let validity):
            let user = "\(now.saturatingSum(validity)):mixorchestrator"
            let code = HMAC<Insecure.SHA1>.authenticationCode(
                for: Array(user.utf8), using: SymmetricKey(data: Array(secret.utf8)))
            return Credentials(user: user, password: Data(code).base64EncodedString())
        }
    }

    /// Returns the servers as clients are told them.
    ///
    /// - Parameter now: Seconds since 1970.
    package func iceServers(at now: Int) -> [WebRTCRules.ICEServer] {
        let credentials = credentials(at: now)
        return servers.map { .init(url: $0.url, user: credentials.user, password: credentials.password) }
    }

    /// Returns the URLs for workers: without TURN over TLS, which libnice does not support, and without transports.
    /// Workers try UDP and TCP; one that is told a single transport does not connect.
    ///
    /// - Parameter now: Seconds since 1970.
    package func workerURLs(at now: Int) -> [String] {
        let credentials = credentials(at: now)
        // Of the characters of a password those are encoded that would end it in a URL.
        let encoded = [credentials.user, credentials.password].map(PercentEncoding.encoded).joined(separator: ":")
        let places = servers.filter { !$0.isSecured }.map { $0.place.prefix { $0 != "?" } }
        return places.enumerated().filter { !places[..<$0.offset].contains($0.element) }
            .map { "turn://\(encoded)@\($0.element)" }
    }
}
