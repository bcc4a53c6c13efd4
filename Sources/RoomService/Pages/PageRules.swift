import ChildProcesses
import EventSubscription
import Foundation
import MixModel
import TextFormats

/// The configuration of web pages as sources.
package struct PageRules: Sendable {
    /// System user that runs the browser if the service runs as root; `nil` = the service's own user.
    package var user: String?
    /// Whether the browser may run without its sandbox, as it must when it runs as root.
    package var allowsNoSandbox = false
    /// Maximum number of pages at a time.
    package var limit = 8
    /// Whether a page may send requests only to hosts that `sources.allow` lists.
    package var restrictsRequests = false
    /// Seconds within which a page must be ready.
    package var readyTimeout = 30.0
    /// Cores reserved for one page, which tasks cannot book.
    package var cores = 0.5
    /// Largest number of cores on which the browser of one page runs; 0 = all.
    package var cpu = PageRules.defaultCPU
    /// Added to the niceness of browsers.
    package var niceness = 0
    /// Memory that must be free for one more page, in MiB; 0 = no check.
    package var memory = 512

    /// Number of browsers kept waiting for pages.
    package var warm = 0

    package static let limits = 1...1000
    package static let warmLimits = 0...32
    package static let timeouts = 1.0...600.0
    package static let cpus = 0...1024
    package static let nicenesses = 0...19

    /// Two cores, which is enough for a page of moderate motion, but never the last core of this machine.
    package static var defaultCPU: Int { min(max(ProcessInfo.processInfo.activeProcessorCount - 1, 1), 2) }

    package init() {}

    /// The reason why no page can be shown, with the remedy; `nil` if pages can be shown.
    ///
    /// - Parameters:
    ///   - missing: Required programs that are not installed.
    ///   - isRoot: Whether the service runs as root.
    ///   - freeMemory: Free memory in MiB; `nil` = unknown.
    func obstacle(missing: [String], cure: String, isRoot: Bool, freeMemory: Int?) -> OrchestratorError? {
        if !missing.isEmpty {
            return OrchestratorError(
                .invalid, "pages-unavailable", "Web pages cannot be shown on this machine",
                detail: "\(missing.joined(separator: ", ")) not installed", field: "url",
                expected: "\(cure), run once as root")
        }
        if isRoot, user == nil, !allowsNoSandbox {
            return OrchestratorError(
                .invalid, "pages-unavailable", "Web pages cannot be shown on this machine",
                detail: "the service runs as root, and a browser must not", field: "url",
                expected:
                    "pages.user: nobody, or another user; or pages.sandbox: off, to run it as root without its sandbox")
        }
        if let freeMemory, memory > 0, freeMemory < memory {
            return OrchestratorError(
                .unavailable, "pages-full", "There is too little memory for another page",
                detail: "\(freeMemory) MiB are free, and \(memory) are needed", retryAfter: 10)
        }
        return nil
    }

    /// The user that runs the browser, and whether it runs without its sandbox.
    var confinement: (user: String?, isUnconfined: Bool) {
        geteuid() == 0 ? (user, user == nil) : (nil, false)
    }

    /// The finding of `doctor` about pages.
    package var finding: Finding {
        finding(missing: PageSupervisor.missingPrograms, isRoot: geteuid() == 0, freeMemory: MachineMemory.free())
    }

    /// - Parameters:
    ///   - missing: Required programs that are not installed.
    ///   - isRoot: Whether the service runs as root.
    ///   - freeMemory: Free memory in MiB; `nil` = unknown.
    func finding(missing: [String], isRoot: Bool, freeMemory: Int?) -> Finding {
        let obstacle = obstacle(missing: missing, cure: PagePrograms.cure, isRoot: isRoot, freeMemory: freeMemory)
        guard let obstacle else { return Finding(isGood: true, text: "web pages can be shown") }
        return Finding(
            verdict: .note,
            text: "pages: \(obstacle.title): \(obstacle.detail)" + (obstacle.expected.map { "; expected \($0)" } ?? ""))
    }

    /// Returns the addresses to which a page may send requests in addition to public ones: listed places in local
    /// networks, and the page's own server.
    ///
    /// An empty list allows sources on loopback. A page is not only a source: with all of loopback it could reach every
    /// service on this machine.
    static func reach(of page: StreamURL, allowed: AllowList) -> Reach {
        let listed = allowed.entries.isEmpty ? Reach(places: []) : allowed.reach
        guard allowed.entries.isEmpty, page.isLoopback else { return listed }
        return listed.adding([Reach.Place(scheme: page.scheme.rawValue, address: page.host, port: port(of: page))])
    }

    /// Returns the only hosts to which a page may send requests; `nil` if it may send them to all.
    func hosts(of page: StreamURL, allowed: AllowList) -> HostList? {
        guard restrictsRequests else { return nil }
        guard allowed.entries.isEmpty else { return allowed.hosts }
        return HostList(entries: [
            HostList.Entry(scheme: page.scheme.rawValue, host: page.host, port: Self.port(of: page))
        ])
    }

    private static func port(of page: StreamURL) -> Int { page.port ?? (page.scheme == .https ? 443 : 80) }
}
