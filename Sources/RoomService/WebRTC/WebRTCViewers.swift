import EventSubscription
import Foundation
import Logging
import MediaFormats
import MixModel
import ServiceLifecycle
import Synchronization

/// Plays programs and participants over WebRTC: one worker for each stream that is watched, shared by all of its
/// viewers.
///
/// Workers survive the service as relays do, and are found again by their sockets. Thread-safe.
package final class WebRTCViewers: Service {
    struct Session {
        let player: WebRTCPlayer
        let app: AppID
        let note: WebRTCViewerNote
        /// The client's name in its offer's ICE; `nil` for a session of an earlier run.
        let iceName: String?
        /// The viewer's place at a program.
        let place: ViewerCounts.Place?
        let onNews: @Sendable (WebRTCNews) -> Void
    }

    struct Player {
        let player: WebRTCPlayer
        var stream: PlayedStream?
        /// Whether the worker accepts no more viewers.
        var isEnding = false
    }

    struct State {
        var players: [String: Player] = [:]
        var sessions: [String: Session] = [:]
        var isStopping = false
    }

    private let configuration: Configuration
    let registry: RoomRegistry
    private let logger: Logger
    let state = Mutex(State())
    private let starts: AsyncStream<WebRTCPlayer>
    private let start: AsyncStream<WebRTCPlayer>.Continuation

    package init(_ configuration: Configuration, registry: RoomRegistry, logger: Logger) {
        self.configuration = configuration
        self.registry = registry
        self.logger = logger
        // Unbounded, because viewers and thus workers are limited; leftovers of an earlier run are added to them.
        (starts, start) = AsyncStream.makeStream()
    }

    private var metrics: Metrics { registry.services.metrics }

    /// The STUN and TURN servers as clients are told them now.
    package var iceServers: [WebRTCRules.ICEServer] {
        configuration.rules?.iceServers(at: Int(saturating: wallClock())) ?? []
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            adopt()
            await withTaskGroup { group in
                group.addTask { await self.watchRooms() }
                if let homes = registry.services.homes { group.addTask { await self.watchRooms(elsewhere: homes) } }
                await runPlayers()
                group.cancelAll()
            }
        } onGracefulShutdown: {
            let players = self.state.withLock { state in
                state.isStopping = true
                return state.players.values.map(\.player)
            }
            for player in players {
                if self.configuration.isKept {
                    player.leave()
                } else {
                    player.terminate(reason: "the service is shut down")
                }
            }
            self.start.finish()
        }
    }

    private func runPlayers() async {
        await withDiscardingTaskGroup { group in
            for await player in starts {
                group.addTask {
                    await player.run()
                    self.over(player)
                }
            }
        }
    }

    /// Takes over the workers of an earlier run.
    private func adopt() {
        for id in configuration.files.foundPlayers() {
            let player = player(id, source: nil)
            let isTaken = state.withLock { state in
                guard !state.isStopping else { return false }
                state.players[id] = Player(player: player)
                return true
            }
            guard isTaken else { return }
            start.yield(player)
            if configuration.rules == nil { player.terminate(reason: "WebRTC is switched off") }
        }
    }

    private func player(_ id: String, source: PlaySource?) -> WebRTCPlayer {
        WebRTCPlayer(
            id: id, source: source,
            in: WebRTCSurroundings(
                files: configuration.files, starter: configuration.starter, metrics: metrics, logger: logger)
        ) { [weak self] event in self?.take(event, of: id) }
    }

    private func take(_ event: WebRTCPlayer.Event, of id: String) {
        switch event {
        case .adopted(let text, let viewers): adopted(id, text, viewers)
        case .connected(let viewer): state.withLock { $0.sessions[viewer]?.onNews }?(.connected)
        case .ended(let viewer, let reason): end(viewer, reason)
        case .ending: state.withLock { $0.players[id]?.isEnding = true }
        }
    }

    private func adopted(_ id: String, _ text: String, _ viewers: [PlayViewer]) {
        guard let stream = PlayedStream(text) else {
            state.withLock { $0.players[id] }?.player.terminate(reason: "the stream that it plays is unknown")
            return
        }
        state.withLock { state in
            guard let player = state.players[id]?.player else { return }
            state.players[id]?.stream = stream
            watchRoom(of: stream)
            for viewer in viewers where WorkerID.isValid(viewer.id) {
                state.sessions[viewer.id] = Session(
                    player: player, app: stream.app, note: WebRTCViewerNote(viewer.note), iceName: nil,
                    // Existing viewers stay, even if they exceed the current limits.
                    place: try? place(at: stream), onNews: { _ in })
            }
        }
        measure()
    }

    private func end(_ viewer: String, _ reason: String) {
        // Outside the lock: releasing a place takes another lock.
        let session = state.withLock { $0.sessions.removeValue(forKey: viewer) }
        session?.onNews(.ended(reason: reason))
        measure()
    }

    private func over(_ player: WebRTCPlayer) {
        state.withLock { state in
            let gone = state.players.removeValue(forKey: player.id)
            if let room = gone?.stream?.roomAtServer { unwatchIfEmpty(room, state) }
        }
    }

    private func measure() {
        metrics.set(.webrtcViewers, Double(state.withLock { $0.sessions.count }))
    }

    // MARK: - Sessions

    /// Starts a session for a client that wants to watch.
    ///
    /// Nothing is started for an offer that cannot be accepted.
    ///
    /// - Parameter onNews: Called with the session's news if it has started. The last call, made once, reports its end.
    /// - Throws: `OrchestratorError`, within little more than 5 s.
    package func open(
        _ wish: WebRTCViewWish, onNews: @escaping @Sendable (WebRTCNews) -> Void = { _ in }
    ) async throws(OrchestratorError) -> WebRTCOpening {
        guard let rules = configuration.rules else { throw .whepIsOff }
        let offer: WebRTCOffer
        do throws(WebRTCOfferError) {
            offer = try WebRTCOffer(wish.offer)
            // The worker knows the stream's profile and selects accordingly.
            _ = try offer.viewing(of: nil)
        } catch {
            metrics.count(.webrtcViews, "refused")
            throw OrchestratorError(error)
        }
        let (stream, origin) = try await source(of: wish)
        let viewer = PlayViewer(
            id: WorkerID.make(),
            note: WebRTCViewerNote(address: wish.client.address, needsToken: wish.needsToken).text,
            namesPrivateAddresses: rules.namesPrivateAddresses(isLocal: wish.client.isLocal))
        let player: WebRTCPlayer
        do throws(OrchestratorError) {
            player = try take(viewer.id, wish, offer, stream, onNews) {
                PlaySource(
                    stream: stream.text, origin: origin, network: rules.network(at: Int(saturating: wallClock())))
            }
        } catch {
            metrics.count(.webrtcViews, "refused")
            throw error
        }
        measure()
        switch await player.view(viewer, offer: wish.offer) {
        case .success(let answer):
            metrics.count(.webrtcViews, "opened")
            return WebRTCOpening(id: viewer.id, answer: answer, tag: WebRTCTag(generation: 1))
        case .failure(let error):
            state.withLock { $0.sessions.removeValue(forKey: viewer.id) }.map { _ in measure() }
            metrics.count(.webrtcViews, "failed")
            throw error
        }
    }

    /// Returns what is played, and where a worker gets it.
    private func source(of wish: WebRTCViewWish) async throws(OrchestratorError) -> (PlayedStream, PlayOrigin) {
        let id = wish.target.room
        let room = try await wish.staysHere ? registry.shownState(of: id) : registry.snapshot(id)
        switch wish.target {
        case .program(let id, let asked):
            let tasks = room?.tasksToWatch ?? []
            guard let task = asked == nil ? tasks.first : tasks.first(where: { $0 == asked }) else {
                throw .notOnAir(id, asked)
            }
            let socket = registry.services.sockets.path(of: task)
            let detour = configuration.programs?.detour(to: task, of: id)
            return (.program(task), .program(socket: socket, detour: detour))
        case .participant(let names):
            let streams = room?.room.document.participants.first { $0.user == names.user }?.streams ?? []
            guard let url = streams.first(where: { $0.kind == names.stream })?.url else {
                throw .publishesNothing(names)
            }
            let key = IngestStreamKey(names)
            let isOwn = configuration.ingest.map { url.hasSameUTF8(as: key.url(of: $0.rules, secret: $0.secret)) }
            // A stream at another node's ingest is played from there.
            if isOwn == true || key.isStream(url, at: registry.services.homes?.ingestPlaces ?? []) {
                return (.publisher(key), .publisher(url: url))
            }
            guard PlayOrigin.plays(url) else { throw .comesFromElsewhere(names) }
            return (
                .server(key, mark: PlayedStream.mark(of: url)),
                .server(url: url, reach: registry.services.reachOfSources)
            )
        }
    }

    private func place(at stream: PlayedStream) throws(OrchestratorError) -> ViewerCounts.Place? {
        guard case .program(let task) = stream else { return nil }
        return try registry.services.viewers.enter(task)
    }

    /// Adds the viewer to the stream's worker, which is started unless there is one.
    private func take(
        _ viewer: String, _ wish: WebRTCViewWish, _ offer: WebRTCOffer, _ stream: PlayedStream,
        _ onNews: @escaping @Sendable (WebRTCNews) -> Void, source: () -> PlaySource
    ) throws(OrchestratorError) -> WebRTCPlayer {
        let place: ViewerCounts.Place?
        do throws(OrchestratorError) {
            place = try self.place(at: stream)
        } catch {
            metrics.count(.viewersRefused)
            throw error
        }
        let limits = configuration.limits
        let result = state.withLock { state -> Result<WebRTCPlayer, OrchestratorError> in
            let sessions = state.sessions.values
            if state.isStopping { return .failure(.stopping) }
            let refusal = limits.refusal(
                of: stream.app, viewers: Dictionary(sessions.map { ($0.app, 1) }, uniquingKeysWith: +),
                fromAddress: sessions.count(where: { $0.note.address == wish.client.address }))
            if let refusal { return .failure(refusal) }
            let running = state.players.values.first { player in
                player.stream == stream && !player.isEnding
                    && sessions.count(where: { $0.player === player.player }) < PlayCommand.mostViewers
            }
            let player: WebRTCPlayer
            if let running {
                player = running.player
            } else {
                if let room = stream.roomAtServer {
                    let pulls = state.players.values.count(where: { $0.stream?.roomAtServer?.app == room.app })
                    if let refusal = limits.refusalOfPull(by: room.app, playing: pulls) { return .failure(refusal) }
                }
                player = self.player(WebRTCFiles.newPlayID(), source: source())
                state.players[player.id] = Player(player: player, stream: stream)
                guard case .enqueued = start.yield(player) else { return .failure(.stopping) }
                watchRoom(of: stream)
            }
            state.sessions[viewer] = Session(
                player: player, app: stream.app,
                note: WebRTCViewerNote(address: wish.client.address, needsToken: wish.needsToken),
                iceName: offer.sections.first?.credentials.name, place: place, onNews: onNews)
            return .success(player)
        }
        return try result.get()
    }

    /// Returns whether the text may be the identifier of a session.
    package static func isSession(_ id: String) -> Bool { WorkerID.isValid(id) }

    /// Returns the session if it exists and belongs to the app.
    ///
    /// - Parameter app: The app of a token; `nil` without one.
    private func session(_ id: String, of app: AppID?) throws(OrchestratorError) -> Session {
        let session = WorkerID.isValid(id) ? state.withLock { $0.sessions[id] } : nil
        // Sessions of other apps are treated as unknown.
        guard let session, app.map({ $0 == session.app }) ?? !session.note.needsToken else { throw .noWHEPSession }
        return session
    }

    /// Processes a fragment with candidates.
    package func change(
        _ id: String, of app: AppID?, fragment text: String, _ condition: WebRTCCondition
    ) async throws(OrchestratorError) {
        let session = try session(id, of: app)
        let fragment = try ICEFragment.read(text)
        let tag = WebRTCTag(generation: 1)
        if case .tags(let tags) = condition, !tags.contains(tag.text) { throw .outdatedICE(tag) }
        if let name = fragment.credentials?.name, let own = session.iceName, !name.hasSameUTF8(as: own) {
            if case .any = condition { throw .cannotRestartICE("the client's network has changed") }
            throw .otherICE
        }
        session.player.candidates(of: id, text)
    }

    /// Ends a session.
    package func close(_ id: String, of app: AppID?) throws(OrchestratorError) {
        let session = try session(id, of: app)
        session.player.close(id)
        end(id, "the client has left")
    }
}
