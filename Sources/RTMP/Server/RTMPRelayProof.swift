import TextFormats

/// The code by which a relay may play one stream of the service's own server.
///
/// It is in the URL that the service gives the relay, and worth nothing for another stream.
package enum RTMPRelayProof {
    /// Returns the HMAC-SHA256 of the stream's identifier in hexadecimal digits.
    package static func text(stream: String, secret: String) -> String {
        Hexadecimal.text(TLSDigest.authenticationCode(of: stream.utf8, key: Array(secret.utf8)))
    }
}
