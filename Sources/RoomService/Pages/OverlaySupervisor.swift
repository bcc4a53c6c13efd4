import ChildProcesses
import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import ServiceLifecycle
import Synchronization

/// Opens the web pages shown over programs: one worker per page, which keeps the page's picture in a file that mixers
/// draw.
///
/// No state is stored: the next run of the service opens the pages that its programs show. Thread-safe.
package final class OverlaySupervisor: Service {
    /// Time between two checks for pages that no program shows, or that could not be opened.
    private static let interval = Duration.seconds(2)
    /// Maximum width and height of a page, in pixels.
    private static let mostSide = 1920
    /// Maximum number of pictures per second.
    private static let frameRate = 10

    private struct State {
        var machine: OverlayMachine
        var sessions: [OverlayPage: PageSession] = [:]
    }

    private let rules: PageRules
    private let allowed: AllowList
    private let surroundings: PageSession.Surroundings
    private let directory: String
    private let wishes: OverlayWishes
    /// Whether workers keep running when the service shuts down, until the next run has its own.
    private let isKept: Bool
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameters:
    ///   - data: The data directory.
    ///   - isKept: Whether workers keep running when the service shuts down.
    ///   - allowed: Addresses that pages may come from.
    /// - Throws: `StartupError` if the directories cannot be created.
    package init(
        rules: PageRules, data: String, starter: SocketWorkerStarter, isKept: Bool, allowed: AllowList,
        registry: RoomRegistry, logger: Logger
    ) throws(StartupError) {
        self.rules = rules
        self.allowed = allowed
        self.isKept = isKept
        wishes = registry.services.overlays
        self.logger = logger
        surroundings = PageSession.Surroundings(files: try PageFiles(data: data), starter: starter, logger: logger)
        directory = Self.directory(data: data)
        state = Mutex(State(machine: OverlayMachine(most: rules.limit)))
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw StartupError("cannot make \(directory): \(error.localizedDescription)")
        }
    }

    /// The directory of the pictures: a subdirectory of the images, which mixers can read.
    package static func directory(data: String) -> String { "\(data)/images/pages" }

    package func run() async throws {
        let (starts, start) = AsyncStream.makeStream(of: (OverlayPage, PageSession).self)
        await withGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { [wishes] in
                    while (try? await Task.sleep(for: Self.interval)) != nil { wishes.remind() }
                }
                group.addTask { [self] in
                    for await _ in wishes.changes {
                        for (page, session) in reconcile() { start.yield((page, session)) }
                    }
                }
                for await (page, session) in starts {
                    group.addTask { await self.run(session, page) }
                }
                group.cancelAll()
            }
        } onGracefulShutdown: {
            start.finish()
            for session in self.state.withLock({ Array($0.sessions.values) }) { session.leave(isKept: self.isKept) }
        }
    }

    private func run(_ session: PageSession, _ page: OverlayPage) async {
        let reason = await session.run()
        state.withLock { state in
            guard state.sessions[page]?.id == session.id else { return }
            state.sessions[page] = nil
            state.machine.failed(page, reason ?? "it was closed", now: MonotonicClock.now())
        }
        guard let reason else { return }
        logger.warning("a page over a program has ended: \(reason)", metadata: ["page": "\(page.address.shown)"])
    }

    /// Returns the pages to open.
    private func reconcile() -> [(OverlayPage, PageSession)] {
        let wanted = wishes.all
        let now = MonotonicClock.now()
        let actions = state.withLock { $0.machine.want(wanted, now: now) }
        var opened: [(OverlayPage, PageSession)] = []
        for action in actions {
            switch action {
            case .close(let page):
                state.withLock { $0.sessions.removeValue(forKey: page) }?.close()
                unlink(page.picture)
            case .open(let page):
                do throws(OrchestratorError) {
                    let session = PageSession(
                        id: WorkerID.make(), subject: .overlay(page), job: try job(page), isAdopted: false,
                        in: surroundings)
                    state.withLock { $0.sessions[page] = session }
                    opened.append((page, session))
                } catch {
                    let words = error.detail + (error.expected.map { "; expected \($0)" } ?? "")
                    state.withLock { $0.machine.failed(page, words, now: now) }
                    logger.warning(
                        "a page over a program is not shown: \(words)", metadata: ["page": "\(page.address.shown)"])
                }
            }
        }
        return opened
    }

    private func job(_ page: OverlayPage) throws(OrchestratorError) -> PageJob {
        guard let url = try? StreamURL(page.address.text), allowed.allows(url) else {
            throw OrchestratorError(
                .invalid, "pages-refused", "The page may not be shown",
                detail: "\(page.address.shown) is not in sources.allow", expected: "an address that the list permits")
        }
        guard page.width <= Self.mostSide, page.height <= Self.mostSide else {
            throw OrchestratorError(
                .invalid, "pages-refused", "The page is too large",
                detail: "\(page.width)×\(page.height) pixels", expected: "at most \(Self.mostSide) a side")
        }
        let isRoot = geteuid() == 0
        let (user, isUnconfined) = rules.confinement
        let obstacle = rules.obstacle(
            missing: PageSupervisor.missingPrograms, cure: PagePrograms.cure, isRoot: isRoot,
            freeMemory: MachineMemory.free())
        if let obstacle { throw obstacle }
        return PageJob(
            address: page.address.text, target: "", picture: page.picture, width: page.width, height: page.height,
            frameRate: Self.frameRate, readyLimit: rules.readyTimeout,
            reach: PageRules.reach(of: url, allowed: allowed), hosts: rules.hosts(of: url, allowed: allowed),
            user: user, isUnconfined: isUnconfined, processors: rules.cpu, niceness: rules.niceness)
    }

    // MARK: - Views

    /// The state of a page over a program.
    package struct View: Encodable, Sendable {
        /// The address without user, query and fragment.
        package var page: String
        package var width: Int
        package var height: Int
        package var state: PageState.Step
        package var reason: String?
    }

    /// Returns the pages of some tasks.
    package func views(of tasks: [TaskID]) -> [View] {
        let pages = tasks.reduce(into: Set()) { $0.formUnion(wishes.pages(of: $1)) }
        guard !pages.isEmpty else { return [] }
        return state.withLock { state in
            pages.sorted { $0.picture < $1.picture }.map { page in
                let known = state.sessions[page]?.state
                let reason = known?.reason ?? state.machine.reason(page)
                return View(
                    page: page.address.shown, width: page.width, height: page.height,
                    state: known?.step ?? (reason == nil ? .starting : .failing), reason: reason)
            }
        }
    }
}
