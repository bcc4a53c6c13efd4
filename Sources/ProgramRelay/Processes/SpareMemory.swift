import EncodedMedia
import Foundation

/// Decides whether the machine has memory for a spare process. Free memory is read at most every 5 s.
struct SpareMemory {
    /// Fraction of memory that must be free for a spare process.
    private static let leastFree = 0.25
    private static let interval = MediaTime.seconds(5)

    private var answer = false
    private var askAt = MediaTime.zero

    /// Returns whether enough memory is free for a spare process; `false` if the system does not report that.
    mutating func isPlentiful(now: MediaTime) -> Bool {
        guard now >= askAt else { return answer }
        askAt = now + Self.interval
        answer = (try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8)).map(Self.isPlentiful) ?? false
        return answer
    }

    /// Returns whether enough memory is free.
    /// - Parameter text: The content of `/proc/meminfo`: lines of `MemTotal:  24689340 kB`, see proc_meminfo(5).
    static func isPlentiful(_ text: String) -> Bool {
        func kilobytes(_ name: String) -> Double? {
            text.split(separator: "\n").first { $0.hasPrefix(name + ":") }?
                .split(separator: " ").dropFirst().first.flatMap { Double($0) }
        }
        guard let all = kilobytes("MemTotal"), let free = kilobytes("MemAvailable") else { return false }
        return free >= all * leastFree
    }
}
