import Foundation
import Logging
import MixModel

/// The directory, the proxy and the other things that all starts of a page's browser share.
struct PageSurroundings: Sendable {
    let directory: PageDirectory
    let proxy: FilteringProxy
    let share: BrowserShare

    /// Creates the directory, starts the proxy, and chooses the browser's share of the machine. Blocks; call on a lasting
    /// thread.
    init(_ job: PageJob, logger: Logger) throws {
        directory = try PageDirectory(user: job.user)
        // Must be set before any other thread of this process uses the display.
        setenv("XAUTHORITY", "\(directory.path)/xauth", 1)
        proxy = try FilteringProxy(ProxyRules(job)) { place, refusal in
            logger.warning("a request of the page to \(place) is refused: \(refusal.rawValue)")
        }
        let wish = BrowserShare.choose(for: job, among: BrowserShare.usableCores)
        let isPossible = wish.isPossible
        share = isPossible ? wish : BrowserShare()
        if !isPossible {
            logger.warning("the browser has no limit of CPU: the system refuses pages.cpu and pages.niceness")
        }
    }
}
