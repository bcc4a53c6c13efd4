import Dispatch
import Foundation
import EncodedMedia
import Synchronization

/// Writes a small file now and then, to learn whether a directory takes data. Thread-safe; never waits for the disk.
final class DiskProbe: Sendable {
    private struct State {
        /// Time at which the pending attempt began, in ns of CLOCK_MONOTONIC.
        var begunAt: Int64?
        var problem: String?
    }
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "node.disk", qos: .utility)
    private let path: String

    /// Time after which a pending attempt counts as failed, in ns.
    static let patience: Int64 = 5_000_000_000

    init(directory: String) { path = directory + "/node-health" }

    /// Begins an attempt unless one is under way, and returns what is known: the problem in words, or `nil`.
    ///
    /// - Parameter now: Time in ns of CLOCK_MONOTONIC.
    func look(at now: Int64 = MonotonicClock.now()) -> String? {
        let (isNew, problem) = state.withLock { state in
            if let begun = state.begunAt {
                let isLate = now - begun > Self.patience
                return (
                    false,
                    isLate ? "\(path): the disk has not answered for \((now - begun) / 1_000_000_000) s" : state.problem
                )
            }
            state.begunAt = now
            return (true, state.problem)
        }
        if isNew {
            queue.async { [self] in
                let problem = Self.attempt(path)
                state.withLock { $0 = State(problem: problem) }
            }
        }
        return problem
    }

    /// Writes the file and waits until it is on the disk.
    private static func attempt(_ path: String) -> String? {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return problem(path) }
        defer { close(file) }
        let byte: [UInt8] = [10]
        guard write(file, byte, 1) == 1, fsync(file) == 0 else { return problem(path) }
        return nil
    }

    private static func problem(_ path: String) -> String { "\(path): \(String(cString: strerror(errno)))" }
}
