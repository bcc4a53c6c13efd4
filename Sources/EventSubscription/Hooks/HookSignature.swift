import Crypto
import TextFormats

/// Message authentication codes of signed callbacks.
package enum HookSignature {
    package enum Hash: Hashable, Sendable { case sha1, sha256 }

    /// Returns the HMAC (RFC 2104) of the bytes: 20 bytes for SHA-1, 32 for SHA-256.
    package static func hmac(_ hash: Hash, of bytes: [UInt8], key: HookSecret) -> [UInt8] {
        let key = SymmetricKey(data: key.bytes)
        return switch hash {
        case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: bytes, using: key))
        case .sha256: Array(HMAC<SHA256>.authenticationCode(for: bytes, using: key))
        }
    }

    /// Returns a short digest that distinguishes texts without revealing them, for identifiers that are stored.
    static func mark(of text: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array(text.utf8)).prefix(8))
    }

    /// Returns whether the bytes are equal. The time depends only on their number.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
