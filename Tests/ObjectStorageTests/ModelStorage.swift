import Foundation

@testable import ObjectStorage

/// A storage in memory that keeps only checksums, behind a network that fails as told.
struct ModelStorage {
    enum Luck: CaseIterable {
        case good
        /// The call does not arrive.
        case lostCall
        /// The call takes effect, and its answer is lost.
        case lostAnswer
        case serverError
        /// The storage first forgets all multipart uploads.
        case forgetsUploads
        /// The storage first forgets the object.
        case forgetsObject
        /// The storage does not accept the parts.
        case refusesParts
    }

    private struct Part {
        var bytes: Int64
        var checksum: ObjectChecksum
    }
    private(set) var object: StoredObject?
    private var uploads: [String: [Int: Part]] = [:]
    private var names = 0
    /// Number of uploads that the client does not know, because the answer with their name was lost.
    private(set) var orphans = 0

    /// Number of open multipart uploads.
    var openUploads: Int { uploads.count }

    mutating func call(
        _ call: StorageCall, bytes: Int64 = 0, _ luck: Luck
    ) throws(StorageFault) -> StorageAnswer.Result {
        switch luck {
        case .lostCall: throw StorageFault(.unreachable, "lost call")
        case .serverError: throw StorageFault(.serverError, "failed")
        case .forgetsUploads: uploads = [:]
        case .forgetsObject: object = nil
        case .refusesParts: if case .complete = call { throw StorageFault(.partsRefused, "refused") }
        case .good, .lostAnswer: break
        }
        let result = try perform(call, bytes)
        guard luck == .lostAnswer else { return result }
        if case .created = result { orphans += 1 }
        throw StorageFault(.timeout, "lost answer")
    }

    private mutating func perform(_ call: StorageCall, _ bytes: Int64) throws(StorageFault) -> StorageAnswer.Result {
        switch call {
        case .put(let checksum):
            object = StoredObject(bytes: bytes, sha256: checksum.sha256)
            return .stored
        case .create:
            names += 1
            uploads["u\(names)"] = [:]
            return .created(upload: "u\(names)")
        case .part(let number, let upload, let checksum):
            guard uploads[upload] != nil else { throw StorageFault(.partsLost, "no such upload") }
            uploads[upload]?[number] = Part(bytes: bytes, checksum: checksum)
            return .part(StoredPart(tag: "\"\(checksum.md5)\"", checksum: checksum))
        case .complete(let upload, let parts):
            guard let stored = uploads[upload] else { throw StorageFault(.partsLost, "no such upload") }
            let found = parts.indices.compactMap { stored[$0 + 1] }
            guard found.map(\.checksum) == parts.map(\.checksum) else { throw StorageFault(.partsRefused, "invalid") }
            uploads[upload] = nil
            object = StoredObject(
                bytes: found.reduce(0) { $0 + $1.bytes }, sha256: ObjectChecksum(parts: found.map(\.checksum)).sha256)
            return .stored
        case .abort(let upload):
            uploads[upload] = nil
            return .aborted
        case .look: return object.map { .found($0) } ?? .missing
        }
    }
}
