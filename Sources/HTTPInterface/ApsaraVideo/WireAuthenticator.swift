import EventSubscription
import RoomService
import TextFormats

/// Authenticates calls.
///
/// No content of a request is trusted before its signature is verified, and each signed request is accepted only once.
package struct WireAuthenticator: Sendable {
    private let keys: AccessKeys
    private let nonces: [String: NonceCache]
    private let now: @Sendable () -> Double

    /// Maximum difference between a request's time and the service's, in seconds, in either direction.
    static let window = 900.0
    static let longestNonce = 128

    /// - Parameters:
    ///   - nonceLimit: Maximum number of nonces kept for each key.
    ///   - start: Time before which signed requests are refused, in seconds since 1970. Defaults to `now()`.
    ///   - now: Returns the current time, in seconds since 1970.
    package init(
        _ keys: AccessKeys, nonceLimit: Int = NonceCache.standardLimit, start: Double? = nil,
        now: @escaping @Sendable () -> Double = wallClock
    ) {
        self.keys = keys
        self.now = now
        let start = start ?? now()
        nonces = Dictionary(
            uniqueKeysWithValues: keys.ids.map { ($0, NonceCache(limit: nonceLimit, start: start)) })
    }

    /// The extent to which a request's head alone authenticates the caller.
    enum Standing: Sendable {
        /// The headers are signed, including the digest of the body.
        case signed(AccessKey, signedHeaders: Set<String>)
        /// The parameters are signed, and all of them are in the query. A body has no meaning.
        case proven(AccessKey)
        /// The parameters are signed, and some of them are in a form that has not been read yet.
        case unproven
    }

    /// Judges a request before its body is read.
    ///
    /// An unauthenticated client may withhold the body or send an arbitrary amount.
    ///
    /// - Throws: `CallError` as `accessKey` does, if no body can make the request valid.
    func standing(ofHead head: WireRequest, hasBody: Bool) throws(CallError) -> Standing {
        guard !keys.isEmpty else { throw Self.notConfigured }
        if let authorization = head.headers["authorization"], !authorization.isEmpty {
            return try acs3(head, authorization)
        }
        guard hasBody, head.isForm else { return .proven(try accessKey(ofParameters: head)) }
        if let id = head.parameters["AccessKeyId"] {
            let key = try key(id)
            if head.parameters["Timestamp"] != nil { _ = try time(head.parameters["Timestamp"], "Timestamp") }
            if let nonce = head.parameters["SignatureNonce"], nonces[key.id]?.contains(nonce) == true {
                throw Self.nonceUsed("SignatureNonce")
            }
        }
        return .unproven
    }

    /// Returns the access key of a request whose body has been read.
    ///
    /// - Throws: `CallError` with the remedy. If the signature does not match, the error contains the string to sign,
    ///   which consists only of the caller's own request.
    func accessKey(of request: WireRequest, _ standing: Standing) throws(CallError) -> AccessKey {
        switch standing {
        case .signed(let key, let signedHeaders):
            guard request.body.isEmpty || signedHeaders.contains("content-type") else {
                throw Self.incomplete("SignedHeaders does not name content-type")
            }
            let digest = WireSignature.ACS3.digest(of: request.body)
            guard request.headers["x-acs-content-sha256"]?.lowercased() == digest else {
                throw Self.mismatch("x-acs-content-sha256 is not the body's: \(digest)")
            }
            return key
        case .proven(let key): return key
        case .unproven: return try accessKey(ofParameters: request)
        }
    }

    /// Authenticates a request that has been read completely.
    func accessKey(of request: WireRequest) throws(CallError) -> AccessKey {
        try accessKey(of: request, try standing(ofHead: request, hasBody: !request.body.isEmpty))
    }

    private func accessKey(ofParameters request: WireRequest) throws(CallError) -> AccessKey {
        if request.parameters["Signature"] != nil { return try rpc(request) }
        guard request.parameters["AccessKeyId"] == nil else {
            throw Self.incomplete("AccessKeyId was sent without Signature")
        }
        throw CallError(
            .badRequest, "MissingAccessKeyId",
            "the request is not signed: expected the header Authorization with ACS3-HMAC-SHA256, or the parameters "
                + "AccessKeyId and Signature")
    }

    // MARK: ACS3

    /// The headers that must be signed so that they cannot be changed in transit.
    private static let signedHeaders = [
        "host", "x-acs-date", "x-acs-action", "x-acs-version", "x-acs-signature-nonce", "x-acs-content-sha256",
    ]

    private func acs3(_ request: WireRequest, _ text: String) throws(CallError) -> Standing {
        guard text.hasPrefix("ACS3-") else {
            throw Self.unsupported("Authorization does not begin with ACS3-HMAC-SHA256")
        }
        guard let authorization = WireSignature.ACS3.Authorization(text) else {
            throw Self.incomplete("Authorization has no Credential, no SignedHeaders or no Signature")
        }
        guard authorization.algorithm == WireSignature.ACS3.algorithm else {
            throw Self.unsupported("Authorization: found \(authorization.algorithm.prefix(bytes: 32))")
        }
        var needed = Self.signedHeaders
        for name in ["x-acs-security-token", "x-acs-accesskey-id"] where request.headers[name] != nil {
            needed.append(name)
        }
        let signed = Set(authorization.signedHeaders)
        guard signed.count == authorization.signedHeaders.count else {
            throw Self.incomplete("SignedHeaders names a header twice")
        }
        for name in needed {
            guard signed.contains(name) else { throw Self.incomplete("SignedHeaders does not name \(name)") }
            guard request.headers[name] != nil else { throw Self.incomplete("the header \(name) is missing") }
        }
        if let named = request.headers["x-acs-accesskey-id"], named != authorization.accessKey {
            throw Self.incomplete("x-acs-accesskey-id is not the Credential")
        }
        let key = try key(authorization.accessKey)
        let signedAt = try time(request.headers["x-acs-date"], "x-acs-date")
        // `accessKey(of:_:)` compares the digest with the body once it has been read.
        let digest = request.headers["x-acs-content-sha256"]?.lowercased() ?? ""
        let canonical = WireSignature.ACS3.canonicalRequest(
            request, authorization.signedHeaders, bodyDigest: digest)
        let stringToSign = WireSignature.ACS3.stringToSign(canonical)
        guard WireSignature.ACS3.isRight(authorization.signature, stringToSign, key: key.key) else {
            throw Self.mismatch(stringToSign)
        }
        try check(securityToken: request.headers["x-acs-security-token"], key)
        try take(nonce: request.headers["x-acs-signature-nonce"], "x-acs-signature-nonce", key, signedAt)
        return .signed(key, signedHeaders: signed)
    }

    // MARK: RPC

    private func rpc(_ request: WireRequest) throws(CallError) -> AccessKey {
        let parameters = request.parameters
        guard let id = parameters["AccessKeyId"] else {
            throw CallError(.badRequest, "MissingAccessKeyId", "Signature was sent without AccessKeyId")
        }
        if let method = parameters["SignatureMethod"], method != "HMAC-SHA1" {
            throw Self.unsupported("SignatureMethod: found \(method.prefix(bytes: 32))")
        }
        if let version = parameters["SignatureVersion"], version != "1.0" {
            throw Self.unsupported("SignatureVersion: found \(version.prefix(bytes: 32)); expected 1.0")
        }
        if let type = parameters["SignatureType"] {
            throw Self.unsupported("SignatureType: found \(type.prefix(bytes: 32))")
        }
        let key = try key(id)
        let signedAt = try time(parameters["Timestamp"], "Timestamp")
        let stringToSign = WireSignature.RPC.stringToSign(method: request.method, parameters)
        guard WireSignature.RPC.isRight(parameters["Signature"] ?? "", stringToSign, key: key.rpcKey) else {
            throw Self.mismatch(stringToSign)
        }
        try check(securityToken: parameters["SecurityToken"], key)
        try take(nonce: parameters["SignatureNonce"], "SignatureNonce", key, signedAt)
        return key
    }

    // MARK: Both

    private func key(_ id: String) throws(CallError) -> AccessKey {
        guard let key = keys[id] else {
            throw CallError(
                .notFound, "InvalidAccessKeyId.NotFound",
                "the access key \(id.prefix(bytes: 128)) is unknown: configure it under apps[].accessKeys")
        }
        return key
    }

    private func time(_ text: String?, _ name: String) throws(CallError) -> Double {
        let expected = "the time of signing in UTC, such as 2026-01-31T12:00:00Z"
        guard let text, !text.isEmpty else { throw .missing(name, expected) }
        guard let time = Timestamp.seconds(text) else {
            throw CallError(
                .badRequest, "InvalidTimeStamp.Format",
                "\(name): found \"\(text.prefix(bytes: 40))\"; expected \(expected)")
        }
        let now = now()
        guard abs(time - now) <= Self.window else {
            throw CallError(
                .badRequest, "InvalidTimeStamp.Expired",
                "\(name): \(text.prefix(bytes: 40)) is \(Int(abs(time - now).rounded())) s \(time < now ? "ago" : "ahead"); the limit "
                    + "is \(Int(Self.window)) s: correct the clock, or sign the request again")
        }
        return time
    }

    private func check(securityToken: String?, _ key: AccessKey) throws(CallError) {
        guard !key.accepts(securityToken: securityToken) else { return }
        let message =
            if securityToken == nil {
                "the access key \(key.id) requires a security token, which is missing"
            } else if key.needsSecurityToken {
                "the security token is not the one of the access key \(key.id)"
            } else {
                "the access key \(key.id) has no security token here: leave it out, or configure securityToken for the key"
            }
        throw CallError(
            .badRequest,
            securityToken == nil ? "MissingSecurityToken" : "InvalidSecurityToken.MismatchWithAccessKey", message)
    }

    private func take(nonce: String?, _ name: String, _ key: AccessKey, _ signedAt: Double) throws(CallError) {
        let expected = "1 to \(Self.longestNonce) bytes that are new with each request"
        guard let nonce, !nonce.isEmpty else { throw .missing(name, expected) }
        guard nonce.utf8.count <= Self.longestNonce else { throw .invalid(name, nonce, expected) }
        switch nonces[key.id]?.take(nonce, signedAt: signedAt, now: now(), window: Self.window) {
        case .fresh: return
        case .used, nil: throw Self.nonceUsed(name)
        case .tooOld(let start):
            throw CallError(
                .badRequest, "InvalidTimeStamp.Expired",
                "the request was signed more than \(Int(max(0, now() - start))) s ago, too long to "
                    + "rule out a replay: sign it again, or correct the clock")
        }
    }

    // MARK: Refusals

    static let notConfigured = CallError(
        .forbidden, "OperationDenied",
        "no access key is configured: add one to the configuration, as in apps: [{id: my-app, accessKeys: [{id: "
            + "my-key, secretFile: /etc/mixorchestrator/secret}]}]")

    private static func nonceUsed(_ name: String) -> CallError {
        CallError(
            .badRequest, "SignatureNonceUsed", "\(name): this request was received before: sign each request separately"
        )
    }

    private static func incomplete(_ what: String) -> CallError {
        CallError(.badRequest, "IncompleteSignature", "the request does not conform to the signature: \(what)")
    }

    private static func unsupported(_ what: String) -> CallError {
        CallError(
            .badRequest, "UnsupportedSignatureMethod",
            "\(what); expected Authorization: ACS3-HMAC-SHA256 …, or SignatureMethod=HMAC-SHA1 with "
                + "SignatureVersion=1.0")
    }

    /// Returns the error for a wrong signature. SDKs look for the colon and compare the text after it with their own.
    private static func mismatch(_ stringToSign: String) -> CallError {
        CallError(
            .badRequest, "SignatureDoesNotMatch",
            "Specified signature is not matched with our calculation. server string to sign is:\(stringToSign)")
    }
}
