import CContainment
import Foundation

/// The sandbox of a process that handles untrusted bytes: rights that it gives up, so that a compromise gains little.
///
/// Entering it cannot be undone, and affects all later threads of the process. Call it while the process has one
/// thread: the rules for files and the network namespace hold for the calling thread and its successors only.
public enum Containment {
    /// A part of the containment. The raw value is its name in logs.
    public enum Measure: String, CaseIterable, Codable, Sendable {
        /// No new privileges, no capabilities.
        case privileges
        /// A network namespace in which no interface is up.
        case network
        /// Only listed files can be opened, for reading only.
        case files
        /// No new sockets, programs or processes, and no access to other processes.
        case calls
    }

    /// The measures that are not in force, with the reasons.
    public struct Outcome: Codable, Hashable, Sendable {
        public var missing: [String: String] = [:]

        public init() {}

        public subscript(_ measure: Measure) -> String? {
            get { missing[measure.rawValue] }
            set { missing[measure.rawValue] = newValue }
        }

        /// A line for a log; `nil` if everything is in force.
        public var warning: String? {
            guard !missing.isEmpty else { return nil }
            let reasons = missing.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value))" }
            return "runs without some of its containment: \(reasons.joined(separator: ", "))"
        }
    }

    /// Files that libraries open at a later time: plug-ins, fonts and their caches, properties of the machine.
    ///
    /// libdispatch reads `/proc/TID/stat` of threads that do not exist yet, and crashes if it cannot. Landlock and the
    /// kernel refuse access to the secrets of other processes (memory, environment, descriptors) in any case.
    static var systemFiles: [String] {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? "/nonexistent"
        return [
            "/usr", "/lib", "/lib64", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/var/cache/fontconfig",
            "/var/lib/ghostscript/fonts", "/sys/devices/system", "/proc", "/dev/urandom", "/dev/zero", "\(home)/.fonts",
            "\(home)/.local/share/fonts",
            "\(home)/.config/fontconfig", "\(home)/.cache/fontconfig",
        ]
    }

    /// Files that are needed to resolve names and to check certificates.
    private static let nameFiles = [
        "/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services",
        "/etc/ssl", "/run/systemd/resolve",
    ]

    /// Gives up every right that the kernel allows the process to give up.
    /// - Parameters:
    ///   - readable: Directories that stay readable in addition to those of the system.
    ///   - restrictsFiles: Whether opening files is restricted.
    ///   - keepsNetwork: Whether the process may open sockets and look up names.
    ///   - sockets: Directories in which the process may create Unix sockets.
    public static func enter(
        readable: [String], restrictsFiles: Bool = true, keepsNetwork: Bool = false, sockets: [String] = []
    ) -> Outcome {
        var outcome = Outcome()
        let network = keepsNetwork ? 0 : leaveNetwork()
        let capabilities = containment_drop_capabilities(-1)
        let privileges = containment_refuse_new_privileges()
        if let failure = [capabilities, privileges].first(where: { $0 != 0 }) {
            outcome[.privileges] = FileRules.reason(failure)
        }
        if !restrictsFiles {
            outcome[.files] = "a hardware encoder's driver opens files of its own"
        } else if let threads = threadCount, threads > 1 {
            outcome[.files] = "\(threads) threads were running"
        } else {
            let readable = systemFiles + readable + (keepsNetwork ? nameFiles : [])
            outcome[.files] = FileRules(readable: readable, sockets: sockets, refusesNetwork: !keepsNetwork).apply()
        }
        let program = SystemCallFilter.program(process: UInt32(getpid()), allowsSockets: keepsNetwork)
        let filter = containment_filter(program, UInt16(program.count))
        outcome[.calls] = filter == 0 ? nil : FileRules.reason(filter)
        // Without sockets, a namespace with a network is as safe as one without.
        if filter != 0, network != 0 { outcome[.network] = FileRules.reason(network) }
        return outcome
    }

    /// Gives up the right to lower niceness, with which libdispatch would undo the process's own.
    public static func keepNiceness() { _ = containment_drop_capabilities(23) }

    private static func leaveNetwork() -> Int32 {
        let result = containment_leave_network(0)
        return result == 0 ? 0 : containment_leave_network(1)
    }

    private static var threadCount: Int? {
        try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
    }
}
