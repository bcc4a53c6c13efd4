import EncodedMedia
import WebRTCGateway

/// Frames of a page that are about to leave the worker. Pure; times in ns of a monotonic clock.
///
/// The death of a page's process is reported up to 0.1 s after the browser's own message about it is on the screen.
/// Every frame waits for longer than that, so that those which show the message can still be dropped.
struct HeldFrames: Sendable {
    /// Time for which a frame waits.
    static let wait: Int64 = 150_000_000

    private var frames: [(frame: PublishedStream.Frame, due: Int64)] = []

    /// Time at which the next frame may leave; `.max` if there is none.
    var due: Int64 { frames.first?.due ?? .max }

    mutating func add(_ frame: PublishedStream.Frame, now: Int64) {
        frames.append((frame, now.saturatingSum(Self.wait)))
    }

    /// Removes and returns the frames that may leave, in the order in which they were added.
    mutating func takeDue(now: Int64) -> [PublishedStream.Frame] {
        let count = frames.firstIndex { $0.due > now } ?? frames.count
        defer { frames.removeFirst(count) }
        return frames[..<count].map { $0.frame }
    }

    /// Drops all frames that wait.
    mutating func drop() { frames = [] }
}
