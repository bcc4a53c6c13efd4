import ChildProcesses
import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import ServiceLifecycle
import Synchronization

/// Opens web pages that events publish: a worker for each, which publishes to the ingest.
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
        /// Whether workers stay when the service is shut down.
        var isKept: Bool
        /// Places that streams may come from.
        var allowed: AllowList

        /// - Throws: `StartupError` if the directory cannot be made, or the ingest's secret cannot be stored.
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

    private struct State {
        var sessions: [StreamNames: PageSession] = [:]
        /// Pages whose event is being stored.
        var openings = 0
        var isStopping = false
    }

    private let configuration: Configuration?
    private let registry: RoomRegistry
    private let logger: Logger
    private let state = Mutex(State())
    private let starts: AsyncStream<PageSession>
    private let start: AsyncStream<PageSession>.Continuation

    /// - Parameter configuration: `nil` = pages are refused, and none can have been left by an earlier run.
    package init(_ configuration: Configuration?, registry: RoomRegistry, logger: Logger) {
        self.configuration = configuration
        self.registry = registry
        self.logger = logger
        // Pages are limited; those of an earlier run come beside them.
        (starts, start) = AsyncStream.makeStream()
    }

    /// The programs that pages need and that are not installed.
    package static var missingPrograms: [String] { PagePrograms.missing.map(\.name) }

    /// Whether an earlier run has left pages.
    package static func hasLeftovers(in data: String) -> Bool { PageFiles.exist(in: data) }

    package func run() async throws {
        await withGracefulShutdownHandler {
            adopt()
            await withDiscardingTaskGroup { group in
                for await session in starts {
                    group.addTask {
                        let reason = await session.run()
                        if case .stream(let names) = session.subject { await self.ended(session, names, reason) }
                    }
                }
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

    /// Takes over the pages of an earlier run. One whose worker is gone gets another one.
    private func adopt() {
        guard let configuration else { return }
        for (id, record) in configuration.files.found() {
            guard let record, let key = IngestStreamKey(record.stream), configuration.rules != nil else {
                // Its worker ends as an orphan, or is none.
                configuration.files.remove(id)
                continue
            }
            let isRunning = FileManager.default.fileExists(atPath: configuration.files.socket(id))
            let session = session(id, key.names, record.job, isAdopted: isRunning, configuration)
            let isNew = state.withLock { state in
                guard !state.isStopping, state.sessions[key.names] == nil else { return false }
                state.sessions[key.names] = session
                return true
            }
            guard isNew else {
                configuration.files.remove(id)
                continue
            }
            start.yield(session)
        }
        measure()
    }

    private func session(
        _ id: String, _ names: StreamNames, _ job: PageJob, isAdopted: Bool, _ configuration: Configuration
    ) -> PageSession {
        PageSession(
            id: id, subject: .stream(names), job: job, isAdopted: isAdopted,
            in: PageSession.Surroundings(files: configuration.files, starter: configuration.starter, logger: logger))
    }

    private func measure() {
        let count = state.withLock { $0.sessions.count }
        registry.services.load.reserve(cores: Double(count) * (configuration?.rules?.cores ?? 0))
        registry.services.metrics.set(.pages, Double(count))
    }

    /// Removes a page that has ended by itself from its room.
    private func ended(_ session: PageSession, _ names: StreamNames, _ reason: String?) async {
        let wasCurrent = state.withLock { state in
            guard state.sessions[names]?.id == session.id else { return false }
            state.sessions[names] = nil
            return true
        }
        measure()
        guard wasCurrent, let reason else { return }
        let event = RoomEvent(
            room: names.room, app: names.room.app.rawValue, source: "/pages", id: session.id,
            kind: .streamUnpublished(user: names.user, stream: names.stream, reason: reason))
        do throws(OrchestratorError) {
            _ = try await registry.owner(names.room).take(event, at: MonotonicClock.now())
        } catch {
            logger.error("the end of a page cannot be stored: \(error.detail)")
        }
    }

    // MARK: - Events

    /// Receives an event, and opens and closes the pages that it publishes and ends.
    package func take(_ event: RoomEvent, at receivedAt: Int64) async throws(OrchestratorError) -> EventReceipt {
        var event = event
        var opened: [Opening] = []
        do throws(OrchestratorError) {
            opened = try await open(&event)
            var receipt = try await registry.owner(event.room).take(event, at: receivedAt)
            guard receipt.outcome == .accepted else {
                drop(opened)
                return receipt
            }
            begin(opened)
            closeEnded(by: event)
            if !opened.isEmpty, receipt.note == nil {
                receipt.note = "page: its state is in GET /v1/rooms/\(event.room.name) under \"pages\""
            }
            return receipt
        } catch {
            drop(opened)
            throw error
        }
    }

    /// A page whose event is not stored yet.
    private struct Opening {
        var names: StreamNames
        var session: PageSession
        /// Whether it runs already: the event repeats what is known.
        var isRunning: Bool
    }

    /// Stores the pages of an event, and gives their streams the URL at which the ingest will have them.
    private func open(_ event: inout RoomEvent) async throws(OrchestratorError) -> [Opening] {
        let room = event.room
        switch event.kind {
        case .streamPublished(var publication):
            guard publication.page != nil else { return [] }
            let opening = try await open(&publication, in: room)
            event.kind = .streamPublished(publication)
            return [opening]
        case .roomSnapshot(var snapshot):
            var openings: [Opening] = []
            for index in snapshot.streams.indices where snapshot.streams[index].publication.page != nil {
                do throws(OrchestratorError) {
                    openings.append(try await open(&snapshot.streams[index].publication, in: room))
                } catch {
                    drop(openings)
                    throw error
                }
            }
            event.kind = .roomSnapshot(snapshot)
            return openings
        default: return []
        }
    }

    private func open(_ publication: inout Publication, in room: RoomID) async throws(OrchestratorError) -> Opening {
        guard let configuration, let rules = configuration.rules else { throw .pagesAreOff }
        guard let page = publication.page, let url = try? StreamURL(page.placeURL) else { throw .pagesAreOff }
        let names = StreamNames(room: room, user: publication.user, stream: publication.stream)
        let key = IngestStreamKey(names)
        let job = try await job(page, url, key, rules, configuration)
        publication.url = key.url(of: configuration.ingest, secret: configuration.secret)
        publication.page = nil
        if let known = state.withLock({ $0.sessions[names] }), known.isSame(as: job) {
            return Opening(names: names, session: known, isRunning: true)
        }
        let obstacle = rules.obstacle(
            missing: Self.missingPrograms, cure: PagePrograms.cure, isRoot: geteuid() == 0,
            freeMemory: MachineMemory.free())
        if let obstacle { throw obstacle }
        try takePlace(names, rules)
        let session = session(WorkerID.make(), names, job, isAdopted: false, configuration)
        do {
            // Before the event, so that a page that is acknowledged is opened after a crash, too.
            try configuration.files.write(PageRecord(stream: key.text, job: job), of: session.id)
        } catch {
            state.withLock { $0.openings -= 1 }
            throw OrchestratorError(
                .unavailable, "pages-unavailable", "The page cannot be opened at the moment",
                detail: "it cannot be stored in \(configuration.files.directory)", retryAfter: 5)
        }
        return Opening(names: names, session: session, isRunning: false)
    }

    private func job(
        _ page: PageSource, _ url: StreamURL, _ key: IngestStreamKey, _ rules: PageRules, _ configuration: Configuration
    ) async throws(OrchestratorError) -> PageJob {
        let settings = try await registry.snapshot(key.names.room)?.room.document.settings
        let canvas = (settings?.canvas ?? registry.services.defaultCanvas).canvas
        return PageJob(
            address: page.address(hasToken: false),
            firstAddress: page.token == nil ? nil : page.address(hasToken: true),
            target: key.publishingURL(of: configuration.ingest, secret: configuration.secret),
            width: page.width ?? canvas.width, height: page.height ?? canvas.height,
            frameRate: page.frameRate ?? canvas.fps, ready: page.ready, readyLimit: rules.readyTimeout,
            reach: PageRules.reach(of: url, allowed: configuration.allowed), user: geteuid() == 0 ? rules.user : nil,
            isUnconfined: geteuid() == 0 && rules.user == nil)
    }

    private func takePlace(_ names: StreamNames, _ rules: PageRules) throws(OrchestratorError) {
        let fault = state.withLock { state -> OrchestratorError? in
            if state.isStopping { return .stopping }
            let others = state.sessions.keys.count { $0 != names } + state.openings
            guard others < rules.limit else { return .tooManyPages(rules.limit) }
            guard registry.services.load.hasRoom(cores: rules.cores) else { return .noCoresForPage(rules.cores) }
            state.openings += 1
            return nil
        }
        if let fault { throw fault }
    }

    private func begin(_ openings: [Opening]) {
        for opening in openings where !opening.isRunning {
            let session = opening.session
            let (old, isStopping) = state.withLock { state in
                state.openings -= 1
                // The next run of the service opens it.
                guard !state.isStopping else { return (nil as PageSession?, true) }
                defer { state.sessions[opening.names] = session }
                return (state.sessions[opening.names], false)
            }
            old?.close()
            if !isStopping { start.yield(session) }
        }
        if !openings.isEmpty { measure() }
    }

    private func drop(_ openings: [Opening]) {
        for opening in openings where !opening.isRunning {
            state.withLock { $0.openings -= 1 }
            configuration?.files.remove(opening.session.id)
        }
    }

    /// Closes the pages that are in their room no longer, after an event that has ended streams.
    private func closeEnded(by event: RoomEvent) {
        let room = event.room
        switch event.kind {
        case .streamUnpublished(let user, let stream, _):
            close { $0 == StreamNames(room: room, user: user, stream: stream) }
        case .streamPublished(let publication) where !isPage(publication.url):
            close { $0 == StreamNames(room: room, user: publication.user, stream: publication.stream) }
        case .participantLeft(let user): close { $0.room == room && $0.user == user }
        case .roomClosed: close(room)
        case .roomSnapshot(let snapshot):
            let listed = Set(
                snapshot.streams.map(\.publication).filter { isPage($0.url) }.map {
                    StreamNames(room: room, user: $0.user, stream: $0.stream)
                })
            close { $0.room == room && !listed.contains($0) }
        default: break
        }
    }

    /// Whether the URL is one that `open` has given to a stream.
    private func isPage(_ url: String) -> Bool {
        configuration.map { url.startsInUTF8(with: "rtmp://\($0.ingest.pullPlace)/relay/") } ?? false
    }

    /// Closes the pages of a room that does not exist any more.
    package func close(_ room: RoomID) { close { $0.room == room } }

    private func close(_ isEnded: (StreamNames) -> Bool) {
        let ended = state.withLock { state in
            let ended = state.sessions.filter { isEnded($0.key) }
            for names in ended.keys { state.sessions[names] = nil }
            return ended.values
        }
        for session in ended { session.close() }
        if !ended.isEmpty { measure() }
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
