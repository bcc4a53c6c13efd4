import Foundation
import Logging
import NIOPosix
import ServiceLifecycle

/// Removes sessions that packagers have left behind.
///
/// Ended live sessions are removed after some minutes, ended sessions with on-demand playlists after the configured
/// time. A session with on-demand playlists that has lost its packager for good is ended.
package struct HLSRetention: Service {
    package let files: HLSFiles
    /// Time for which sessions with on-demand playlists are kept, in seconds. `nil` = no limit.
    package let kept: Double?
    package let logger: Logger

    package init(files: HLSFiles, kept: Double?, logger: Logger) {
        self.files = files
        self.kept = kept
        self.logger = logger
    }

    /// Time for which an ended live session stays, in seconds. Players that lag behind still fetch its last segments.
    static let farewell = 600.0
    /// Time without writes after which a session that has not ended has lost its packager for good, in seconds.
    static let abandonment = 3600.0
    private static let interval = Duration.seconds(60)

    package func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await NIOThreadPool.singleton.runIfActive { sweep(now: Date()) }
                try await Task.sleep(for: Self.interval)
            }
        }
    }

    func sweep(now: Date) {
        let manager = FileManager.default
        func children(_ path: String) -> [String] {
            ((try? manager.contentsOfDirectory(atPath: path)) ?? []).map { "\(path)/\($0)" }
        }
        for room in children(files.directory).flatMap(children) {
            for name in HLSFiles.sessions(in: room) {
                let session = "\(room)/\(name)"
                switch fate(of: session, now) {
                case .stays: break
                case .ends(let isExpired):
                    if AbandonedSession.end(name, in: room) {
                        logger.notice("HLS session \(session) ended: it had lost its packager")
                    } else if isExpired, !AbandonedSession.isBusy(room) {
                        remove(session)
                    }
                case .isRemoved: remove(session)
                }
            }
            removeIfUnused(room, now)
        }
    }

    private func remove(_ session: String) {
        do {
            try FileManager.default.removeItem(atPath: session)
            logger.info("HLS session \(session) removed")
        } catch {
            logger.warning("HLS session \(session) cannot be removed: \(error.localizedDescription)")
        }
    }

    /// Removes the directory of a room that has had no HLS for a while, unless a packager has just taken its lock.
    /// Otherwise each room that ever existed would leave one, and each sweep would look into it.
    private func removeIfUnused(_ room: String, _ now: Date) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: room)) ?? ["unknown"]
        let changed = try? FileManager.default.attributesOfItem(atPath: room)[.modificationDate] as? Date
        guard names.allSatisfy({ $0 == AbandonedSession.lockName }), let changed,
            now.timeIntervalSince(changed) > Self.abandonment
        else { return }
        let lock = open("\(room)/\(AbandonedSession.lockName)", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        if lock >= 0 {
            defer { close(lock) }
            guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { return }
            unlink("\(room)/\(AbandonedSession.lockName)")
            rmdir(room)
        } else if names.isEmpty {
            rmdir(room)
        }
    }

    private enum Fate {
        case stays
        /// The packager is lost. A session that cannot be ended is removed if it has been kept for long enough and no packager
        /// has the room.
        case ends(isExpired: Bool)
        case isRemoved
    }

    private func fate(of session: String, _ now: Date) -> Fate {
        let attributes = try? FileManager.default.attributesOfItem(atPath: "\(session)/session.json")
        guard let written = attributes?[.modificationDate] as? Date, let facts = HLSFiles.facts(session) else {
            // Without `session.json`, a session can be neither played nor continued, but a packager may be about to
            // write it.
            let made = try? FileManager.default.attributesOfItem(atPath: session)[.modificationDate] as? Date
            return made.map { now.timeIntervalSince($0) > Self.abandonment } ?? false ? .isRemoved : .stays
        }
        let age = now.timeIntervalSince(written)
        guard facts.isEnded || age > Self.abandonment else { return .stays }
        guard facts.settings.enableVOD else { return age > Self.farewell ? .isRemoved : .stays }
        let isExpired = kept.map { age > $0 } ?? false
        // Ending it writes it, and its time begins there.
        guard facts.isEnded else { return .ends(isExpired: isExpired) }
        return isExpired ? .isRemoved : .stays
    }
}
