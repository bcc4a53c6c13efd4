/// The upload of one file to one storage, as it is kept on disk. All parts that a storage has are in it, so that another
/// process goes on with the next one.
package struct UploadDocument: Hashable, Codable, Sendable {
    /// What tells one state of a file's content from another.
    package struct Content: Hashable, Codable, Sendable {
        /// Size in bytes.
        package var bytes: Int64
        /// Text that changes with the content, such as a time of modification.
        package var version: String

        package init(bytes: Int64, version: String) {
            self.bytes = bytes
            self.version = version
        }
    }

    package enum Stage: Hashable, Codable, Sendable {
        /// Nothing has been sent.
        case new
        /// Parts are being sent. `parts` are those that the storage has, from the first on.
        case sending(upload: String, partBytes: Int64, parts: [StoredPart])
        /// Everything is sent; what is stored has to be compared.
        case verifying(ObjectChecksum)
        /// The object is there, and is what was sent. Time in seconds since 1970.
        case stored(ObjectChecksum, at: Double)
        /// Given up. Time in seconds since 1970.
        case failed(at: Double)
    }

    package var content: Content
    /// Endpoint, bucket and key of the object.
    package var endpoint: String
    package var bucket: String
    package var key: String
    package var stage = Stage.new
    /// Failed attempts since the last progress.
    package var failures = 0
    /// Time of the first of them, in seconds since 1970.
    package var failingSince: Double?
    /// Number of times that the upload began anew.
    package var restarts = 0
    /// Last failure.
    package var fault: StorageFault?
    /// Uploads of parts that the storage is to remove.
    package var leftovers: [String] = []

    package init(content: Content, place: StoragePlace, key: String) {
        self.content = content
        (endpoint, bucket) = (place.endpoint, place.bucket)
        self.key = key
    }

    /// Bytes that the storage has.
    package var sentBytes: Int64 {
        switch stage {
        case .new, .failed: 0
        case .sending(_, let partBytes, let parts):
            // Bounded, because the document may be damaged.
            min(Int64(parts.count) * min(max(partBytes, 0), PartPlan.partSizes.upperBound), content.bytes)
        case .verifying, .stored: content.bytes
        }
    }

    package var isStored: Bool {
        if case .stored = stage { true } else { false }
    }
}
