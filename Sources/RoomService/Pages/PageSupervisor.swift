import ChildProcesses
import EncodedMedia
import EventSubscription
import Foundation
import LayoutEngine
import Logging
import MixModel
import ServiceLifecycle
import Synchronization

/// Opens web pages that events publish: one worker per page, which publishes to the ingest.
///
/// Pages are stored before their event, and workers survive the service as the ingest does. Thread-safe.
package final class PageSupervisor: Service {
    package struct Configuration: Sendable {
        /// `nil` = off: pages of an earlier run are ended.
        var rules: PageRules?
        /// The ingest to which workers publish, and its secret.
        var ingest: IngestRules
        var secret: String
        var files: PageFiles
        var starter: SocketWorkerStarter
        /// Whether workers keep running when the service shuts down.
        var isKept: Bool
        /// Addresses that streams may come from.
        var allowed: AllowList

        /// - Throws: `StartupError` if the directory cannot be created, or the ingest's secret cannot be stored.
        package init(
            rules: PageRules?, ingest: IngestRules, data: String, starter: SocketWorkerStarter, isKept: Bool,
            allowed: AllowList
        ) throws(StartupError) {
            self.rules = rules
            self.ingest = ingest
            secret = try IngestFiles(data: data).secret()
            files = try PageFiles(data: data)
            self.starter = starter
            self.isKept = isKept
            self.allowed = allowed
        }
    }

    struct State {
        var sessions: [StreamNames: PageSession] = [:]
        /// Number of pages whose event is being stored.
        var openings = 0
        /// Number of events with pages that are being stored, by room; and the number of all such events so far.
        var storing: [RoomID: Int] = [:]
        var events = 0
        var isStopping = false
    }

    let configuration: Configuration?
    let registry: RoomRegistry
    private let courier: StreamCourier
    let logger: Logger
    let state = Mutex(State())
    private let starts: AsyncStream<PageSession>
    let start: AsyncStream<PageSession>.Continuation
    /// Browsers that wait for pages; `nil` = none.
    let warm: WarmPages?

    /// Delay before a room that could not be read is checked again.
    private static let patience = Duration.seconds(1)

    /// - Parameter configuration: `nil` = pages are refused, and no earlier run can have left any.
    package init(_ configuration: Configuration?, registry: RoomRegistry, courier: StreamCourier, logger: Logger) {
        self.courier = courier
        self.configuration = configuration
        self.registry = registry
        self.logger = logger
        warm = configuration.flatMap { Self.warm($0, canvas: registry.services.defaultCanvas.canvas, logger) }
        // Unbounded, because the number of pages is limited; pages of an earlier run are added to it.
        (starts, start) = AsyncStream.makeStream()
    }

    /// The programs that pages require and that are not installed.
    package static var missingPrograms: [String] { PagePrograms.missing.map(\.name) }

    /// Returns whether an earlier run has left pages.
    package static func hasLeftovers(in data: String) -> Bool { PageFiles.exist(in: data) }

    package func run() async throws {
        await withGracefulShutdownHandler {
            adopt()
            await withTaskGroup { group in
                group.addTask { await self.watchRooms() }
                if let homes = registry.services.homes { group.addTask { await self.watchRooms(elsewhere: homes) } }
                if let warm { group.addTask { await warm.run() } }
                await runSessions()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            let sessions = self.state.withLock { state in
                state.isStopping = true
                return Array(state.sessions.values)
            }
            for session in sessions { session.leave(isKept: self.configuration?.isKept ?? false) }
            self.start.finish()
        }
    }

    private static func warm(_ configuration: Configuration, canvas: Canvas, _ logger: Logger) -> WarmPages? {
        guard let rules = configuration.rules, rules.warm > 0 else { return nil }
        let obstacle = rules.obstacle(
            missing: missingPrograms, cure: PagePrograms.cure, isRoot: geteuid() == 0, freeMemory: nil)
        guard obstacle == nil else { return nil }
        let (user, isUnconfined) = rules.confinement
        let job = PageJob(
            address: "", target: "", width: canvas.width, height: canvas.height, frameRate: canvas.fps, user: user,
            isUnconfined: isUnconfined, processors: rules.cpu, niceness: rules.niceness)
        return WarmPages(
            rules.warm, for: job, memory: rules.memory, files: configuration.files, starter: configuration.starter,
            logger: logger)
    }

    private func runSessions() async {
        await withDiscardingTaskGroup { group in
            for await session in starts {
                group.addTask {
                    let reason = await session.run()
                    guard case .stream(let names) = session.subject else { return }
                    self.forgetFault(of: names, by: session.id)
                    await self.ended(session, names, reason)
                }
            }
        }
    }

    /// Takes over the pages of an earlier run. A page whose worker is gone gets a new worker.
    private func adopt() {
        guard let configuration else { return }
        for (id, record) in configuration.files.found() {
            guard let record, let key = IngestStreamKey(record.stream), configuration.rules != nil else {
                // If it has a worker, that worker ends as an orphan.
                configuration.files.remove(id)
                continue
            }
            let isRunning = FileManager.default.fileExists(atPath: configuration.files.socket(id))
            let session = session(id, key.names, record.job, isAdopted: isRunning, configuration)
            let isNew = state.withLock { state in
                guard !state.isStopping, state.sessions[key.names] == nil else { return false }
                state.sessions[key.names] = session
                registry.services.pageNews.watch(key.names.room)
                return true
            }
            guard isNew else {
                configuration.files.remove(id)
                continue
            }
            start.yield(session)
            // Its stream may have ended while the service was not running.
            registry.services.pageNews.changed(key.names.room)
        }
        measure()
    }

    func session(
        _ id: String, _ names: StreamNames, _ job: PageJob, isAdopted: Bool, _ configuration: Configuration
    ) -> PageSession {
        PageSession(
            id: id, subject: .stream(names), job: job, isAdopted: isAdopted,
            in: PageSession.Surroundings(
                files: configuration.files, starter: configuration.starter, logger: logger,
                onState: { [weak self] state in self?.told(state, of: names, by: id) }))
    }

    func measure() {
        state.withLock { state in
            // Under the lock, so that an earlier count never replaces a later one.
            let count = Double(state.sessions.count)
            registry.services.load.reserve(cores: count * (configuration?.rules?.cores ?? 0))
            registry.services.metrics.set(.pages, count)
        }
    }

    /// Shows the state of a page in its room's tasks.
    private func told(_ page: PageState, of names: StreamNames, by id: String) {
        let isCurrent = state.withLock { state in
            guard state.sessions[names]?.id == id else { return false }
            // Under the lock, so that the reason of an earlier page never replaces that of its successor.
            registry.services.pageFaults.set(page.step == .onAir ? nil : page.reason, of: names)
            return true
        }
        guard isCurrent, page.step == .failing, let reason = page.reason else { return }
        let source = SourceID(user: names.user, stream: names.stream)
        registry.note(
            TimelineEntry(kind: .event, message: "page \(source) fails: \(reason)", cause: "the page"), in: names.room)
    }

    /// - Parameter id: The session that has ended. Another one may be in its place.
    private func forgetFault(of names: StreamNames, by id: String) {
        state.withLock { state in
            let isReplaced = state.sessions[names].map { $0.id != id } ?? false
            if !isReplaced { registry.services.pageFaults.set(nil, of: names) }
        }
    }

    /// Removes a page that has ended by itself from its room.
    private func ended(_ session: PageSession, _ names: StreamNames, _ reason: String?) async {
        let wasCurrent = state.withLock { state in
            guard state.sessions[names]?.id == session.id else { return false }
            state.sessions[names] = nil
            unwatchIfEmpty(names.room, &state)
            return true
        }
        measure()
        guard wasCurrent, let reason, let configuration else { return }
        let event = RoomEvent(
            room: names.room, app: names.room.app.rawValue, source: "/pages", id: session.id,
            kind: .streamUnpublished(user: names.user, stream: names.stream, reason: reason))
        do throws(OrchestratorError) {
            try await courier.store(event, path: IngestStreamKey(names).relayPath(secret: configuration.secret))
        } catch {
            logger.error("the end of a page cannot be stored: \(error.detail)")
        }
    }

    // MARK: - Ends

    /// Returns whether the URL is that of a page's stream.
    private func isPage(_ url: String) -> Bool {
        configuration.map { url.startsInUTF8(with: "rtmp://\($0.ingest.pullPlace)/relay/") } ?? false
    }

    /// Closes pages whose streams are no longer in their rooms, whichever interface ended them.
    private func watchRooms() async {
        let news = registry.services.pageNews
        for await _ in news.signals {
            var unread: [RoomID] = []
            for room in news.takeChanged() {
                if await !closeGone(in: room) { unread.append(room) }
            }
            guard !unread.isEmpty, (try? await Task.sleep(for: Self.patience)) != nil else { continue }
            for room in unread { news.changed(room) }
        }
    }

    /// Checks rooms that have moved to other nodes while their pages still run here, because their changes are not
    /// reported here.
    private func watchRooms(elsewhere homes: any RoomHomes) async {
        while (try? await Task.sleep(for: Self.patience)) != nil {
            let rooms = state.withLock { Set($0.sessions.keys.map(\.room)) }
            for room in rooms where !homes.has(room) { registry.services.pageNews.changed(room) }
        }
    }

    /// Closes the pages that are no longer in the room.
    ///
    /// - Returns: False if this cannot be determined now.
    private func closeGone(in room: RoomID) async -> Bool {
        // Pages whose event is being stored are not in the room yet. The room is checked again afterwards.
        let before = state.withLock { $0.storing[room] == nil ? $0.events : nil }
        guard let before else { return true }
        let document: Room?
        do throws(OrchestratorError) {
            document = try await registry.document(of: room)
        } catch {
            return false
        }
        let ended = state.withLock { state -> [PageSession]? in
            guard state.events == before else { return nil }
            let gone = state.sessions.filter { names, _ in
                guard names.room == room else { return false }
                let stream = document?.participant(names.user)?.streams.first { $0.kind == names.stream }
                return stream.map { !isPage($0.url) } ?? true
            }
            for names in gone.keys { state.sessions[names] = nil }
            unwatchIfEmpty(room, &state)
            return Array(gone.values)
        }
        guard let ended else { return false }
        for session in ended { session.close() }
        if !ended.isEmpty { measure() }
        return true
    }

    private func unwatchIfEmpty(_ room: RoomID, _ state: inout State) {
        if !state.sessions.keys.contains(where: { $0.room == room }) { registry.services.pageNews.unwatch(room) }
    }

    // MARK: - Views

    /// The page of one stream.
    package struct View: Encodable, Sendable {
        package var user: UserID
        package var stream: StreamKind
        package var state: PageState.Step
        package var reason: String?
    }

    /// Returns the pages of a room, ordered by their streams.
    package func views(of room: RoomID) -> [View] {
        state.withLock { $0.sessions.filter { $0.key.room == room } }
            .sorted { ($0.key.user, $0.key.stream.rawValue) < ($1.key.user, $1.key.stream.rawValue) }
            .map { names, session in
                let state = session.state
                return View(user: names.user, stream: names.stream, state: state.step, reason: state.reason)
            }
    }
}
