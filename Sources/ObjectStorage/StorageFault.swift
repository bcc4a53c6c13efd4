/// The reason why a call to a storage, or the upload of a file, did not succeed.
package struct StorageFault: Error, Hashable, Codable, Sendable {
    /// The kinds of faults, by their names in the API and metrics.
    package enum Code: String, CaseIterable, Codable, Sendable {
        /// The storage cannot be reached.
        case unreachable
        /// The storage did not answer in time.
        case timeout
        /// The storage failed (5xx).
        case serverError = "server_error"
        /// The storage requests fewer calls (429, 503).
        case slowDown = "slow_down"
        /// The storage does not know the access key, or the secret is wrong.
        case signature
        /// The clock of this machine or of the storage is wrong.
        case clock
        case accessDenied = "access_denied"
        case bucketMissing = "bucket_missing"
        /// The bucket is in another region.
        case redirected
        /// The storage refuses the call for another reason.
        case refused
        /// The answer is not valid, or a body changed in transit.
        case corrupted
        /// The storage no longer knows the multipart upload.
        case partsLost = "parts_lost"
        /// The storage refuses to assemble the object from the parts.
        case partsRefused = "parts_refused"
        /// The stored object differs from the one that was sent.
        case mismatch
        /// The storage reports nothing from which the object's content could be verified.
        case unverified
        /// The file is larger than an object may be.
        case tooLarge = "too_large"
        /// The file cannot be read.
        case unreadable
    }

    /// The remedy for a fault.
    package enum Cure: Hashable, Sendable {
        /// Retry soon.
        case retry
        /// Change the settings of the service or of the storage: retried at the longest delay.
        case operatorsTurn
        /// Start the upload again.
        case beginAnew
    }

    package var code: Code
    /// Description of the fault. Contains no secret.
    package var message: String

    /// Seconds for which the storage requests no further calls.
    package var retryAfter: Int?

    package init(_ code: Code, _ message: String, retryAfter: Int? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    package var cure: Cure {
        switch code {
        case .unreachable, .timeout, .serverError, .slowDown, .corrupted, .unreadable: .retry
        case .signature, .clock, .accessDenied, .bucketMissing, .redirected, .refused, .unverified, .tooLarge:
            .operatorsTurn
        case .partsLost, .partsRefused, .mismatch: .beginAnew
        }
    }

    /// Whether the storage, and not the file, is the cause, so that its other uploads would fail as well.
    package var isOfStorage: Bool {
        switch code {
        case .partsLost, .partsRefused, .mismatch, .tooLarge, .unreadable: false
        default: true
        }
    }
}
