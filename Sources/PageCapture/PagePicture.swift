import EncodedMedia
import Foundation
import RTMP

/// The file with the latest picture of a page, for the processes that draw it. It is replaced atomically, and absent
/// while there is nothing to show.
///
/// `@unchecked Sendable`: all state belongs to the socket loop; files are written on a separate queue.
final class PagePicture: @unchecked Sendable {
    /// Shortest time in ns between two pictures. A picture that comes earlier waits, and is replaced by a later one.
    private static let interval: Int64 = 100_000_000
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    private let path: String
    private let width: Int
    private let height: Int
    private let queue = DispatchQueue(label: "page.picture")
    private let writeAt = LoopDeadline()
    private var latest: [UInt8]?
    private var isNew = false
    private var isShown = false
    private var isOver = false
    private var writtenAt: Int64?
    /// Inode number of the file that was written last; only the queue accesses it.
    private var fileNumber: ino_t?

    /// - Parameter path: The file. If this process is killed, the file stays, and its removal is up to the creator of
    ///   the path.
    init(path: String, width: Int, height: Int) {
        self.path = path
        self.width = width
        self.height = height
        writeAt.begin { [weak self] in self?.write() }
    }

    /// Accepts the next picture. It is ignored unless it is a PNG of the page's size.
    func take(_ bytes: [UInt8]) {
        guard Self.size(of: bytes).map({ $0 == (width, height) }) ?? false, !isOver else { return }
        latest = bytes
        isNew = true
        if isShown { schedule() }
    }

    func show() {
        isShown = true
        isNew = latest != nil
        if isNew { schedule() }
    }

    /// Removes the file until the page is shown again. The latest picture is kept: a page that has not changed meanwhile
    /// delivers no other.
    func hide() {
        isShown = false
        remove()
    }

    /// Forgets the latest picture, because another document takes the page's place.
    func forget() { latest = nil }

    func close() {
        isOver = true
        writeAt.end()
        remove()
    }

    private func schedule() {
        let now = MonotonicClock.now()
        writeAt.set(max(now, writtenAt?.saturatingSum(Self.interval) ?? now))
    }

    private func write() {
        guard isShown, !isOver, isNew, let latest else { return }
        isNew = false
        writtenAt = MonotonicClock.now()
        queue.async { [self] in
            // Two workers may write the same file for a moment, when one takes over from the other.
            let new = "\(path).\(getpid())"
            guard
                FileManager.default.createFile(
                    atPath: new, contents: Data(latest), attributes: [.posixPermissions: 0o600]),
                rename(new, path) == 0
            else {
                unlink(new)
                return
            }
            fileNumber = Self.number(of: path)
        }
    }

    private func remove() {
        queue.async { [self] in
            // The file of a worker that has taken over stays.
            if let fileNumber, Self.number(of: path) == fileNumber { unlink(path) }
            fileNumber = nil
        }
    }

    private static func number(of path: String) -> ino_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : nil
    }

    /// Returns width and height of a PNG file (PNG specification, third edition, section 11.2.1).
    static func size(of bytes: [UInt8]) -> (Int, Int)? {
        guard bytes.count > 24, bytes.starts(with: signature),
            let width = bytes.bigEndian(Int.self, at: 16, bytes: 4),
            let height = bytes.bigEndian(Int.self, at: 20, bytes: 4)
        else { return nil }
        return (width, height)
    }
}
