import Dispatch
import Foundation
import Synchronization

/// Writes lines to a descriptor on its own queue, so that no caller waits for a slow disk or a full pipe.
///
/// Lines are dropped while too many are waiting; a line then says how many were lost. Safe to use from any thread.
public final class LogWriter: Sendable {
    private struct State {
        var waiting: [UInt8] = []
        var lost = 0
        var isWriting = false
    }

    private let descriptor: Int32
    private let limit: Int
    private let queue = DispatchQueue(label: "log")
    private let state = Mutex(State())

    /// - Parameters:
    ///   - descriptor: An open descriptor, still owned by the caller.
    ///   - limit: Largest number of waiting bytes.
    public init(descriptor: Int32, limit: Int = 1 << 20) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// Queues a line; never waits.
    public func write(_ line: String) {
        let begins = state.withLock { state in
            guard state.waiting.count + line.utf8.count <= limit else {
                state.lost += 1
                return false
            }
            state.waiting += line.utf8
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { queue.async { self.writeWaiting() } }
    }

    /// Waits until everything is written, for at most `seconds`. Blocks.
    public func flush(within seconds: Double) {
        let isDone = DispatchSemaphore(value: 0)
        queue.async { isDone.signal() }
        _ = isDone.wait(timeout: .now() + seconds)
    }

    private func writeWaiting() {
        while let bytes = next() {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                // The output is no longer read.
                guard count > 0 else { break }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Returns the next bytes to write; `nil` if there are none. The next line then starts the writing again.
    private func next() -> [UInt8]? {
        state.withLock { state in
            if state.lost > 0, !state.waiting.isEmpty {
                state.waiting += Array("\(state.lost) lines of the log are lost: they were not written in time\n".utf8)
                state.lost = 0
            }
            defer { state.waiting = [] }
            state.isWriting = !state.waiting.isEmpty
            return state.isWriting ? state.waiting : nil
        }
    }
}
