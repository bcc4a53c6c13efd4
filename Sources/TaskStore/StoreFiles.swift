import Foundation

/// The identities of the database's files when they were opened.
///
/// An open file can be removed or replaced under a running service. Data written to it afterwards is lost when the
/// process ends.
struct StoreFiles: Sendable {
    private struct Identity: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64

        /// Returns the identity of a file; `nil` if there is none at the path.
        init?(of path: String) {
            var info = stat()
            guard stat(path, &info) == 0 else { return nil }
            (device, inode) = (UInt64(info.st_dev), UInt64(info.st_ino))
        }
    }

    private let opened: [(path: String, identity: Identity)]

    /// Records the identities of the database, its log and their directory.
    ///
    /// - Parameter path: Path of the database. The database and its log are already open.
    init(database path: String) {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        opened = [directory, path, path + "-wal"].compactMap { path in Identity(of: path).map { (path, $0) } }
    }

    /// An error for the first file that was removed or replaced; `nil` if there is none. The check takes some
    /// microseconds.
    var problem: StoreError? {
        for (path, identity) in opened {
            let now = Identity(of: path)
            if now != identity { return .displaced(path: path, isGone: now == nil) }
        }
        return nil
    }
}
