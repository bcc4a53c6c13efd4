import Foundation
import MixModel

/// What the machine has left, asked for now and then.
struct MachineMemory {
    /// A process that only waits may take of the memory while so much of it is free.
    private static let leastFree = 0.25
    private static let interval = MediaTime.seconds(5)

    private var answer = false
    private var askAt = MediaTime.zero

    /// False where the system does not say.
    mutating func isPlentiful(now: MediaTime) -> Bool {
        guard now >= askAt else { return answer }
        askAt = now + Self.interval
        answer = (try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8)).map(Self.isPlentiful) ?? false
        return answer
    }

    /// - Parameter text: as `/proc/meminfo` has it: lines of `MemTotal:  24689340 kB`, proc_meminfo(5).
    static func isPlentiful(_ text: String) -> Bool {
        func kilobytes(_ name: String) -> Double? {
            text.split(separator: "\n").first { $0.hasPrefix(name + ":") }?
                .split(separator: " ").dropFirst().first.flatMap { Double($0) }
        }
        guard let all = kilobytes("MemTotal"), let free = kilobytes("MemAvailable") else { return false }
        return free >= all * leastFree
    }
}
