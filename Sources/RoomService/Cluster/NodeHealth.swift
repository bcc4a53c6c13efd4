import EncodedMedia
import Foundation
import MixModel
import TaskStore

/// Whether this node can be trusted with further rooms: its disk takes data, its relays can start, and its clock agrees
/// with the store's. Timestamps of programs that change nodes continue by the time of day. Thread-safe.
package struct NodeHealth: Sendable {
    /// Largest difference between the clocks of node and store, in s.
    static let mostClockDifference = 2.0

    private let disk: DiskProbe
    private let workerProblem: @Sendable () -> String?

    /// - Parameters:
    ///   - directory: The data directory.
    ///   - workerProblem: Returns what relays lack, as far as known; `nil` if they have everything.
    package init(directory: String, workerProblem: @escaping @Sendable () -> String?) {
        disk = DiskProbe(directory: directory)
        self.workerProblem = workerProblem
    }

    /// Returns the reason why the node should take no rooms; `nil` if it may. A store that does not answer is no reason:
    /// nothing can be taken then.
    func trouble(_ store: any TaskStore) async -> String? {
        if let problem = disk.look() ?? workerProblem() { return problem }
        let before = wallClock()
        guard let time = try? await store.time() else { return nil }
        return Self.clockProblem(store: time, between: before, and: wallClock())
    }

    /// Compares the store's time with the times of day before and after the question, all in s.
    static func clockProblem(store time: Double, between before: Double, and after: Double) -> String? {
        let ahead = before - time
        let behind = time - after
        guard max(ahead, behind) > mostClockDifference else { return nil }
        let seconds = String(format: "%.1f", max(ahead, behind))
        return "its clock is \(seconds) s \(ahead > behind ? "ahead of" : "behind") the database's"
    }
}
