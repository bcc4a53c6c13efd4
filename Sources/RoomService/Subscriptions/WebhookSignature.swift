import Crypto
import Foundation
import MixModel
import TextFormats

/// Signatures that prove a message's origin to its receiver.
package enum WebhookSignature {
    /// Returns the headers of Standard Webhooks 1.0: HMAC-SHA256 over `id.timestamp.body`, with one signature for each
    /// valid secret.
    ///
    /// - Parameter time: Time in seconds since 1970.
    static func standard(
        id: String, time: Int, body: [UInt8], secrets: [Subscription.Secret]
    ) -> [(name: String, value: String)] {
        let signed = Data("\(id).\(time).".utf8) + Data(body)
        let signatures = secrets.compactMap { secret -> String? in
            guard secret.validUntil.map({ Double(time) < $0 }) ?? true, let key = key(of: secret.text) else {
                return nil
            }
            let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: key))
            return "v1," + Data(code).base64EncodedString()
        }
        var headers = [("webhook-id", id), ("webhook-timestamp", "\(time)")]
        if !signatures.isEmpty { headers.append(("webhook-signature", signatures.joined(separator: " "))) }
        return headers
    }

    /// Returns the headers that receivers of Alibaba's other callbacks expect: MD5 over host, time and key. The
    /// signature does not cover the body: it proves only that the sender knows the key.
    static func compatible(host: String, time: Int, key: String) -> [(name: String, value: String)] {
        let digest = Insecure.MD5.hash(data: Data("\(host)|\(time)|\(key)".utf8))
        return [("ALI-LIVE-TIMESTAMP", "\(time)"), ("ALI-LIVE-SIGNATURE", Hexadecimal.text(digest))]
    }

    package static let prefix = "whsec_"
    /// Lengths of a key in bytes, as Standard Webhooks defines them.
    static let keyLength = 24...64

    /// Returns the key of a secret; `nil` when the text is not a secret.
    package static func key(of secret: String) -> Data? {
        guard secret.hasPrefix(prefix), let key = Data(base64Encoded: String(secret.dropFirst(prefix.count))),
            keyLength.contains(key.count)
        else { return nil }
        return key
    }

    package static func newSecret() -> String {
        prefix + SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) }.base64EncodedString()
    }
}
