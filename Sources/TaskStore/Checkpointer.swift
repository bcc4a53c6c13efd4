import GRDB
import GRDBSQLite
import Synchronization

/// Copies the write-ahead log to the database file, so that the log does not grow forever and writers do not wait for
/// it.
///
/// A separate connection copies the bulk while writers continue. The writer itself copies the little that was written
/// in the meantime, between two groups, and then the log starts again from its beginning. This replaces the engine's
/// own checkpoints, for which the committing connection waits.
final class Checkpointer: Sendable {
    /// Length in pages at which the log is emptied: 20 MB. It continues to grow while the bulk is copied.
    static let length = 5120
    private static let pageSize = 4096

    private struct State {
        enum Phase { case growing, copying, isCopied }
        var phase = Phase.growing
        /// Length of the log, in pages, when it was last copied.
        var copied = 0
    }
    private let state = Mutex(State())
    /// Length of the log, in pages, after the last commit.
    private let pages = Atomic<Int>(0)
    private let connection: DatabaseQueue

    init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "store.checkpoint"
        connection = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Makes the writer's connection report the length of the log. That connection must not outlive the checkpointer.
    func watch(_ db: Database) throws {
        // The log file is truncated to this size when the log starts again.
        try db.execute(sql: "PRAGMA journal_size_limit = \(2 * Self.length * Self.pageSize)")
        sqlite3_wal_hook(db.sqliteConnection, noteCommit, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func committed(pages: Int) { self.pages.store(pages, ordering: .relaxed) }

    /// Starts or finishes a checkpoint if one is due. Call it on the writer's queue between two groups.
    func wroteGroup(_ db: Database) {
        let pages = pages.load(ordering: .relaxed)
        let phase = state.withLock { state in
            switch state.phase {
            case .growing:
                // A reader may keep the log from starting again; then only its new pages count.
                let grown = pages < state.copied ? pages : pages - state.copied
                if grown < Self.length { return State.Phase.growing }
                state.phase = .copying
                return .copying
            case .copying: return .growing
            case .isCopied:
                state = State(copied: pages)
                return .isCopied
            }
        }
        switch phase {
        case .growing: break
        case .copying:
            connection.asyncWriteWithoutTransaction { db in
                // A failed checkpoint is repeated when the log has grown by the same amount again.
                _ = try? db.checkpoint(.passive)
                self.state.withLock { $0.phase = .isCopied }
            }
        case .isCopied: _ = try? db.checkpoint(.passive)
        }
    }

    func close() { try? connection.close() }
}

/// The callback of `sqlite3_wal_hook`, called on the writer's thread after each commit
/// (sqlite.org/c3ref/wal_hook.html).
private func noteCommit(
    _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, pages: Int32
) -> Int32 {
    if let context { Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue().committed(pages: Int(pages)) }
    return SQLITE_OK
}
