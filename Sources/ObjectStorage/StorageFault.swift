/// Why a call to a storage, or the upload of a file, did not succeed.
package struct StorageFault: Error, Hashable, Codable, Sendable {
    /// Reasons, as the API and metrics name them.
    package enum Code: String, CaseIterable, Codable, Sendable {
        /// No connection.
        case unreachable
        /// No answer in time.
        case timeout
        /// The storage failed (5xx).
        case serverError = "server_error"
        /// The storage asks for fewer calls (429, 503).
        case slowDown = "slow_down"
        /// The storage does not know the access key, or the secret is another one.
        case signature
        /// The clock of this machine or of the storage is wrong.
        case clock
        case accessDenied = "access_denied"
        case bucketMissing = "bucket_missing"
        /// The bucket is in another region.
        case redirected
        /// The storage refuses the call for another reason.
        case refused
        /// An answer that is no answer, or a body that changed on the way.
        case corrupted
        /// The storage does not know the upload of parts any more.
        case partsLost = "parts_lost"
        /// The storage does not make an object of the parts.
        case partsRefused = "parts_refused"
        /// What is stored is not what was sent.
        case mismatch
        /// The storage says nothing from which the object's content could be verified.
        case unverified
        /// The file is larger than an object may be.
        case tooLarge = "too_large"
        /// The file cannot be read.
        case unreadable
    }

    /// What can be done about it.
    package enum Cure: Hashable, Sendable {
        /// Trying again, soon.
        case retry
        /// A change of the settings, or of the storage's: tried again at the longest delay.
        case operatorsTurn
        /// Beginning the upload anew.
        case beginAnew
    }

    package var code: Code
    /// What happened, in words. It holds no secret.
    package var message: String

    /// Seconds for which the storage asks to be left alone.
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

    /// Whether the storage, and not the file, is the cause: its other uploads will fare no better.
    package var isOfStorage: Bool {
        switch code {
        case .partsLost, .partsRefused, .mismatch, .tooLarge, .unreadable: false
        default: true
        }
    }
}
