import Foundation
import TaskStore

/// The writer thread's processing of a group. It belongs to that thread.
final class WriterSession {
    private enum Outcome {
        case stored
        case notStored(PGFailure)
        /// The connection was lost while the server committed, and the result cannot be determined.
        case unknown
    }

    private let place: String
    private let keeper: ConnectionKeeper
    private let clock: StoreClock?
    private let expiry: PostgreSQLExpiry
    /// Identifies this writer's row in `commits`, whose number is that of the last group that was stored.
    private let writer = UUID().uuidString
    private var number: Int64 = 0
    /// Start of the clock by which the server recognises that its own was set forward.
    private let begun = ContinuousClock.now
    /// Whether the row exists. It is created before the first group, because only an existing row can be locked.
    private var isNoted = false

    /// Maximum number of statements sent without reading answers. Their answers fit into the sockets' buffers.
    private static let pipelineSize = 64
    /// Maximum time spent determining the outcome of a lost COMMIT.
    static let resolvingLimit: Duration = .seconds(12)
    /// Maximum number of attempts for a write that conflicts with others.
    private static let mostAttempts = 6

    init(_ target: PostgreSQLTarget, cluster: String, clock: StoreClock?, expiry: PostgreSQLExpiry) {
        place = target.place
        keeper = ConnectionKeeper(target, cluster: cluster)
        self.clock = clock
        self.expiry = expiry
    }

    /// Writes a group and answers it.
    ///
    /// - Returns: Whether it was stored.
    @discardableResult
    func write(_ group: [any GroupWrite]) -> Bool {
        for attempt in 1... {
            switch self.attempt(group) {
            case .stored:
                for write in group { write.answer(nil) }
                return true
            case .unknown:
                for write in group { write.answer(.outcomeUnknown(place: place)) }
                return false
            case .notStored(let failure):
                // Nothing is stored: the server ended the connection, possibly long ago.
                if failure.kind == .lost, attempt == 1 { continue }
                if failure.isOfOneWrite, group.count > 1 {
                    for write in group { self.write([write]) }
                    return true
                }
                if failure.isTransient, attempt < Self.mostAttempts {
                    Thread.sleep(forTimeInterval: 0.004 * Double(attempt))
                    continue
                }
                for write in group { write.answer(failure.storeError(place)) }
                return false
            }
        }
        return false
    }

    private func attempt(_ group: [any GroupWrite]) -> Outcome {
        number += 1
        let connection: PGConnection
        do throws(PGFailure) {
            connection = try keeper.connected()
            if !isNoted {
                try connection.execute(
                    """
                    INSERT INTO commits (writer, number, at) VALUES ($1, 0, extract(epoch FROM clock_timestamp()))
                    ON CONFLICT DO NOTHING
                    """, [.text(writer)])
                isNoted = true
            }
        } catch {
            if error.kind != .unreachable { end(error) }
            return .notStored(error)
        }
        do {
            try perform(group, connection)
        } catch let failure as PGFailure {
            end(failure)
            return .notStored(failure)
        } catch {
            end(PGFailure(.refused, "\(error)", state: "P0001"))
            return .notStored(PGFailure(.refused, "\(error)", state: "P0001"))
        }
        do throws(PGFailure) {
            try connection.run("COMMIT")
            return .stored
        } catch {
            end(error)
            return error.kind == .refused ? .notStored(error) : resolved(error)
        }
    }

    /// Ends the connection's transaction, or drops the connection.
    private func end(_ failure: PGFailure) {
        if failure.kind == .refused, failure.state != nil { keeper.rollBack() } else { keeper.drop() }
    }

    /// Seconds since the writer began; `nil` if the store does not use the server's clock.
    private var elapsed: Double? { clock == nil ? begun.duration(to: .now).seconds : nil }

    private func perform(_ group: [any GroupWrite], _ connection: PGConnection) throws {
        var batch: [(text: String, parameters: EncodedParameters)] = [
            ("BEGIN", try EncodedParameters([])),
            (
                "SELECT begin_group_2($1, $2, $3, $4) AS time",
                try EncodedParameters([.real(clock?.now()), .text(writer), .integer(number), .real(elapsed)])
            ),
        ]
        var sent: [any GroupWrite] = []
        var time: Double?
        func flush() throws {
            guard !batch.isEmpty else { return }
            let results = try connection.pipeline(batch)
            if time == nil { time = try results[1].rows.first?.real("time") }
            for (write, result) in zip(sent, results.suffix(sent.count)) { try write.read(result) }
            batch = []
            sent = []
        }
        for write in group {
            if let change = write.change {
                batch.append((change.statement, change.parameters))
                sent.append(write)
                if batch.count >= Self.pipelineSize { try flush() }
            } else {
                try flush()
                try write.perform(connection, at: time ?? 0)
            }
        }
        try flush()
        try expiry.wrote(group.count, connection, at: time ?? 0)
    }

    /// Determines whether the last group was stored although its COMMIT was not answered.
    ///
    /// The row is locked by a transaction that is still running, so that the answer is the one after its end.
    private func resolved(_ failure: PGFailure) -> Outcome {
        let end = ContinuousClock.now + Self.resolvingLimit
        repeat {
            do throws(PGFailure) {
                let found = try keeper.connected(isUrgent: true).execute(
                    "SELECT number FROM commits WHERE writer = $1 FOR UPDATE", [.text(writer)])
                guard let last = try? found.rows.first?.integer("number") else { return .unknown }
                return last >= number ? .stored : .notStored(failure)
            } catch {
                self.end(error)
                if error.kind == .refused, !error.isTransient { return .unknown }
                Thread.sleep(forTimeInterval: 0.2)
            }
        } while ContinuousClock.now < end
        return .unknown
    }
}
