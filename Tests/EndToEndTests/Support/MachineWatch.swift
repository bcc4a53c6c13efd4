import EncodedMedia
import Foundation
import Synchronization

/// Records when this machine stood still: when a thread that sleeps for 20 ms woke much later.
///
/// A relay cannot tell a host that stalls from a machine that does, so one failed run has to say which it was.
final class MachineWatch: Sendable {
    static let shared = MachineWatch()
    /// Shortest standstill that is recorded, in ns.
    private static let least: Int64 = 100_000_000
    /// Largest number of standstills that are kept.
    private static let most = 1000

    private struct Standstill {
        /// Begin in ns of CLOCK_MONOTONIC.
        var at: Int64
        /// In ns.
        var length: Int64
    }
    private let found = Mutex<[Standstill]>([])
    private let hasBegun = Mutex(false)

    /// Begins to watch; does nothing if it has begun.
    func begin() {
        let isFirst = hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return !hasBegun
        }
        guard isFirst else { return }
        // Runs as long as the process.
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
