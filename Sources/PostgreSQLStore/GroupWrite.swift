import Synchronization
import TaskStore

/// A write that waits for its group.
protocol GroupWrite: Sendable {
    /// The change to send together with others; `nil` for a write that is done by `perform`.
    var change: PreparedChange? { get }
    /// Processes the server's answer to `change`.
    func read(_ result: SQLResult) throws
    /// Writes inside the group's transaction. May run again if the transaction failed.
    func perform(_ connection: PGConnection, at time: Double) throws
    /// Reports the outcome. Called once, when the transaction is durable (`nil`) or rolled back.
    func answer(_ failure: StoreError?)
}

/// A write that passes its result to a closure.
final class CallbackWrite<Value: Sendable>: GroupWrite {
    let change: PreparedChange?
    private let body: @Sendable (PGConnection, Double) throws -> Value
    private let reading: @Sendable (SQLResult) throws -> Value
    private let whenDone: @Sendable (Result<Value, StoreError>) -> Void
    private let result = Mutex(Result<Value, StoreError>.failure(.engine("the write was not performed")))

    /// - Parameter body: May throw a `StoreError` to refuse its own change, and must then leave no trace. Any other
    ///   error fails the group.
    init(
        _ body: @escaping @Sendable (PGConnection, Double) throws -> Value,
        whenDone: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        change = nil
        self.body = body
        reading = { _ in throw StoreError.engine("the write has no answer") }
        self.whenDone = whenDone
    }

    init(
        _ change: PreparedChange, reading: @escaping @Sendable (SQLResult) throws -> Value,
        whenDone: @escaping @Sendable (Result<Value, StoreError>) -> Void
    ) {
        self.change = change
        body = { _, _ in throw StoreError.engine("the write is sent with others") }
        self.reading = reading
        self.whenDone = whenDone
    }

    func read(_ result: SQLResult) throws { try keep { try reading(result) } }
    func perform(_ connection: PGConnection, at time: Double) throws { try keep { try body(connection, time) } }

    private func keep(_ body: () throws -> Value) throws {
        do {
            let value = try body()
            result.withLock { $0 = .success(value) }
        } catch let refusal as StoreError {
            result.withLock { $0 = .failure(refusal) }
        }
    }

    func answer(_ failure: StoreError?) {
        whenDone(failure.map { .failure($0) } ?? result.withLock { $0 })
    }
}
