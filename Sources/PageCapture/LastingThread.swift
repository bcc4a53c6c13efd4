import Foundation
import Synchronization

/// A thread that stays until the process ends. Processes that shall not outlive this one are started on it: what the kernel
/// takes for their parent is the thread.
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

    /// Runs `body` on the thread, after what was asked for before. It may block.
    func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            work.withLock { $0.append { continuation.resume(with: Swift.Result { try body() }) } }
            signal.signal()
        }
    }
}
