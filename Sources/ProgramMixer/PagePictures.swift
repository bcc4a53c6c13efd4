import Foundation
import GStreamerKit

/// Keeps the pictures of web pages in a mix up to date: redraws one when its file has changed, in parallel to the
/// thread that makes the frames.
///
/// Owns its task: `stop()` ends it and waits for the picture being drawn.
final class PagePictures: Sendable {
    /// Time between two checks of the files, and of whether there are any.
    private static let interval = Duration.milliseconds(50)
    private static let idleInterval = Duration.milliseconds(500)

    private let work: Task<Void, Never>

    init(shared: MixShared, easel: Easel) {
        work = Task(priority: .utility) {
            var known: [Graphic: FileStamp] = [:]
            while !Task.isCancelled {
                let graphics = shared.look { $0.shelf.pages }
                known = known.filter { graphics.contains($0.key) }
                for graphic in graphics {
                    // Read before the file, so that a change in the meantime is noticed next time.
                    let stamp = graphic.file.map(FileStamp.init) ?? .missing
                    guard known.updateValue(stamp, forKey: graphic) != stamp else { continue }
                    let still = stamp == .missing ? nil : try? await easel.draw(graphic)
                    shared.change { $0.shelf.deliver(still, for: graphic) }
                }
                try? await Task.sleep(for: graphics.isEmpty ? Self.idleInterval : Self.interval)
            }
        }
    }

    func stop() async {
        work.cancel()
        await work.value
    }
}

/// Identifies one version of a file that is replaced.
private enum FileStamp: Hashable {
    case missing
    case file(number: UInt64, seconds: Int, nanoseconds: Int)

    init(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            self = .missing
            return
        }
        self = .file(
            number: UInt64(status.st_ino), seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    }
}
