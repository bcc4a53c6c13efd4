import Foundation

/// Time for which threads of some processes have had a CPU, and have waited for one, as Linux counts it.
struct ProcessorUse: Hashable, Sendable {
    struct Thread: Hashable, Sendable {
        /// Running and waiting time, in ns since the thread's start.
        var ran: Int64
        var waited: Int64

        init(ran: Int64, waited: Int64) {
            self.ran = ran
            self.waited = waited
        }

        /// Reads `/proc/…/schedstat`: the time run, the time waited, and a count (kernel, Documentation/scheduler/sched-stats).
        init?(_ text: some StringProtocol) {
            let numbers = text.split { $0 == " " || $0 == "\n" }.compactMap { Int64($0) }
            guard numbers.count == 3, numbers[0] >= 0, numbers[1] >= 0 else { return nil }
            self.init(ran: numbers[0], waited: numbers[1])
        }
    }

    /// Threads by identifier.
    var threads: [Int32: Thread]

    /// Largest number of threads that are read; a browser with a page has about 150.
    static let mostThreads = 2_000

    /// Returns how long threads have run and waited since an earlier reading, in ns. Threads that have ended since then
    /// do not count.
    func since(_ before: ProcessorUse) -> (ran: Double, waited: Double) {
        var (ran, waited) = (0.0, 0.0)
        for (id, thread) in threads {
            // If an identifier was reused by another thread, the result may be too low.
            let earlier = before.threads[id] ?? Thread(ran: 0, waited: 0)
            ran += max(Double(thread.ran) - Double(earlier.ran), 0)
            waited += max(Double(thread.waited) - Double(earlier.waited), 0)
        }
        return (ran, waited)
    }

    /// Reads the use of all descendants of a process. Blocks for a few milliseconds.
    ///
    /// - Parameter root: The kernel's process directory; for tests.
    /// - Returns: `nil` if the kernel does not keep these counts.
    static func ofDescendants(of process: Int32 = getpid(), root: String = "/proc") -> ProcessorUse? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        var children: [Int32: [Int32]] = [:]
        for id in names.compactMap({ Int32($0) }) {
            if let parent = text("\(root)/\(id)/stat").flatMap(parent) { children[parent, default: []].append(id) }
        }
        var threads: [Int32: Thread] = [:]
        var next = children.removeValue(forKey: process) ?? []
        while let id = next.popLast() {
            next += children.removeValue(forKey: id) ?? []
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "\(root)/\(id)/task")) ?? []
            for task in tasks.compactMap({ Int32($0) }) where threads.count < mostThreads {
                threads[task] = text("\(root)/\(id)/task/\(task)/schedstat").flatMap { Thread($0) }
            }
        }
        return threads.isEmpty ? nil : ProcessorUse(threads: threads)
    }

    /// Reads the parent from `ID (NAME) STATE PARENT …`, proc(5). The name may contain any characters.
    private static func parent(_ stat: String) -> Int32? {
        let words = stat.split(separator: ")").last?.split(separator: " ") ?? []
        return words.count > 1 ? Int32(words[1]) : nil
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
