import Synchronization

/// How much somebody has sent that has not been handled yet. What is sent faster than it can be handled would otherwise
/// take all memory. Safe to use from any thread.
final class Backlog: Sendable {
    enum Outcome: Sendable {
        case taken
        /// The first that does not fit: whoever sent it has to be let go.
        case exceeded
        /// What comes after that.
        case over
    }

    private struct State {
        var bytes = 0
        var isOver = false
    }

    /// In bytes.
    let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// Something of this size has come. A few bytes are added for keeping it at all.
    func add(_ bytes: Int) -> Outcome {
        state.withLock { state in
            guard !state.isOver else { return .over }
            state.bytes += bytes + Self.overhead
            state.isOver = state.bytes > limit
            return state.isOver ? .exceeded : .taken
        }
    }

    /// The same for what is replaced by the next of its kind: what does not fit is left out.
    func addIfItFits(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard state.bytes + bytes + Self.overhead <= limit else { return false }
            state.bytes += bytes + Self.overhead
            return true
        }
    }

    /// It has been handled.
    func remove(_ bytes: Int) { state.withLock { $0.bytes -= bytes + Self.overhead } }

    private static let overhead = 128
}
