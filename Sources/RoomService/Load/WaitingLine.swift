import MixModel

/// The tasks that wait for capacity, in the order in which they are served: highest priority first, then longest wait.
/// Insertion and removal take a binary search; reading the first tasks takes no search.
struct WaitingLine: Sendable {
    /// A task's place in the line. No two tasks have the same number.
    struct Place: Comparable, Sendable {
        var priority: Int
        /// Order of arrival.
        var number: Int

        static func < (left: Self, right: Self) -> Bool {
            (-left.priority, left.number) < (-right.priority, right.number)
        }
    }

    /// The tasks in order.
    private(set) var tasks: [(place: Place, task: TaskID)] = []

    mutating func enter(_ task: TaskID, at place: Place) { tasks.insert((place, task), at: index(of: place)) }

    mutating func leave(_ place: Place) {
        let index = index(of: place)
        if index < tasks.count, tasks[index].place == place { tasks.remove(at: index) }
    }

    /// Returns the first index whose place is not before `place`.
    private func index(of place: Place) -> Int {
        var range = 0..<tasks.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = tasks[middle].place < place ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
