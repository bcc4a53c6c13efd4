/// A JSON web token (RFC 7519) signed with HMAC-SHA256 (`HS256`). Any other algorithm is refused, including `none`.
struct WebToken {
    private let claims: HookDocument

    /// Difference between clocks that is tolerated, in seconds.
    static let leeway: Double = 60

    /// Returns the token's claims if its signature is valid. The time is not checked, see `isValid`.
    static func claims(of token: String, key: HookSecret) -> WebToken? {
        let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard token.utf8.count <= HookBase64.longest, parts.count == 3,
            let signature = HookBase64.decodedForURLs(Substring(parts[2])),
            HookSignature.areEqual(
                signature,
                HookSignature.hmac(
                    .sha256, of: Array(token.utf8.prefix(token.utf8.count - parts[2].count - 1)), key: key)),
            let header = HookBase64.decodedForURLs(Substring(parts[0])),
            let algorithm = try? HookDocument(parsing: header)["alg"].text, algorithm == "HS256",
            let bytes = HookBase64.decodedForURLs(Substring(parts[1])),
            let claims = try? HookDocument(parsing: bytes)
        else { return nil }
        return WebToken(claims: claims)
    }

    subscript(_ claim: String) -> HookDocument { claims[claim] }

    /// Returns whether the token has an expiry time, has not expired, and may already be used.
    ///
    /// - Parameter time: Time in seconds since 1970.
    func isValid(at time: Double) -> Bool {
        guard let expiry = claims["exp"].integer, time < Double(expiry) + Self.leeway else { return false }
        return claims["nbf"].integer.map { time >= Double($0) - Self.leeway } ?? !claims["nbf"].exists
    }
}
