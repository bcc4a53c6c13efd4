import Foundation
import TaskStore

/// A pool of reading threads, each with its own connection.
final class ReadPool: Sendable {
    private typealias Job = @Sendable (ConnectionKeeper) -> Void

    /// Number of connections. They are opened when needed.
    static let size = 4
    /// Maximum number of reads that wait. Further ones are refused.
    static let queueSize = 4096

    private let queue = JobQueue<Job>(limit: ReadPool.queueSize)
    private let place: String
    private let ended = Ending(threads: ReadPool.size)

    init(_ target: PostgreSQLTarget, cluster: String) {
        place = target.place
        let (queue, ended) = (queue, ended)
        for number in 0..<Self.size {
            let thread = Thread {
                ended.after {
                    let keeper = ConnectionKeeper(target, cluster: cluster)
                    while let jobs = queue.take(1) {
                        for job in jobs { job(keeper) }
                    }
                }
            }
            thread.name = "store.reader.\(number)"
            thread.start()
        }
    }

    /// Runs `body` on a connection. It must only read, because it runs again if the connection was lost.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (PGConnection) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let refusal = queue.add { [place] keeper in
                continuation.resume(returning: Self.result(of: body, keeper, place))
            }
            switch refusal {
            case nil: break
            case .full: continuation.resume(returning: .failure(.overloaded))
            case .closed: continuation.resume(returning: .failure(.closed))
            }
        }
        return try result.get()
    }

    private static func result<Value>(
        of body: (PGConnection) throws -> Value, _ keeper: ConnectionKeeper, _ place: String
    ) -> Result<Value, StoreError> {
        for attempt in 1... {
            do {
                return .success(try body(keeper.connected()))
            } catch let failure as PGFailure {
                if failure.kind == .lost || failure.state == nil { keeper.drop() }
                if failure.kind == .lost, attempt == 1 { continue }
                return .failure(failure.storeError(place))
            } catch {
                return .failure(StoreError(error, place: place))
            }
        }
        return .failure(.closed)
    }

    func close() async {
        queue.close()
        await ended.wait()
    }
}
