import Foundation
import NIOPosix

/// Lays out archives and keeps them while the session's files are unchanged.
///
/// Each archive is made once for all clients that request it. A dedicated queue makes the archives, so that a long
/// session delays no segment.
package actor HLSArchives {
    /// Identifies one state of a session's files.
    private struct Version: Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        /// Modification time of the index, in ns since 1970.
        var modified: Int64
        /// Modification time of the master playlist, in ns since 1970.
        var masterModified: Int64
    }
    private struct Kept {
        var version: Version
        var archive: ZipArchive
        var usedAt: Int
    }

    private var kept: [String: Kept] = [:]
    private var making: [String: Task<ZipArchive?, Never>] = [:]
    private var uses = 0
    private let queue = DispatchQueue(label: "hls.archives", qos: .utility)
    private let mostEntries: Int
    /// Number of archives made since the start.
    package private(set) var made = 0

    /// Maximum number of archives that are being made or wait for their turn. Another one is refused.
    static let mostWaiting = 8

    /// - Parameter mostEntries: Maximum number of segments in all archives that are kept, about 120 bytes each. The
    ///   latest archive is kept regardless of its length.
    package init(mostEntries: Int = 300_000) { self.mostEntries = mostEntries }

    /// Returns the archive of a session, or `nil` if the session has not ended with on-demand playlists.
    ///
    /// - Throws: `OrchestratorError` if too many others are being made.
    package func archive(in directory: String) async throws -> ZipArchive? {
        guard let version = try await NIOThreadPool.singleton.runIfActive({ Self.version(of: directory) }) else {
            return nil
        }
        uses += 1
        if let known = kept[directory], known.version == version {
            kept[directory]?.usedAt = uses
            return known.archive
        }
        // Clients that ask in the meantime share the result.
        if let task = making[directory] { return await task.value }
        guard making.count < Self.mostWaiting else { throw Self.overloaded }
        let task = Task { [queue] in
            await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: HLSArchive.make(directory)) }
            }
        }
        making[directory] = task
        let archive = await task.value
        making[directory] = nil
        made += 1
        if let archive { keep(Kept(version: version, archive: archive, usedAt: uses), directory) }
        return archive
    }

    private func keep(_ new: Kept, _ directory: String) {
        kept[directory] = new
        var entries = kept.values.reduce(0) { $0 + $1.archive.entryCount }
        while entries > mostEntries, kept.count > 1,
            let oldest = kept.filter({ $0.key != directory }).min(by: { $0.value.usedAt < $1.value.usedAt })
        {
            entries -= oldest.value.archive.entryCount
            kept[oldest.key] = nil
        }
    }

    private static func version(of directory: String) -> Version? {
        var segments = stat()
        var master = stat()
        guard stat("\(directory)/segments.jsonl", &segments) == 0, stat("\(directory)/vod.m3u8", &master) == 0 else {
            return nil
        }
        return Version(
            device: UInt64(segments.st_dev), inode: UInt64(segments.st_ino), size: Int64(segments.st_size),
            modified: nanoseconds(segments.st_mtim), masterModified: nanoseconds(master.st_mtim))
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }

    private static let overloaded = OrchestratorError(
        .unavailable, "archives-overloaded", "Too many archives are being prepared",
        detail: "\(mostWaiting) others are being prepared: retry in a few seconds", retryAfter: 5)
}
