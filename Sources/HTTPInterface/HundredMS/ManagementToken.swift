import Crypto
import EventSubscription
import Foundation

/// The management token of a call: a JWT (RFC 7519) that app servers sign with HS256 and the secret of their access key. Pure.
enum ManagementToken {
    /// Longest token, in bytes.
    static let longest = 4096
    /// Tolerated clock difference, in seconds.
    static let leeway = 30.0

    /// Returns the key with which a token is signed.
    ///
    /// - Parameter now: Seconds since 1970.
    /// - Throws: `HMSFault` of status 401. The error is the same for an unknown key and a wrong signature.
    static func key(of token: String, among keys: AccessKeys, now: Double) throws(HMSFault) -> AccessKey {
        guard token.utf8.count <= longest else { throw .token("the token has more than \(longest) bytes") }
        let parts = Array(token.utf8).split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let head = document(parts[0]), let claims = document(parts[1]),
            let signature = decoded(parts[2])
        else { throw .token("not a JWT: expected header, claims and signature in Base64url, joined by dots") }
        guard head["alg"] == .string("HS256"), head["crit"] == nil else {
            throw .token("the header's alg is not HS256")
        }
        guard case .string(let id)? = claims["access_key"], let key = keys[id], !key.needsSecurityToken,
            HMAC<SHA256>.isValidAuthenticationCode(
                signature, authenticating: parts[0] + [UInt8(ascii: ".")] + parts[1], using: key.key)
        else { throw .token("not found: the access_key is unknown, or the token is not signed with its secret") }
        try check(claims, now)
        return key
    }

    /// Checks the claims of a token whose signature is valid.
    private static func check(_ claims: [String: JSONValue], _ now: Double) throws(HMSFault) {
        guard case .number(let end)? = claims["exp"] else { throw .token("exp is missing") }
        guard now < end + leeway else { throw .token("the token has expired: sign a new one") }
        if let start = claims["nbf"] {
            guard case .number(let start) = start, now >= start - leeway else {
                throw .token("the token is not valid yet: nbf is in the future")
            }
        }
        guard claims["version"] == .number(2) else { throw .token("version is not 2") }
        guard claims["type"] == .string("management") else {
            throw .token("type is not management: tokens of apps and their users are not accepted here")
        }
    }

    private static func document(_ part: ArraySlice<UInt8>) -> [String: JSONValue]? {
        guard let bytes = decoded(part), case .object(let fields)? = try? JSONValue(parsing: bytes) else { return nil }
        return fields
    }

    /// Decodes Base64url without padding (RFC 7515, section 2).
    private static func decoded(_ part: ArraySlice<UInt8>) -> [UInt8]? {
        var text: [UInt8] = []
        text.reserveCapacity(part.count + 3)
        for byte in part {
            switch byte {
            case UInt8(ascii: "-"): text.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): text.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: text.append(byte)
            }
        }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        return Data(base64Encoded: Data(text)).map { Array($0) }
    }
}
