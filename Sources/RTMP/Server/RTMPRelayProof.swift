/// The code by which a relay may play one stream of the service's own server.
///
/// It is in the URL that the service gives the relay, and worth nothing for another stream.
package enum RTMPRelayProof {
    /// Returns the HMAC-SHA256 of the stream's identifier in hexadecimal digits.
    package static func text(stream: String, secret: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let code = TLSDigest.authenticationCode(of: stream.utf8, key: Array(secret.utf8))
        return String(decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
