import MixModel
import Synchronization

/// Generates numbers that grow and are never repeated, not even after a restart: µs since 1970, or one more than the
/// last number. They are small enough for every JSON reader.
package final class NumberSource: Sendable {
    private let last = Mutex<Int64>(0)

    package func next() -> Int64 {
        let now = Int64(wallClock() * 1e6)
        return last.withLock { last in
            last = max(last + 1, now)
            return last
        }
    }

    func nextCause() -> CauseID { CauseID(String(next(), radix: 36)) }
}
