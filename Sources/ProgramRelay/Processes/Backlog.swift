import Synchronization

/// The amount of data that a sender has sent and that is not handled yet.
///
/// Bounds it, because a sender that is faster than its data can be handled would otherwise take all memory. Safe to use
/// from any thread.
final class Backlog: Sendable {
    enum Outcome: Sendable {
        case taken
        /// The first data that does not fit: its sender has to be disconnected.
        case exceeded
        /// Data after the limit was exceeded.
        case over
    }

    private struct State {
        var bytes = 0
        var isOver = false
    }

    /// Most data that may wait, in bytes.
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
    /// - Parameter room: Bytes that have to be left for other data.
    /// - Returns: `false` if it does not fit and has to be left out.
    func addIfItFits(_ bytes: Int, leaving room: Int = 0) -> Bool {
        state.withLock { state in
            guard state.bytes + bytes + Self.overhead <= limit - room else { return false }
            state.bytes += bytes + Self.overhead
            return true
        }
    }

    /// Takes off data that has been handled.
    func remove(_ bytes: Int) { state.withLock { $0.bytes -= bytes + Self.overhead } }

    private static let overhead = 128
}
