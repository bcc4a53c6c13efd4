import Dispatch
import Synchronization

/// Runs `body` and waits for its end. Only for threads that may block, never for Swift's cooperative threads.
///
/// When it returns, only the caller still holds `body` and its captures.
func waiting<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    let errand = Errand(body)
    let done = DispatchSemaphore(value: 0)
    // The caller owns the task: it does not continue before the task has ended. A task releases its captures only some
    // time after its last line, so `body` is not one of them.
    Task {
        await errand.run()
        done.signal()
    }
    done.wait()
    guard let result = errand.result.withLock({ $0 }) else { throw CancellationError() }
    return try result.get()
}

private final class Errand<Value: Sendable>: Sendable {
    private let body: Mutex<(@Sendable () async throws -> Value)?>
    let result = Mutex<Result<Value, any Error>?>(nil)

    init(_ body: @escaping @Sendable () async throws -> Value) { self.body = Mutex(body) }

    func run() async {
        let taken = body.withLock { body in
            defer { body = nil }
            return body
        }
        guard let taken else { return }
        do {
            let value = try await taken()
            result.withLock { $0 = .success(value) }
        } catch {
            result.withLock { $0 = .failure(error) }
        }
    }
}
