import EncodedMedia
import Foundation
import Synchronization

/// Records the standstills of this machine: times at which a thread that sleeps for 20 ms woke much later.
///
/// A relay cannot distinguish a stalled host from a stalled machine, so a failed run has to report which it was.
final class MachineWatch: Sendable {
    static let shared = MachineWatch()
    /// Shortest recorded standstill, in ns.
    private static let least: Int64 = 100_000_000
    /// Largest number of recorded standstills.
    private static let most = 1000

    private struct Standstill {
        /// Begin in ns of CLOCK_MONOTONIC.
        var at: Int64
        /// Length in ns.
        var length: Int64
    }
    private let found = Mutex<[Standstill]>([])
    private let hasBegun = Mutex(false)

    /// Starts watching; does nothing if it has started before.
    func begin() {
        let isFirst = hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return !hasBegun
        }
        guard isFirst else { return }
        // The thread runs as long as the process.
        Thread.detachNewThread { [self] in watch() }
    }

    /// Returns a line for each standstill within a range of CLOCK_MONOTONIC in ns.
    func standstills(in range: ClosedRange<Int64>) -> [String] {
        let all = found.withLock { $0 }
        return all.filter { $0.at + $0.length >= range.lowerBound && $0.at <= range.upperBound }.map { one in
            let begin = max(0, one.at - range.lowerBound) / 1_000_000
            return "the machine stood still for \(one.length / 1_000_000) ms, \(begin) ms after the begin"
        }
    }

    private func watch() {
        var last = MonotonicClock.now()
        while true {
            Thread.sleep(forTimeInterval: 0.02)
            let now = MonotonicClock.now()
            let length = now - last
            if length > Self.least {
                found.withLock { [last] found in
                    if found.count < Self.most { found.append(Standstill(at: last, length: length)) }
                }
            }
            last = now
        }
    }
}
