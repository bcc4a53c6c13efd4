import Foundation

/// Linux's counters of a machine's processors, read at one moment. The difference of two readings is the usage between
/// them.
package struct MachineReading: Hashable, Sendable {
    /// Cores that this process may use: those of its affinity, or its control group's quota if that is less.
    var cores: Double
    /// CPU time used so far in seconds, by all processes on the machine or in the control group that sets the limit.
    var busySeconds: Double
    /// Time in which a process waited for a processor, in seconds (PSI, `some`); `nil` where the kernel does not report
    /// it.
    var waitedSeconds: Double?

    /// Reads the counters.
    ///
    /// - Parameter root: Directory that holds `/proc` and `/sys`; for tests.
    /// - Returns: `nil` when nothing can be read, as on a system without `/proc`.
    package static func now(root: String = "", processors: Int = ProcessInfo.processInfo.activeProcessorCount)
        -> MachineReading?
    {
        func text(_ path: String) -> String? {
            FileManager.default.contents(atPath: root + path).map { String(decoding: $0, as: UTF8.self) }
        }
        let waited = text("/proc/pressure/cpu").flatMap(waitedSeconds)
        let group = text("/proc/self/cgroup").flatMap(groupPath) ?? "/"
        // The narrowest quota of the group and its ancestors.
        var narrowest: (cores: Double, path: String)?
        for path in ancestors(of: group) {
            let folder = "/sys/fs/cgroup" + (path == "/" ? "" : path)
            if let quota = text(folder + "/cpu.max").flatMap(quota), quota < narrowest?.cores ?? Double(processors) {
                narrowest = (quota, folder)
            }
        }
        if let narrowest, let used = text(narrowest.path + "/cpu.stat").flatMap(usedSeconds) {
            return MachineReading(cores: narrowest.cores, busySeconds: used, waitedSeconds: waited)
        }
        guard let busy = text("/proc/stat").flatMap({ busySeconds($0) }) else { return nil }
        return MachineReading(cores: Double(processors), busySeconds: busy, waitedSeconds: waited)
    }

    /// Returns the group and its ancestors, innermost first.
    static func ancestors(of path: String) -> [String] {
        let parts = path.split(separator: "/")
        return (0...parts.count).reversed().map { "/" + parts.prefix($0).joined(separator: "/") }
    }

    /// Returns the busy time in seconds from `cpu  user nice system idle iowait irq softirq steal …` in ticks, proc(5).
    /// Stolen time counts as busy, because this machine cannot use it.
    static func busySeconds(_ stat: String, ticks: Double = Double(sysconf(Int32(_SC_CLK_TCK)))) -> Double? {
        guard let line = stat.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
        let values = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard values.count >= 8 else { return nil }
        return (values[0] + values[1] + values[2] + values[5] + values[6] + values[7]) / ticks
    }

    /// Returns the waiting time in seconds from `some avg10=… total=MICROSECONDS` (kernel,
    /// Documentation/accounting/psi.rst).
    static func waitedSeconds(_ pressure: String) -> Double? {
        guard let line = pressure.split(separator: "\n").first(where: { $0.hasPrefix("some ") }),
            let total = line.split(separator: " ").first(where: { $0.hasPrefix("total=") })
        else { return nil }
        return Double(total.dropFirst(6)).map { $0 / 1e6 }
    }

    /// Returns the path of this process in the unified hierarchy, from `0::/path`, cgroups(7).
    static func groupPath(_ cgroup: String) -> String? {
        cgroup.split(separator: "\n").first { $0.hasPrefix("0::") }.map { String($0.dropFirst(3)) }
    }

    /// Returns the cores of `QUOTA PERIOD`, both in µs; `nil` for `max`.
    package static func quota(_ cpuMax: String) -> Double? {
        let words = cpuMax.split { $0 == " " || $0 == "\n" }
        guard words.count == 2, let quota = Double(words[0]), let period = Double(words[1]), quota > 0, period > 0
        else {
            return nil
        }
        return quota / period
    }

    static func usedSeconds(_ cpuStat: String) -> Double? {
        let line = cpuStat.split(separator: "\n").first { $0.hasPrefix("usage_usec ") }
        return line?.split(separator: " ").last.flatMap { Double($0) }.map { $0 / 1e6 }
    }
}
