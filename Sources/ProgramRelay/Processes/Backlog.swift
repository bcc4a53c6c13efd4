import Synchronization

/// The amount of a sender's data that has not been handled yet.
///
/// It is bounded, because a sender that is faster than the handling would otherwise exhaust the memory. Safe to use
/// from any thread.
final class Backlog: Sendable {
    enum Outcome: Sendable {
        case taken
        /// The first data that does not fit: its sender must be disconnected.
        case exceeded
        /// Data after the limit was exceeded.
        case over
    }

    private struct State {
        var bytes = 0
        var isOver = false
    }

    /// Largest amount of waiting data, in bytes.
    let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Adds data of this size. A fixed overhead is added for each piece.
    func add(_ bytes: Int) -> Outcome {
        state.withLock { state in
            guard !state.isOver else { return .over }
            state.bytes += bytes + Self.overhead
            state.isOver = state.bytes > limit
            return state.isOver ? .exceeded : .taken
        }
    }

    /// Adds data, unless it does not fit.
    /// - Parameter room: Bytes that must remain for other data.
    /// - Returns: `false` if it does not fit and must be dropped.
    func addIfItFits(_ bytes: Int, leaving room: Int = 0) -> Bool {
        state.withLock { state in
            guard state.bytes + bytes + Self.overhead <= limit - room else { return false }
            state.bytes += bytes + Self.overhead
            return true
        }
    }

    /// Whether everything has been handled.
    var isEmpty: Bool { state.withLock { $0.bytes == 0 } }

    /// Removes data that has been handled.
    func remove(_ bytes: Int) { state.withLock { $0.bytes -= bytes + Self.overhead } }

    private static let overhead = 128
}
