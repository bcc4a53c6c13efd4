import Foundation

/// The threads of a process at one time, by which a later reading tells whether the process has run in between.
struct ProcessRun: Hashable, Sendable {
    /// Time for which each thread has had a CPU, in ns, by the thread's identifier.
    var threads: [Int32: Int64]
    /// Whether a thread runs, or waits for a CPU or a disk. If so, the process may be late through no fault of its own.
    var isHeldUp: Bool

    /// Returns whether no thread has run since an earlier reading, although nothing held the process up.
    func hasStoodStill(since earlier: ProcessRun) -> Bool {
        !isHeldUp && !earlier.isHeldUp && threads == earlier.threads
    }
}

extension ProcessRun {
    /// Largest number of threads that are read; a relay has about ten.
    private static let mostThreads = 1000

    /// Reads the state of a process. Takes some microseconds for each of its threads.
    ///
    /// - Parameter root: The kernel's process directory; for tests.
    /// - Returns: `nil` if the process or one of its threads has ended, or if the kernel does not keep these counts.
    init?(of process: Int32, root: String = "/proc") {
        let directory = "\(root)/\(process)/task"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        guard !names.isEmpty, names.count <= Self.mostThreads else { return nil }
        self.init(threads: [:], isHeldUp: false)
        for name in names {
            guard let thread = Int32(name), let stat = Self.text("\(directory)/\(name)/stat"),
                let counts = Self.text("\(directory)/\(name)/schedstat"),
                // `ID (NAME) STATE …`, proc(5). The name may contain any characters.
                let state = stat.split(separator: ")").last?.split(separator: " ").first,
                // Time run, time waited, and a count (kernel, Documentation/scheduler/sched-stats).
                let ran = counts.split(separator: " ").first.flatMap({ Int64($0) })
            else { return nil }
            threads[thread] = ran
            if state == "R" || state == "D" { isHeldUp = true }
        }
        guard threads.values.contains(where: { $0 > 0 }) else { return nil }
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
