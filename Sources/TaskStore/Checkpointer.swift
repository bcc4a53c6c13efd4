import GRDB
import GRDBSQLite
import Synchronization

/// Moves what was written from the write-ahead log to the database file, so that the log does not grow for ever and
/// writers do not wait for it.
///
/// The bulk is copied by a connection of its own while writers go on. What they wrote meanwhile is little; the writer
/// copies it itself between two groups, and then the log begins anew at its start. Takes the place of the engine's own
/// checkpoints, for which the one who commits waits.
final class Checkpointer: Sendable {
    /// Pages after which the log is emptied: 20 MB. It grows on while the bulk is copied.
    static let length = 5120
    private static let pageSize = 4096

    private struct State {
        enum Phase { case growing, copying, isCopied }
        var phase = Phase.growing
        /// Length of the log when it was copied last.
        var copied = 0
    }
    private let state = Mutex(State())
    /// Length of the log after the last commit.
    private let pages = Atomic<Int>(0)
    private let connection: DatabaseQueue

    init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "store.checkpoint"
        connection = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Has the writer's connection tell how long the log is. That connection must not outlive the checkpointer.
    func watch(_ db: Database) throws {
        // The file is cut to this where the log begins anew.
        try db.execute(sql: "PRAGMA journal_size_limit = \(2 * Self.length * Self.pageSize)")
        sqlite3_wal_hook(db.sqliteConnection, noteCommit, Unmanaged.passUnretained(self).toOpaque())
    }

    fileprivate func committed(pages: Int) { self.pages.store(pages, ordering: .relaxed) }

    /// Called on the writer's queue between two groups.
    func wroteGroup(_ db: Database) {
        let pages = pages.load(ordering: .relaxed)
        let phase = state.withLock { state in
            switch state.phase {
            case .growing:
                // A reader may keep the log from beginning anew; then only what is new in it counts.
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
                // What fails here is tried again when the log has grown by as much again.
                _ = try? db.checkpoint(.passive)
                self.state.withLock { $0.phase = .isCopied }
            }
        case .isCopied: _ = try? db.checkpoint(.passive)
        }
    }

    func close() { try? connection.close() }
}

/// `sqlite3_wal_hook`: called by the writer's thread after each commit (sqlite.org/c3ref/wal_hook.html).
private func noteCommit(
    _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, pages: Int32
) -> Int32 {
    if let context { Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue().committed(pages: Int(pages)) }
    return SQLITE_OK
}
