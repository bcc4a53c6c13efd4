import Dispatch
import RTMP
import Synchronization

/// The way in which a worker's process ended.
enum WorkerEnd: Hashable, Sendable, CustomStringConvertible {
    /// The process ran; the text describes its end.
    case exited(String)
    /// The process never ran, for this reason.
    case notStarted(String)

    var description: String {
        switch self {
        case .exited(let how): how
        case .notStarted(let reason): "not started: \(reason)"
        }
    }

    /// The failure in case the process should have kept running.
    var failure: String {
        switch self {
        case .exited(let how): "exited unexpectedly, \(how)"
        case .notStarted(let reason): "cannot be started: \(reason)"
        }
    }
}

/// Reports a process's end after its start and its last output.
///
/// The end of the process may be detected before all of its output, which may contain the reason, has been read.
final class WorkerEnding: Sendable {
    private struct State {
        var end: WorkerEnd?
        /// Whether the start of the process was reported.
        var isStarted = false
        var isClosed = false
        var isTold = false
    }

    /// Longest wait for the rest of the output, in seconds.
    private static let patience = 0.2

    private let state = Mutex(State())
    private let tell: @Sendable (WorkerEnd) -> Void

    /// - Parameter tell: Called once on the socket loop, never from within a call.
    init(_ tell: @escaping @Sendable (WorkerEnd) -> Void) { self.tell = tell }

    func started() {
        state.withLock { $0.isStarted = true }
        tellIfComplete()
    }

    func ended(_ end: WorkerEnd) {
        state.withLock { state in
            state.end = end
            if case .notStarted = end { (state.isStarted, state.isClosed) = (true, true) }
        }
        tellIfComplete()
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.closed() }
    }

    /// Records that no more output is read.
    func closed() {
        state.withLock { $0.isClosed = true }
        tellIfComplete()
    }

    private func tellIfComplete() {
        let end = state.withLock { state -> WorkerEnd? in
            guard state.isStarted, state.isClosed, !state.isTold, let end = state.end else { return nil }
            state.isTold = true
            return end
        }
        if let end { SocketLoop.shared.perform { [tell] in tell(end) } }
    }
}
