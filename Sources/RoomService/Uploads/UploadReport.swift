import Foundation
import ObjectStorage

/// The upload of a file to one target, as the API shows it.
package struct UploadReport: Hashable, Sendable {
    package enum State: String, CaseIterable, Sendable {
        /// The file waits for its turn.
        case waiting
        case uploading
        /// The last attempt failed; there will be another one.
        case retrying
        /// The object exists and is verified.
        case stored
        /// The file was given up until the next start.
        case failed
    }

    package var target: UploadTarget.Name
    package var state: State
    package var endpoint: String
    package var bucket: String
    /// Key of the object; `nil` before the first attempt.
    package var key: String?
    package var sentBytes: Int64
    /// Number of attempts that failed since the last progress.
    package var failures: Int
    package var fault: StorageFault?
    /// Time in seconds since 1970.
    package var storedAt: Double?
    /// SHA-256 in Base64; for an object made of parts, the SHA-256 of their digests, followed by `-` and their number.
    package var sha256: String?
    /// Link with which anyone can fetch the object until `linkEnd`, in seconds since 1970.
    package var link: String?
    package var linkEnd: Double?

    init(_ target: UploadTarget, _ document: UploadDocument?, isRunning: Bool, linkSeconds: Int, now: Double) {
        self.target = target.name
        endpoint = document?.endpoint ?? target.place.endpoint
        bucket = document?.bucket ?? target.place.bucket
        key = document?.key
        sentBytes = document?.sentBytes ?? 0
        failures = document?.failures ?? 0
        fault = document?.fault
        switch document?.stage {
        case .stored(let checksum, let time):
            (state, storedAt, sha256) = (.stored, time, checksum.sha256)
            // The settings may have changed since then.
            if let document, document.isAt(target.place) {
                link = target.place.link(
                    to: document.key, as: target.keys.current, seconds: linkSeconds, at: now)
                linkEnd = now + Double(linkSeconds)
            }
        case .failed: state = .failed
        case .new, .sending, .verifying, nil:
            state = isRunning ? .uploading : fault == nil ? .waiting : .retrying
        }
    }
}

extension UploadDocument {
    /// Judges whether a file still has to be uploaded.
    ///
    /// - Parameters:
    ///   - version: Version of the file.
    ///   - place: The place that must have the file. An object at another place, which earlier settings named, does not
    ///     count.
    ///   - start: Start of the service in seconds since 1970. Files that were given up before it are tried again.
    func judgement(
        of version: String, at place: StoragePlace, since start: Double
    ) -> UploadWatch.Judgement {
        guard content.version == version, isAt(place) else { return .due }
        switch stage {
        case .stored: return .settled
        case .failed(let at): return at < start ? .due : .givenUp
        case .new, .sending, .verifying: return .due
        }
    }
}
