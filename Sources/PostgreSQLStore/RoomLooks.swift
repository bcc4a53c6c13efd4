import MixModel
import Synchronization
import TaskStore

/// Searches for rooms without a node: often among those that lost theirs, and among all rooms only as often as the
/// database can bear, because that reads every room on air. Thread-safe.
///
/// All nodes of a cluster together read a limited number of rows per second: the more nodes and rooms there are, the
/// less often each node reads them. Small clusters do so at every search.
final class RoomLooks: Sendable {
    /// Maximum number of rows that all nodes together read per second.
    static let rowsPerSecond = 200_000.0
    /// Pauses shorter than this are omitted.
    static let shortestPause: Duration = .milliseconds(500)

    /// Time for which an estimate of nodes and rows is used.
    private static let estimateLifetime: Duration = .seconds(10)

    private struct State {
        /// Time of the next search of all rooms.
        var next = ContinuousClock.now
        var pause = Duration.zero
        /// Time of the next estimate.
        var estimate = ContinuousClock.now
    }
    private let state = Mutex(State())

    /// Returns the names of the leases of rooms that need a node and have none, as far as this search finds them.
    func waiting(
        of lives: [RoomLife], limit: Int, at time: Double, _ connection: PGConnection
    ) throws -> [TaskID] {
        let now = ContinuousClock.now
        let (isDue, isEstimateDue) = state.withLock { ($0.next <= now, $0.estimate <= now) }
        guard isDue else { return try PostgreSQLRooms.orphaned(limit: limit, at: time, connection) }
        let found = try PostgreSQLRooms.waiting(of: lives, limit: limit, at: time, connection)
        // If the limit was reached, there may be more.
        guard found.count < limit else { return found }
        let estimated = isEstimateDue ? try Self.pause(at: time, connection) : nil
        state.withLock { state in
            if let estimated {
                state.pause = estimated
                state.estimate = now + Self.estimateLifetime
            }
            // Nodes that started together should not keep searching at the same time.
            state.next = now + state.pause * Double.random(in: 0.5...1.5)
        }
        return found
    }

    private static func pause(at time: Double, _ connection: PGConnection) throws -> Duration {
        let row = try connection.execute(
            """
            SELECT (SELECT count(*) FROM nodes WHERE until > $1) AS nodes,
                (SELECT coalesce(sum(greatest(reltuples, 0)), 0)::bigint FROM pg_class
                    WHERE oid IN ('rooms'::regclass, 'tasks'::regclass)) AS rows
            """, [.real(time)]
        ).rows.first
        guard let row else { return .zero }
        return pause(nodes: Int(clamping: try row.integer("nodes")), rows: Int(clamping: try row.integer("rows")))
    }

    /// Returns the pause between two searches of all rooms by one node; zero if none is needed.
    ///
    /// - Parameter rows: Number of rows of rooms and tasks, as estimated by the database.
    static func pause(nodes: Int, rows: Int) -> Duration {
        let pause = Duration.seconds(Double(max(nodes, 1)) * Double(max(rows, 0)) / rowsPerSecond)
        return pause < shortestPause ? .zero : pause
    }
}
