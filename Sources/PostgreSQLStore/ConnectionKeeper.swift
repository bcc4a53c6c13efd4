import Foundation
import TaskStore

/// The connection of one thread. It is opened when needed, and reopened, with pauses, when it is lost.
final class ConnectionKeeper {
    private let target: PostgreSQLTarget
    /// Identity of the cluster that the schema must have.
    private let cluster: String
    private var connection: PGConnection?
    private var lastFailure: PGFailure?
    private var pause = Duration.zero
    private var nextAttempt = ContinuousClock.now

    static let shortestPause: Duration = .milliseconds(100)
    /// Limits the time that the service takes to resume after a failover of the database.
    static let longestPause: Duration = .seconds(1)

    init(_ target: PostgreSQLTarget, cluster: String) {
        self.target = target
        self.cluster = cluster
    }

    /// Returns a connection. During a pause it throws the last failure at once, so that callers need not wait for
    /// timeouts.
    ///
    /// - Parameter isUrgent: Connects even during a pause.
    func connected(isUrgent: Bool = false) throws(PGFailure) -> PGConnection {
        if let connection {
            if connection.isUsable { return connection }
            self.connection = nil
        }
        if let lastFailure, !isUrgent, ContinuousClock.now < nextAttempt { throw lastFailure }
        do throws(PGFailure) {
            let made = try PGConnection(target)
            try check(made)
            (connection, lastFailure, pause) = (made, nil, .zero)
            return made
        } catch {
            pause = min(max(pause * 2, Self.shortestPause), Self.longestPause)
            nextAttempt = .now + pause
            lastFailure = PGFailure(.unreachable, error.message, state: error.state)
            throw PGFailure(.unreachable, error.message, state: error.state)
        }
    }

    /// Checks the identity of the cluster: the database may have been replaced while the connection was gone.
    private func check(_ connection: PGConnection) throws(PGFailure) {
        let found = try connection.execute("SELECT id FROM cluster").rows.first
        guard (try? found?.text("id")) == cluster else {
            throw PGFailure(.unreachable, "its schema belongs to another cluster now: restart the service")
        }
    }

    /// Closes the connection; the next caller gets a new one.
    func drop() { connection = nil }

    /// Rolls back a failed transaction. A connection on which that fails is dropped.
    func rollBack() {
        guard let connection, connection.isUsable else { return drop() }
        do { try connection.execute("ROLLBACK") } catch { drop() }
    }
}
