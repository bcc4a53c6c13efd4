import Foundation

/// The system's statistics of this process (proc(5)).
package struct ProcessFigures: Sendable {
    /// User plus system CPU time.
    package var cpuSeconds = 0.0
    package var residentBytes = 0.0
    package var threads = 0.0
    package var openDescriptors = 0.0
    /// Limit of open descriptors; `nil` when there is no limit.
    package var mostDescriptors: Double?
    /// Start of the process, in seconds since 1970.
    package var startedAt = 0.0

    /// Creates the figures from /proc/self. Values that cannot be read stay 0.
    package init() {
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        // The name in parentheses may contain anything; fields are counted after it, starting with 3.
        let stat = Self.text("/proc/self/stat").split(separator: ")").last?.split(separator: " ") ?? []
        if stat.count > 21 {
            cpuSeconds = ((Double(stat[11]) ?? 0) + (Double(stat[12]) ?? 0)) / ticks
            threads = Double(stat[17]) ?? 0
            residentBytes = (Double(stat[21]) ?? 0) * Double(sysconf(Int32(_SC_PAGESIZE)))
            let boot = Self.text("/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }
            startedAt = (boot.flatMap { Double($0.dropFirst(6)) } ?? 0) + (Double(stat[19]) ?? 0) / ticks
        }
        openDescriptors = Double(
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0)
        let limit = Self.text("/proc/self/limits").split(separator: "\n").first { $0.hasPrefix("Max open files") }
        mostDescriptors = limit.flatMap { Double($0.split(separator: " ").dropFirst(3).first ?? "") }
    }

    private static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}
