import TextFormats

/// The code that permits a relay to play one stream of the service's own server.
///
/// It is part of the URL that the service gives the relay, and is not valid for any other stream.
package enum RTMPRelayProof {
    /// Returns the HMAC-SHA256 of the stream's identifier in hexadecimal digits.
    package static func text(stream: String, secret: String) -> String {
        Hexadecimal.text(TLSDigest.authenticationCode(of: stream.utf8, key: Array(secret.utf8)))
    }
}
