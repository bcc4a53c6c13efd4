import ChildProcesses
import EventSubscription
import Foundation
import MixModel

/// Events that publish pages.
extension PageSupervisor {
    /// Receives an event, and opens and closes the pages that it publishes and ends.
    package func take(_ event: RoomEvent, at receivedAt: Int64) async throws(OrchestratorError) -> EventReceipt {
        guard event.hasPages else { return try await registry.owner(event.room).take(event, at: receivedAt) }
        beginStoring(event.room)
        defer { endStoring(event.room) }
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
            if !opened.isEmpty, receipt.note == nil {
                receipt.note = "page: its state is in GET /v1/rooms/\(event.room.name) under \"pages\""
            }
            return receipt
        } catch {
            drop(opened)
            throw error
        }
    }

    private func beginStoring(_ room: RoomID) {
        state.withLock { state in
            state.storing[room, default: 0] += 1
            state.events += 1
        }
    }

    /// Requests another check of the room: its pages may already be gone.
    private func endStoring(_ room: RoomID) {
        state.withLock { state in
            let rest = (state.storing[room] ?? 1) - 1
            state.storing[room] = rest > 0 ? rest : nil
        }
        registry.services.pageNews.changed(room)
    }

    /// A page whose event is not stored yet.
    private struct Opening {
        var names: StreamNames
        var session: PageSession
        /// Whether the page already runs, because the event repeats known facts.
        var isRunning: Bool
        /// Whether a worker with a waiting browser is available for it.
        var isWarm = false
    }

    /// Stores the pages of an event, and sets their streams' URLs to those at which the ingest will serve them.
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
        let ready = warm?.take(for: job)
        let session = session(
            ready ?? WorkerID.make(), names, job, isAdopted: ready != nil, configuration)
        do {
            // Stored before the event, so that an acknowledged page is opened after a crash, too.
            try configuration.files.write(PageRecord(stream: key.text, job: job), of: session.id)
        } catch {
            state.withLock { $0.openings -= 1 }
            if ready != nil { end(session) }
            throw OrchestratorError(
                .unavailable, "pages-unavailable", "The page cannot be opened at the moment",
                detail: "it cannot be stored in \(configuration.files.directory)", retryAfter: 5)
        }
        return Opening(names: names, session: session, isRunning: false, isWarm: ready != nil)
    }

    /// Ends a waiting worker that was taken for a page whose event was not stored.
    private func end(_ session: PageSession) {
        session.close()
        start.yield(session)
    }

    private func job(
        _ page: PageSource, _ url: StreamURL, _ key: IngestStreamKey, _ rules: PageRules, _ configuration: Configuration
    ) async throws(OrchestratorError) -> PageJob {
        let settings = try await registry.snapshot(key.names.room)?.room.document.settings
        let canvas = (settings?.canvas ?? registry.services.defaultCanvas).canvas
        let (user, isUnconfined) = rules.confinement
        return PageJob(
            address: page.address(hasToken: false),
            firstAddress: page.token == nil ? nil : page.address(hasToken: true),
            target: key.publishingURL(of: configuration.ingest, secret: configuration.secret),
            width: page.width ?? canvas.width, height: page.height ?? canvas.height,
            frameRate: page.frameRate ?? canvas.fps, ready: page.ready, end: page.end, readyLimit: rules.readyTimeout,
            reach: PageRules.reach(of: url, allowed: configuration.allowed),
            hosts: rules.hosts(of: url, allowed: configuration.allowed), user: user, isUnconfined: isUnconfined,
            processors: rules.cpu, niceness: rules.niceness)
    }

    private func takePlace(_ names: StreamNames, _ rules: PageRules) throws(OrchestratorError) {
        let fault = state.withLock { state -> OrchestratorError? in
            if state.isStopping { return .stopping }
            let others = state.sessions.keys.count { $0 != names } + state.openings
            guard others < rules.limit else { return .tooManyPages(rules.limit) }
            let pending = Double(state.openings) * rules.cores
            guard registry.services.load.hasRoom(cores: rules.cores, besides: pending) else {
                return .noCoresForPage(rules.cores)
            }
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
                registry.services.pageNews.watch(opening.names.room)
                // The reason is that of the page before, and no news of this one may come for a while.
                registry.services.pageFaults.set(nil, of: opening.names)
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
            if opening.isWarm { end(opening.session) } else { configuration?.files.remove(opening.session.id) }
        }
    }
}

extension RoomEvent {
    /// Whether it publishes a page.
    fileprivate var hasPages: Bool {
        switch kind {
        case .streamPublished(let publication): publication.page != nil
        case .roomSnapshot(let snapshot): snapshot.streams.contains { $0.publication.page != nil }
        default: false
        }
    }
}
