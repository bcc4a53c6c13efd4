import GRDB
import Synchronization

/// Moves what was written from the write-ahead log to the database file, so that the log does not grow for ever and
/// writers do not wait for it.
///
/// The bulk is copied by a connection of its own while writers go on. What they wrote meanwhile is little; the writer
/// copies it itself between two groups, and then the log begins anew at its start.
final class Checkpointer: Sendable {
    /// Changes after which the log is emptied; some 5 KB of log each, so it stays around 24 MB.
    static let interval = 4096
    /// The log is emptied by the engine itself at this length, whatever happens here, in pages of 4 KB.
    static let longestLog = 32_768

    private enum Phase {
        case counting(Int)
        case copying
        /// The bulk is copied.
        case finishing
    }
    private let phase = Mutex(Phase.counting(0))
    private let connection: DatabaseQueue

    init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.label = "store.checkpoint"
        connection = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Called on the writer's queue between two groups.
    func wrote(_ changes: Int, _ db: Database) {
        enum Step { case none, copy, finish }
        let step = phase.withLock { phase -> Step in
            switch phase {
            case .counting(let count) where count + changes >= Self.interval:
                phase = .copying
                return .copy
            case .counting(let count):
                phase = .counting(count + changes)
                return .none
            case .copying:
                return .none
            case .finishing:
                phase = .counting(0)
                return .finish
            }
        }
        switch step {
        case .none: break
        case .copy:
            connection.asyncWriteWithoutTransaction { db in
                // What fails here is tried again after the next interval.
                _ = try? db.checkpoint(.passive)
                self.phase.withLock { $0 = .finishing }
            }
        case .finish: _ = try? db.checkpoint(.passive)
        }
    }

    func close() { try? connection.close() }
}
