import MixModel
import Synchronization

/// Generates increasing numbers that are never repeated, not even after a restart: microseconds since 1970, or the last
/// number plus one. Every JSON reader can hold them exactly.
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
