import ChildProcesses
import Foundation
import MixModel

/// The share of the machine that the processes of a page's browser get: they run on a few cores, and behind other
/// programs. What a page computes is up to its author, so without a limit it could take the time of programs on air.
///
/// Every process and thread that the browser starts inherits its share. Neither part needs a privilege.
struct BrowserShare: Hashable, Sendable {
    /// Numbers of the cores in ascending order; empty means all.
    var cores: [Int] = []
    /// Added to the niceness of this process, 0 to 19.
    var niceness = 0

    /// Largest number of cores that are read.
    static let mostCores = 4096

    /// Returns the share of a job, with cores chosen at random, so that pages spread over the machine.
    ///
    /// - Parameter usable: Cores on which this process may run; empty if they are unknown.
    static func choose(for job: PageJob, among usable: [Int]) -> BrowserShare {
        let count = job.processors ?? 0
        let isLimited = count > 0 && count < usable.count
        return BrowserShare(
            cores: isLimited ? usable.shuffled().prefix(count).sorted() : [],
            niceness: min(max(job.niceness ?? 0, 0), 19))
    }

    /// The command, to be followed by another one, that runs the latter with this share. Empty if there is no limit.
    var command: [String] {
        var words: [String] = []
        if !cores.isEmpty { words += ["taskset", "-c", cores.map { "\($0)" }.joined(separator: ",")] }
        // With the limit of a service that may raise its own priority, the browser could raise its threads' again.
        if niceness > 0 { words += ["nice", "-n", "\(niceness)", "prlimit", "--nice=0:0", "--rtprio=0:0"] }
        return words
    }

    /// Whether the system applies the share. Blocks for some milliseconds.
    var isPossible: Bool {
        guard !command.isEmpty else { return true }
        var launch = ProcessLaunch("/bin/sh", ["-c", #"exec "$@""#, "sh"] + command + ["true"])
        launch.environment = ["PATH": PagePrograms.path]
        (launch.output, launch.errors) = (.null, .null)
        guard let process = try? launch.start() else { return false }
        return process.waitForExit() == .status(0)
    }

    /// The cores on which this process may run; empty if the system does not say.
    static var usableCores: [Int] {
        let status = FileManager.default.contents(atPath: "/proc/self/status")
        return cores(inStatus: status.map { String(decoding: $0, as: UTF8.self) } ?? "")
    }

    /// Reads the line `Cpus_allowed_list: 0-3,7` of `/proc/…/status`, proc(5). Empty if it is absent or not as
    /// described.
    static func cores(inStatus status: String) -> [Int] {
        let name = "Cpus_allowed_list:"
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return [] }
        let list = line.dropFirst(name.count).filter { !$0.isWhitespace }
        var cores: [Int] = []
        for part in list.split(separator: ",") {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
            guard let first = ends.first, let last = ends.last, ends.count <= 2, first >= 0, first <= last,
                last - first < mostCores - cores.count
            else { return [] }
            cores += first...last
        }
        return cores
    }
}
