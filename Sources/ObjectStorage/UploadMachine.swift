/// Decides the next step in the upload of one file. Pure: results of calls in, calls out.
///
/// Each call may be repeated: a process may end, or an answer be lost, after the storage has carried out the call.
package struct UploadMachine: Hashable, Sendable {
    /// The next call.
    package enum Step: Hashable, Sendable {
        /// Sends the whole file.
        case put
        case create
        /// Sends a part of the file.
        case part(Int, upload: String, range: Range<Int64>)
        case complete(upload: String, [StoredPart])
        case abort(upload: String)
        case look
    }

    package private(set) var document: UploadDocument
    /// Requested size of parts, in bytes.
    private let partBytes: Int64
    /// Whether a matching size is sufficient where a storage provides no checksum.
    private let trustsSize: Bool

    /// Maximum number of multipart uploads that are remembered for removal.
    static let mostLeftovers = 8

    /// - Parameters:
    ///   - document: The state left by an earlier process; `nil` for a new file. It is used if it is for the same
    ///     object and content.
    package init(
        _ document: UploadDocument?, content: UploadDocument.Content, place: StoragePlace, key: String,
        partBytes: Int64, trustsSize: Bool = false
    ) {
        var new = UploadDocument(content: content, place: place, key: key)
        (self.partBytes, self.trustsSize) = (partBytes, trustsSize)
        if let document, document.endpoint == new.endpoint, document.bucket == new.bucket, document.key == key {
            if document.content == content {
                new = document
            } else {
                var leftovers = document.leftovers
                if case .sending(let upload, _, _) = document.stage { leftovers.append(upload) }
                new.leftovers = Array(leftovers.suffix(Self.mostLeftovers))
            }
        }
        // Bounded, because the document may be damaged.
        new.failures = min(max(new.failures, 0), 1 << 30)
        new.restarts = min(max(new.restarts, 0), 1 << 30)
        self.document = new
        if case .new = new.stage, plan == nil {
            failed(
                StorageFault(.tooLarge, "\(content.bytes) bytes, the limit is \(PartPlan.mostBytes): record in parts"),
                at: 0)
        }
    }

    private var plan: PartPlan? { PartPlan(bytes: document.content.bytes, partBytes: partBytes) }

    /// The next step; `nil` if there is none.
    package var step: Step? {
        if let upload = document.leftovers.first { return .abort(upload: upload) }
        switch document.stage {
        case .new:
            return plan.map { $0.isWhole ? .put : .create }
        case .sending(let upload, let partBytes, let parts):
            guard let plan = PartPlan(bytes: document.content.bytes, partBytes: partBytes) else { return nil }
            guard parts.count < plan.count else { return .complete(upload: upload, parts) }
            return .part(parts.count + 1, upload: upload, range: plan.range(of: parts.count + 1))
        case .verifying: return .look
        case .stored, .failed: return nil
        }
    }

    // MARK: Results

    /// Records that the whole file was sent.
    package mutating func stored(_ checksum: ObjectChecksum) {
        document.stage = .verifying(checksum)
        progress()
    }

    package mutating func created(upload: String) {
        guard let plan else { return }
        document.stage = .sending(upload: upload, partBytes: plan.partBytes, parts: [])
        progress()
    }

    /// Records that the storage has stored the current part.
    package mutating func took(_ part: StoredPart) {
        guard case .sending(let upload, let partBytes, let parts) = document.stage else { return }
        document.stage = .sending(upload: upload, partBytes: partBytes, parts: parts + [part])
        progress()
    }

    /// Records that the storage has assembled the object from its parts.
    package mutating func completed() {
        guard case .sending(_, _, let parts) = document.stage else { return }
        document.stage = .verifying(ObjectChecksum(parts: parts.map(\.checksum)))
        progress()
    }

    package mutating func aborted() {
        if !document.leftovers.isEmpty { document.leftovers.removeFirst() }
    }

    /// Compares the object in the storage; `nil` if there is none.
    ///
    /// - Parameter now: Time in seconds since 1970.
    /// - Throws: The fault if it is a different object. The fault is not recorded yet.
    package mutating func found(_ object: StoredObject?, at now: Double) throws(StorageFault) {
        guard case .verifying(let checksum) = document.stage else { return }
        let isSame: Bool? = object.map { $0.isSame(bytes: document.content.bytes, as: checksum) } ?? false
        switch isSame {
        case true?: store(checksum, now)
        case nil where trustsSize: store(checksum, now)
        case nil:
            throw StorageFault(
                .unverified,
                "the storage reports neither the SHA-256 nor the MD5 of the object, whose size matches: "
                    + "set upload.verify to size to accept that")
        case false?:
            let found = object.map { "has another object of \($0.bytes) bytes" } ?? "does not have the object"
            throw StorageFault(.mismatch, "the storage \(found), which was sent with \(document.content.bytes) bytes")
        }
    }

    private mutating func store(_ checksum: ObjectChecksum, _ now: Double) {
        document.stage = .stored(checksum, at: now)
        document.failures = 0
        document.failingSince = nil
        document.fault = nil
    }

    /// Records a step that failed.
    ///
    /// - Parameter now: Time in seconds since 1970.
    package mutating func failed(_ fault: StorageFault, at now: Double) {
        // The removal of leftovers is attempted, but not required: storages also remove them by rules of the bucket.
        if case .abort = step, fault.cure != .retry { return aborted() }
        document.fault = fault
        document.failures += 1
        document.failingSince = document.failingSince ?? now
        if fault.code == .tooLarge { return giveUp(at: now) }
        guard fault.cure == .beginAnew else { return }
        switch document.stage {
        case .sending(_, _, let parts) where fault.code == .partsLost && isComplete(parts):
            // An earlier call may have assembled the object, and only its answer was lost.
            document.stage = .verifying(ObjectChecksum(parts: parts.map(\.checksum)))
        case .sending(let upload, _, _):
            beginAnew()
            if fault.code != .partsLost, document.leftovers.count < Self.mostLeftovers {
                document.leftovers.append(upload)
            }
        case .verifying: beginAnew()
        case .new, .stored, .failed: break
        }
    }

    /// Gives up the upload without the object.
    ///
    /// - Parameter now: Time in seconds since 1970.
    package mutating func giveUp(at now: Double) {
        if case .sending(let upload, _, _) = document.stage, document.leftovers.count < Self.mostLeftovers {
            document.leftovers.append(upload)
        }
        document.stage = .failed(at: now)
    }

    /// Starts an upload again that was given up before a time, in seconds since 1970.
    package mutating func reconsider(givenUpBefore time: Double) {
        guard case .failed(let at) = document.stage, at < time, plan != nil else { return }
        document.stage = .new
        (document.failures, document.restarts) = (0, 0)
        (document.failingSince, document.fault) = (nil, nil)
    }

    private func isComplete(_ parts: [StoredPart]) -> Bool {
        if case .complete = step { !parts.isEmpty } else { false }
    }

    private mutating func beginAnew() {
        document.stage = .new
        document.restarts += 1
    }

    /// An upload that was started again must complete before its failures are reset: otherwise it would repeat forever.
    private mutating func progress() {
        document.failures = document.restarts
        if document.restarts == 0 { document.failingSince = nil }
        document.fault = document.restarts == 0 ? nil : document.fault
    }
}
