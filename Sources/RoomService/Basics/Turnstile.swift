import Synchronization

/// Lets a limited number of callers pass at once; further callers wait in order. Thread-safe.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [(number: Int, continuation: CheckedContinuation<Void, any Error>)] = []
        var next = 0
        /// Numbers of callers whose wait was cancelled before it began.
        var cancelled: Set<Int> = []
    }
    private let state: Mutex<State>

    init(limit: Int) { state = Mutex(State(free: limit)) }

    /// - Throws: `CancellationError` when the task is cancelled while it waits.
    func pass<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Value
    ) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await body()
    }

    /// Waits for a place. The caller must call `leave` afterwards. Used instead of `pass` where errors are typed.
    func enter() async throws {
        let number: Int? = state.withLock { state in
            guard state.free == 0 else {
                state.free -= 1
                return nil
            }
            state.next += 1
            return state.next
        }
        guard let number else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                enum Next { case wait, go, cancelled }
                let next: Next = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return .cancelled }
                    if state.free > 0 {
                        state.free -= 1
                        return .go
                    }
                    state.waiting.append((number, continuation))
                    return .wait
                }
                switch next {
                case .wait: break
                case .go: continuation.resume()
                case .cancelled: continuation.resume(throwing: CancellationError())
                }
            }
        } onCancel: {
            let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                guard let index = state.waiting.firstIndex(where: { $0.number == number }) else {
                    state.cancelled.insert(number)
                    return nil
                }
                return state.waiting.remove(at: index).continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
        // A cancellation after the wait leaves its number behind.
        state.withLock { _ = $0.cancelled.remove(number) }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume()
    }
}
