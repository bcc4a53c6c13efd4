import ChildProcesses
import EventSubscription
import Foundation
import MixModel
import TextFormats

/// What the configuration says about web pages as sources.
package struct PageRules: Sendable {
    /// System user whom the browser runs as if the service runs as root; `nil` = the service's own.
    package var user: String?
    /// Whether the browser may run without its sandbox, which it does as root.
    package var allowsNoSandbox = false
    /// Most pages at a time.
    package var limit = 8
    /// Seconds within which a page has to be ready.
    package var readyTimeout = 30.0
    /// Cores of one page, which tasks cannot book.
    package var cores = 0.5
    /// Memory that has to be free for one more page, in MiB; 0 = any.
    package var memory = 512

    /// Browsers that wait for pages.
    package var warm = 0

    package static let limits = 1...1000
    package static let warmLimits = 0...32
    package static let timeouts = 1.0...600.0

    package init() {}

    /// The reason why no page can be shown, with the cure; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - missing: Programs that are not installed.
    ///   - isRoot: Whether the service runs as root.
    ///   - freeMemory: Memory that is free, in MiB; `nil` = unknown.
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
                    "the setting pages.user, as in nobody; or pages.sandbox: off to run it as root without its sandbox")
        }
        if let freeMemory, memory > 0, freeMemory < memory {
            return OrchestratorError(
                .unavailable, "pages-full", "There is too little memory for another page",
                detail: "\(freeMemory) MiB are free, and \(memory) are needed", retryAfter: 10)
        }
        return nil
    }

    /// The user that the browser runs as, and whether it runs without its sandbox.
    var confinement: (user: String?, isUnconfined: Bool) {
        geteuid() == 0 ? (user, user == nil) : (nil, false)
    }

    /// What `doctor` says of pages.
    package var finding: Finding {
        let obstacle = obstacle(
            missing: PageSupervisor.missingPrograms, cure: PagePrograms.cure, isRoot: geteuid() == 0,
            freeMemory: MachineMemory.free())
        guard let obstacle else { return Finding(isGood: true, text: "web pages can be shown") }
        return Finding(
            verdict: .note,
            text: "pages: \(obstacle.title): \(obstacle.detail)" + (obstacle.expected.map { "; expected \($0)" } ?? ""))
    }

    /// Returns where requests of a page may go besides public addresses: to places of local networks that are listed, and to the
    /// page's own server.
    ///
    /// An empty list allows sources on loopback. A page is not only a source: with all of loopback it could reach every
    /// service of this machine.
    static func reach(of page: StreamURL, allowed: AllowList) -> Reach {
        let listed = allowed.entries.isEmpty ? Reach(places: []) : allowed.reach
        guard allowed.entries.isEmpty, page.isLoopback else { return listed }
        let port = page.port ?? (page.scheme == .https ? 443 : 80)
        return listed.adding([Reach.Place(scheme: page.scheme.rawValue, address: page.host, port: port)])
    }
}
