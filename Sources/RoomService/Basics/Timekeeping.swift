import Foundation
import Synchronization

/// Returns the wall-clock time in seconds since 1970, for display.
package func wallClock() -> Double { Date().timeIntervalSince1970 }

/// Counts consecutive turns in which the other side sent nothing.
final class Silence: Sendable {
    private let turns = Mutex(0)

    func end() { turns.withLock { $0 = 0 } }

    /// - Returns: The number of turns before this one.
    func add() -> Int {
        turns.withLock { turns in
            defer { turns += 1 }
            return turns
        }
    }
}
