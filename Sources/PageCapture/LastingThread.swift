import Foundation
import Synchronization

/// A thread that stays until the process ends. Processes that must not outlive this one are started on it, since the
/// kernel regards the thread as their parent.
final class LastingThread: Sendable {
    private let work = Mutex<[@Sendable () -> Void]>([])
    private let signal = DispatchSemaphore(value: 0)

    init(name: String) {
        let thread = Thread { [self] in
            while true {
                signal.wait()
                if let next = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { next() }
            }
        }
        thread.name = name
        thread.start()
    }

    /// Runs `body` on the thread, after all earlier requests. It may block.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            work.withLock { $0.append { continuation.resume(with: Swift.Result { try body() }) } }
            signal.signal()
        }
    }
}
