import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MediaFormats
import MixModel
import ServiceLifecycle
import Synchronization

/// Admits publishers over WebRTC: one worker for each, which publishes to the ingest.
///
/// Workers survive the service as the ingest does, and are found again by their sockets. Thread-safe.
package final class WebRTCSupervisor: Service {
    package struct Configuration: Sendable {
        /// `nil` = off: sessions of an earlier run are ended.
        var rules: WebRTCRules?
        /// The ingest to which workers publish, and its secret.
        var ingest: IngestRules
        var secret: String
        var files: WebRTCFiles
        var starter: SocketWorkerStarter
        /// Whether workers keep running when the service shuts down.
        var isKept: Bool

        /// - Throws: `StartupError` if the ingest's secret cannot be stored.
        package init(
            rules: WebRTCRules, ingest: IngestRules, data: String, starter: SocketWorkerStarter, isKept: Bool
        ) throws(StartupError) {
            self.rules = rules
            self.ingest = ingest
            secret = try IngestFiles(data: data).secret()
            files = try WebRTCFiles(data: data)
            self.starter = starter
            self.isKept = isKept
        }

        /// Returns a configuration without WebRTC; `nil` if no earlier run has left files.
        package static func off(data: String, starter: SocketWorkerStarter) throws(StartupError) -> Configuration? {
            guard WebRTCFiles.exist(in: data) else { return nil }
            var off = try Configuration(
                rules: WebRTCRules(), ingest: IngestRules(host: "127.0.0.1", port: 1935), data: data, starter: starter,
                isKept: false)
            off.rules = nil
            return off
        }
    }

    private struct State {
        var sessions: [String: WebRTCSession] = [:]
        var notTaken = StreamsNotTaken()
        var isStopping = false
    }

    private let configuration: Configuration
    private let metrics: Metrics
    private let logger: Logger
    private let state = Mutex(State())
    private let starts: AsyncStream<WebRTCSession>
    private let start: AsyncStream<WebRTCSession>.Continuation

    package init(_ configuration: Configuration, metrics: Metrics, logger: Logger) {
        self.configuration = configuration
        self.metrics = metrics
        self.logger = logger
        // Unbounded, because the number of sessions is limited; leftovers of an earlier run are added to it.
        (starts, start) = AsyncStream.makeStream()
    }

    /// The STUN and TURN servers as clients are told them now.
    package var iceServers: [WebRTCRules.ICEServer] {
        configuration.rules?.iceServers(at: Int(saturating: wallClock())) ?? []
    }

    package func run() async throws {
        await withGracefulShutdownHandler {
            adopt()
            await withDiscardingTaskGroup { group in
                for await session in starts {
                    group.addTask {
                        await session.run()
                        self.state.withLock { $0.sessions[session.id] = nil }
                        self.measure()
                    }
                }
            }
        } onGracefulShutdown: {
            let sessions = self.state.withLock { state in
                state.isStopping = true
                return Array(state.sessions.values)
            }
            for session in sessions {
                if self.configuration.isKept {
                    session.leave()
                } else {
                    session.close(reason: "the service is shut down")
                }
            }
            self.start.finish()
        }
    }

    /// Takes over the workers of an earlier run.
    private func adopt() {
        for (id, record) in configuration.files.found() {
            guard let record, let key = IngestStreamKey(record.stream) else {
                // The worker's session cannot be determined any more. It ends as an orphan.
                configuration.files.remove(id)
                continue
            }
            let session = session(id, key.names, record, publisher: nil) { _ in }
            let isTaken = state.withLock { state in
                guard !state.isStopping else { return false }
                state.sessions[id] = session
                return true
            }
            guard isTaken else { return }
            start.yield(session)
            if configuration.rules == nil { session.close(reason: "WebRTC is switched off") }
        }
        measure()
    }

    private func session(
        _ id: String, _ names: StreamNames, _ record: WebRTCRecord, publisher: WebRTCPublisher?,
        onNews: @escaping @Sendable (WebRTCNews) -> Void
    ) -> WebRTCSession {
        WebRTCSession(
            id: id, names: names, record: record, publisher: publisher,
            in: WebRTCSurroundings(
                files: configuration.files, starter: configuration.starter, metrics: metrics, logger: logger)
        ) { [weak self] news in
            if case .ended(let reason, let cause) = news {
                self?.state.withLock {
                    $0.notTaken.note(
                        id, of: names.room.app, needsToken: record.needsToken, reason: reason, cause: cause)
                }
            }
            onNews(news)
        }
    }

    private func measure() {
        metrics.set(.webrtcPublishers, Double(state.withLock { $0.sessions.count }))
    }

    // MARK: - Sessions

    /// Starts a session for a client that wants to publish.
    ///
    /// Nothing is started for an offer that cannot be accepted. The ingest decides between publishers of the same
    /// stream: a new one replaces the previous one, or is refused (`ingest.takeover`).
    ///
    /// - Parameter onNews: Called with the session's news if it has started. The last call, made once, reports its end.
    /// - Throws: `OrchestratorError`, within little more than 5 s.
    package func open(
        _ wish: WebRTCWish, onNews: @escaping @Sendable (WebRTCNews) -> Void = { _ in }
    ) async throws(OrchestratorError) -> WebRTCOpening {
        guard let rules = configuration.rules else { throw .webrtcIsOff }
        let offer: WebRTCOffer
        do throws(WebRTCOfferError) {
            offer = try WebRTCOffer(wish.offer)
            _ = try offer.publication()
        } catch {
            metrics.count(.webrtcSessions, "refused")
            throw OrchestratorError(error)
        }
        let key = IngestStreamKey(wish.names)
        let id = WorkerID.make()
        let record = WebRTCRecord(
            stream: key.text, address: wish.client.address, needsToken: wish.needsToken, generation: 1,
            iceName: offer.sections.first?.credentials.name ?? "")
        let publisher = WebRTCPublisher(
            offer: wish.offer, target: key.publishingURL(of: configuration.ingest, secret: configuration.secret),
            network: wish.network ?? rules.network(at: Int(saturating: wallClock()), isLocal: wish.client.isLocal),
            startBitRate: rules.startBitRate, silence: rules.silence)
        let session = session(id, wish.names, record, publisher: publisher, onNews: onNews)
        do throws(OrchestratorError) {
            try take(session, rules.limits)
        } catch {
            metrics.count(.webrtcSessions, "refused")
            throw error
        }
        do {
            // Written before the worker starts, so that no unknown worker can be left behind.
            try configuration.files.write(record, of: id)
        } catch {
            state.withLock { $0.sessions[id] = nil }
            throw OrchestratorError(
                .unavailable, "webrtc-unavailable", "The publisher cannot be accepted at the moment",
                detail: "the session cannot be stored", retryAfter: 5)
        }
        guard case .enqueued = start.yield(session) else {
            configuration.files.remove(id)
            throw .stopping
        }
        measure()
        switch await session.answer() {
        case .success(let answer):
            metrics.count(.webrtcSessions, "opened")
            return WebRTCOpening(id: id, answer: answer, tag: WebRTCTag(generation: 1))
        case .failure(let error):
            metrics.count(.webrtcSessions, "failed")
            throw error
        }
    }

    /// Reserves a place for the session.
    private func take(_ session: WebRTCSession, _ limits: WebRTCLimits) throws(OrchestratorError) {
        let fault = state.withLock { state -> OrchestratorError? in
            let sessions = state.sessions.values
            let app = session.names.room.app
            if state.isStopping { return .stopping }
            if sessions.count >= limits.all {
                return OrchestratorError(
                    .unavailable, "webrtc-full", "There are too many publishers over WebRTC",
                    detail: "the limit is \(limits.all), webrtc.maxPublishers", retryAfter: 10)
            }
            if sessions.count(where: { $0.names.room.app == app }) >= limits.perApp {
                return .tooManyPublishers("of this app", limits.perApp, "webrtc.maxPublishersPerApp")
            }
            if sessions.count(where: { $0.address == session.address }) >= limits.perAddress {
                return .tooManyPublishers("from this address", limits.perAddress, "webrtc.maxPublishersPerAddress")
            }
            let taken = Dictionary(sessions.map { ($0.names.room.app, 1) }, uniquingKeysWith: +)
            guard AppShares(places: limits.all, apps: limits.apps).hasPlace(for: app, taken: taken) else {
                return .placesOfPublishersAreKept(of: limits.all, from: app, taken[app] ?? 0)
            }
            state.sessions[session.id] = session
            return nil
        }
        if let fault { throw fault }
    }

    /// Returns whether the text may be the identifier of a session.
    package static func isSession(_ id: String) -> Bool { WorkerID.isValid(id) }

    /// Returns the session if it exists and belongs to the app.
    ///
    /// - Parameter app: The app of a token; `nil` without one.
    private func session(_ id: String, of app: AppID?) throws(OrchestratorError) -> WebRTCSession {
        let (session, error) = state.withLock { state in
            (WorkerID.isValid(id) ? state.sessions[id] : nil, state.notTaken.error(id, of: app))
        }
        if let error { throw error }
        // Sessions of other apps do not exist.
        guard let session, app.map({ $0 == session.names.room.app }) ?? !session.needsToken else {
            throw .noWHIPSession
        }
        return session
    }

    /// Processes a fragment with candidates, or with a new name and password, which restarts ICE.
    package func change(
        _ id: String, of app: AppID?, fragment text: String, _ condition: WebRTCCondition
    ) async throws(OrchestratorError) -> WebRTCChange {
        let session = try session(id, of: app)
        let fragment = try ICEFragment.read(text)
        return try await session.change(text, ICENames(name: fragment.credentials?.name), condition)
    }

    /// Ends a session. Its stream ends at once.
    package func close(_ id: String, of app: AppID?, reason: String) throws(OrchestratorError) {
        try session(id, of: app).close(reason: reason)
        // From here on the client has left, although its worker still takes a moment to end.
        state.withLock { _ = $0.sessions.removeValue(forKey: id) }
        measure()
    }
}
