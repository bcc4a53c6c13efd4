import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MediaFormats
import MixModel
import ServiceLifecycle
import Synchronization

/// Makes a picture of each closed recording, `….jpg` beside it, so that it can be uploaded with the recording.
///
/// It searches the disk for recordings and processes them one after another. A recording whose picture cannot be made
/// is tried again after the next start.
package final class RecordingThumbnails: Service {
    private let source: RecordingSource
    private let maker: any PreviewMaking
    /// Longer side of a picture in pixels.
    private let side: Int
    private let interval: Duration
    private let logger: Logger
    /// Versions of files whose pictures cannot be made.
    private let failed = Mutex<Set<String>>([])

    /// Position of the picture in a recording, in seconds: a program often starts with a slate.
    private static let moment = 3.0
    /// Maximum number of files remembered as having no picture. Further ones are tried again.
    private static let mostFailed = 10_000

    /// - Parameter interval: Time between two searches.
    package init(place: RecordingPlace, maker: any PreviewMaking, side: Int, interval: Duration, logger: Logger) {
        source = RecordingSource(place: place)
        self.maker = maker
        self.side = side
        self.interval = interval
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                let due = await offPool { self.due() }
                for item in due {
                    guard !Task.isCancelled else { break }
                    await self.make(item)
                }
            } while (try? await Task.sleep(for: self.interval)) != nil
        }
    }

    private func due() -> [UploadItem] {
        source.directories().flatMap { directory in
            source.look(in: directory, now: wallClock()) { !isDue(RecordingShelf.recording(of: $0), $1) }.items
        }
    }

    /// Returns whether the picture of this version of a recording is still to be made. Blocks.
    func isDue(_ path: String, _ version: String) -> Bool {
        let isHopeless = failed.withLock { $0.contains(Self.key(path, version)) }
        return !isHopeless && access(RecordingShelf.thumbnail(path), F_OK) != 0
            && !RecordingShelf.thumbnailNotes(path).exist
    }

    private static func key(_ path: String, _ version: String) -> String { "\(path) \(version)" }

    private func make(_ item: UploadItem) async {
        let flv = await offPool { () -> [UInt8]? in
            guard let file = OpenFile(item.path) else { return nil }
            return RecordedKeyframe.find(at: Self.moment) { offset, count in
                try? file.read(offset..<offset.saturatingSum(Int64(count)))
            }?.flv
        }
        guard let flv, flv.count <= PreviewRequest.longest else { return fail(item, "it has no picture") }
        do throws(OrchestratorError) {
            let answer = try await maker.answer(PreviewRequest(side: side, flv: flv))
            guard !answer.jpeg.isEmpty else {
                return fail(item, Redaction.text(answer.failure ?? "it cannot be decoded"))
            }
            let isWritten = await offPool { () -> Bool in
                // A recording that was deleted in the meantime needs no picture.
                guard self.source.version(of: item) == item.version else { return true }
                let file = RecordingShelf.thumbnail(item.path)
                let new = file + ".new"
                unlink(new)
                guard (try? BoundedFile.write(answer.jpeg, to: new, mode: 0o600)) != nil, rename(new, file) == 0 else {
                    unlink(new)
                    return false
                }
                return true
            }
            if !isWritten { fail(item, "it cannot be written") }
        } catch {
            // The decoding process may be busy or have ended: the next search tries again, unless this file is what
            // ends it.
            logger.debug("no picture of \(item.file) now: \(error.detail)")
            if error.kind != .unavailable { fail(item, error.detail) } else { noteAttempt(item) }
        }
    }

    /// Number of attempts at files whose pictures could not be made so far.
    private let attempts = Mutex<[String: Int]>([:])
    private static let mostAttempts = 3

    private func noteAttempt(_ item: UploadItem) {
        let count = attempts.withLock { attempts in
            if attempts.count >= Self.mostFailed { attempts = [:] }
            attempts[item.path, default: 0] += 1
            return attempts[item.path] ?? 0
        }
        if count >= Self.mostAttempts { fail(item, "it could not be decoded \(count) times") }
    }

    private func fail(_ item: UploadItem, _ reason: String) {
        failed.withLock { failed in
            if failed.count >= Self.mostFailed { failed = [] }
            failed.insert(Self.key(item.path, item.version))
        }
        attempts.withLock { $0[item.path] = nil }
        logger.info("there is no thumbnail of \(item.file): \(reason)")
    }
}
