import Foundation
import MixModel
import RoomService

/// The upload of a file to one storage, as the API shows it.
struct StorageView: Encodable {
    var target: String
    var state: String
    var endpoint: String
    var bucket: String
    var key: String?
    /// Number of bytes that the storage has.
    var sentBytes: Int64
    /// Attempts that failed since the last progress.
    var failures: Int
    var error: ServiceState.Failure?
    var storedAt: Date?
    var sha256: String?
    /// Link with which everyone can fetch the object for a while.
    var url: String?
    var urlExpiresAt: Date?

    init(_ report: UploadReport) {
        target = report.target.rawValue
        state = report.state.rawValue
        (endpoint, bucket, key) = (report.endpoint, report.bucket, report.key)
        sentBytes = report.sentBytes
        failures = report.failures
        error = report.fault.map { ServiceState.Failure(code: $0.code.rawValue, message: $0.message) }
        storedAt = report.storedAt.map { Date(timeIntervalSince1970: $0.boundedSeconds) }
        sha256 = report.sha256
        url = report.link
        urlExpiresAt = report.linkEnd.map { Date(timeIntervalSince1970: $0.boundedSeconds) }
    }
}

/// An archive of a room's HLS, as the API shows it if archives are uploaded.
struct ArchiveFileView: Encodable {
    var session: String
    /// Path of the archive on this service.
    var url: String
    var local: Bool
    var storage: [StorageView]

    init(_ archive: ArchiveShelf.Archive, room: RoomID) {
        session = archive.session
        url = "\(room.livePath)/vod/\(archive.session).zip"
        local = archive.isHere
        storage = archive.storage.map(StorageView.init)
    }
}
