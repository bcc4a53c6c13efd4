/// A storage's answer to a call.
package struct StorageAnswer: Hashable, Sendable {
    package var status: Int
    /// Headers by their lower-case names.
    package var headers: [String: String]
    /// The body, up to `mostBytes`.
    package var body: [UInt8]

    /// Maximum number of bytes read of a body.
    package static let mostBytes = 64 << 10

    package init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The result of a call.
    package enum Result: Hashable, Sendable {
        /// The storage has the whole object, or has assembled it from its parts.
        case stored
        case created(upload: String)
        case part(StoredPart)
        case aborted
        case found(StoredObject)
        /// No object has this key.
        case missing
    }

    /// Interprets the answer to a call.
    package func result(of call: StorageCall) throws(StorageFault) -> Result {
        if case .look = call, status == 404 { return .missing }
        // An upload that does not exist need not be removed.
        if case .abort = call, status == 404 { return .aborted }
        guard 200...299 ~= status else { throw fault }
        switch call {
        case .put: return .stored
        case .create:
            guard let upload = AnswerText.element("UploadId", in: body), AnswerText.isToken(upload) else {
                throw Self.corrupted("an answer without UploadId")
            }
            return .created(upload: upload)
        case .part(_, _, let checksum):
            guard let tag = headers["etag"], AnswerText.isToken(tag) else {
                throw Self.corrupted("an answer without ETag")
            }
            return .part(StoredPart(tag: tag, checksum: checksum))
        case .complete:
            // A storage that works for a long time answers 200 first, and may then find that it has failed.
            if AnswerText.has("Error", in: body) { throw fault }
            guard AnswerText.element("ETag", in: body) != nil else {
                throw Self.corrupted("an answer without ETag")
            }
            return .stored
        case .abort: return .aborted
        case .look:
            guard let bytes = headers["content-length"].flatMap({ Int64($0) }), bytes >= 0 else {
                throw Self.corrupted("an answer without Content-Length")
            }
            return .found(
                StoredObject(bytes: bytes, sha256: headers["x-amz-checksum-sha256"], tag: headers["etag"]))
        }
    }

    private static func corrupted(_ what: String) -> StorageFault {
        StorageFault(.corrupted, "the storage sent \(what)")
    }

    /// The fault reported by the answer.
    var fault: StorageFault {
        let word = AnswerText.element("Code", in: body)
        // Without the storage's message, which repeats what was sent.
        let name = word.flatMap { $0.utf8.count <= 64 && AnswerText.isToken($0) ? ", \($0)" : nil } ?? ""
        let answered = "the storage answered \(status)\(name)"
        func fault(_ code: StorageFault.Code, _ cure: String = "") -> StorageFault {
            StorageFault(code, answered + (cure.isEmpty ? "" : ": \(cure)"), retryAfter: retryAfter)
        }
        switch word {
        case "NoSuchUpload": return fault(.partsLost)
        case "InvalidPart", "InvalidPartOrder", "EntityTooSmall": return fault(.partsRefused)
        case "NoSuchBucket": return fault(.bucketMissing, "create the bucket, or correct bucket")
        case "SignatureDoesNotMatch", "InvalidAccessKeyId", "AuthorizationHeaderMalformed":
            return fault(.signature, "check accessKey, secretKey and region")
        case "ExpiredToken", "InvalidToken", "TokenRefreshRequired":
            return fault(.signature, "renew the temporary keys: write new ones into credentialsFile")
        case "RequestTimeTooSkewed": return fault(.clock, "set the clock of this machine")
        case "BadDigest", "InvalidDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch":
            return fault(.corrupted)
        case "RequestTimeout": return fault(.timeout)
        case "SlowDown", "ServiceUnavailable", "Throttling", "TooManyRequests": return fault(.slowDown)
        case "InternalError": return fault(.serverError)
        case "EntityTooLarge": return fault(.tooLarge)
        default: break
        }
        switch status {
        case 300...399: return fault(.redirected, "the bucket is elsewhere, correct endpoint and region")
        case 401, 403: return fault(.accessDenied, "let the access key write and read objects of the bucket")
        case 408: return fault(.timeout)
        case 429, 503: return fault(.slowDown)
        case 500...599: return fault(.serverError)
        // A status that no HTTP server sends.
        case ..<200: return fault(.corrupted)
        // 200 with an error that is not handled above.
        case 200...299: return fault(.serverError)
        default: return fault(.refused)
        }
    }

    /// Seconds for which the storage requests no further calls, at most a day.
    private var retryAfter: Int? {
        headers["retry-after"].flatMap { Int($0) }.map { max(0, min($0, 86_400)) }
    }
}

/// A storage's description of an object.
package struct StoredObject: Hashable, Sendable {
    package var bytes: Int64
    /// SHA-256 in Base64, if the storage keeps it; for an object made of parts, SHA-256 of their digests.
    package var sha256: String?
    /// Entity tag including its quotation marks, if there is one. With many storages it is the MD5.
    package var tag: String?

    package init(bytes: Int64, sha256: String? = nil, tag: String? = nil) {
        self.bytes = bytes
        self.sha256 = sha256
        self.tag = tag
    }

    /// Returns whether the object is the one that was sent.
    ///
    /// - Returns: `nil` if the size is right and nothing else can be compared.
    func isSame(bytes: Int64, as checksum: ObjectChecksum) -> Bool? {
        guard self.bytes == bytes else { return false }
        if let sha256, !sha256.isEmpty {
            // Some storages leave out the number of parts.
            return sha256 == checksum.sha256 || sha256 == String(checksum.sha256.prefix { $0 != "-" })
        }
        // A different tag proves nothing: with encryption by the storage's own keys it is not an MD5.
        return tag?.replacing("\"", with: "").lowercased() == checksum.md5 ? true : nil
    }
}
