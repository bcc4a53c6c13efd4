/// The state of one file's upload to one storage, as stored on disk. It lists all parts that the storage has, so that
/// another process can continue with the next one.
package struct UploadDocument: Hashable, Codable, Sendable {
    /// The identity of a file's content.
    package struct Content: Hashable, Codable, Sendable {
        /// Size in bytes.
        package var bytes: Int64
        /// Text that changes with the content, such as the modification time.
        package var version: String

        package init(bytes: Int64, version: String) {
            self.bytes = bytes
            self.version = version
        }
    }

    package enum Stage: Hashable, Codable, Sendable {
        /// Nothing has been sent.
        case new
        /// Parts are being sent. `parts` are those that the storage has, starting with the first.
        case sending(upload: String, partBytes: Int64, parts: [StoredPart])
        /// Everything has been sent; the stored object must be compared.
        case verifying(ObjectChecksum)
        /// The object exists and is the one that was sent. Time in seconds since 1970.
        case stored(ObjectChecksum, at: Double)
        /// The upload was given up. Time in seconds since 1970.
        case failed(at: Double)
    }

    package var content: Content
    /// Endpoint, bucket and key of the object.
    package var endpoint: String
    package var bucket: String
    package var key: String
    package var stage = Stage.new
    /// Number of failed attempts since the last progress.
    package var failures = 0
    /// Time of the first of these failures, in seconds since 1970.
    package var failingSince: Double?
    /// Number of times that the upload was started again.
    package var restarts = 0
    /// Last failure.
    package var fault: StorageFault?
    /// Multipart uploads that the storage must still remove.
    package var leftovers: [String] = []

    package init(content: Content, place: StoragePlace, key: String) {
        self.content = content
        (endpoint, bucket) = (place.endpoint, place.bucket)
        self.key = key
    }

    /// Number of bytes that the storage has.
    package var sentBytes: Int64 {
        switch stage {
        case .new, .failed: 0
        case .sending(_, let partBytes, let parts):
            // Bounded, because the document may be damaged.
            min(Int64(parts.count) * min(max(partBytes, 0), PartPlan.partSizes.upperBound), content.bytes)
        case .verifying, .stored: content.bytes
        }
    }

    /// Returns whether the object is, or will be, at this place.
    package func isAt(_ place: StoragePlace) -> Bool { endpoint == place.endpoint && bucket == place.bucket }

    package var isStored: Bool {
        if case .stored = stage { true } else { false }
    }
}
