import Foundation

/// The database's files as they were opened. An open file can be removed or replaced under a running service: what is
/// written to it afterwards is lost with the process.
struct StoreFiles: Sendable {
    private struct Identity: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64

        /// `nil` when nothing can be found there.
        init?(of path: String) {
            var info = stat()
            guard stat(path, &info) == 0 else { return nil }
            (device, inode) = (UInt64(info.st_dev), UInt64(info.st_ino))
        }
    }

    private let opened: [(path: String, identity: Identity)]

    /// - Parameter path: Of the database; open already, its log too.
    init(database path: String) {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        opened = [directory, path, path + "-wal"].compactMap { path in Identity(of: path).map { (path, $0) } }
    }

    /// What is not as it was opened; `nil` when all is. Takes some microseconds.
    var problem: StoreError? {
        for (path, identity) in opened {
            let now = Identity(of: path)
            if now != identity { return .displaced(path: path, isGone: now == nil) }
        }
        return nil
    }
}
