import Foundation
import MixModel
import NIOPosix

/// The archives of rooms' HLS sessions, where archives are uploaded.
package struct ArchiveShelf: Sendable {
    private let files: HLSFiles
    private let uploads: Uploader

    /// Maximum number of archives that are listed.
    static let mostShown = 1_000

    package init(files: HLSFiles, uploads: Uploader) {
        self.files = files
        self.uploads = uploads
    }

    /// An archive and its uploads.
    package struct Archive: Sendable {
        package var session: String
        /// Whether the archive is on this machine; otherwise only its uploaded objects exist.
        package var isHere: Bool
        package var storage: [UploadReport]
    }

    /// Returns the archives of a room's ended sessions, newest first.
    package func files(of room: RoomID) async throws -> [Archive] {
        try await NIOThreadPool.singleton.runIfActive {
            let directory = files.directory(of: room)
            return HLSFiles.sessions(in: directory).prefix(Self.mostShown).compactMap { archive($0, directory) }
        }
    }

    /// Returns the archive of one session of a room; `nil` if it has not ended, or has none.
    ///
    /// - Parameter session: Name of the session's directory, as a packager gives it.
    package func file(_ session: String, of room: RoomID) async throws -> Archive? {
        try await NIOThreadPool.singleton.runIfActive { archive(session, files.directory(of: room)) }
    }

    private func archive(_ name: String, _ directory: String) -> Archive? {
        let session = "\(directory)/\(name)"
        guard let facts = HLSFiles.facts(session), facts.isEnded, facts.settings.enableVOD else { return nil }
        return Archive(
            session: name, isHere: access("\(session)/vod.m3u8", R_OK) == 0,
            storage: uploads.reports(of: ArchiveSource.notes(session), path: session))
    }
}
