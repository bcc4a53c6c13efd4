import EncodedMedia
import EventSubscription
import Logging
import MixModel
import NIOCore
import TextFormats

/// Handles what the ingest reports, one report after another: asks the gate, stores events, and answers.
struct IngestWorker {
    let configuration: IngestSupervisor.Configuration
    let secret: String
    let gate: any IngestGate
    let registry: RoomRegistry
    let logger: Logger
    var desk: IngestDesk
    private var line: AsyncStream<ByteBuffer>.Continuation?
    /// The last fault of listening that was logged.
    private var fault: String?
    /// Time before which no further refusal is logged: strangers cause them.
    private var quietUntil: Int64 = 0

    init(
        configuration: IngestSupervisor.Configuration, secret: String, gate: any IngestGate, registry: RoomRegistry,
        logger: Logger, desk: IngestDesk
    ) {
        self.configuration = configuration
        self.secret = secret
        self.gate = gate
        self.registry = registry
        self.logger = logger
        self.desk = desk
    }

    private var rules: IngestRules { configuration.rules }

    mutating func connected(_ line: AsyncStream<ByteBuffer>.Continuation) {
        self.line = line
        send(.hello(version: IngestCommand.version))
        send(
            .configure(
                IngestSettings(host: rules.host, port: rules.port, grace: rules.grace, secret: secret)))
    }

    mutating func disconnected() {
        line = nil
        desk.lost(now: MonotonicClock.now())
        let gone: [(labels: [String], value: Double)] = []
        for gauge in [Metrics.Gauge.ingestPublishers, .ingestPlayers, .ingestConnections] {
            registry.services.metrics.set(gauge, gone)
        }
    }

    /// Ends the ingest.
    mutating func terminate() async {
        send(.terminate)
        // Until the line has left; the connection is closed then.
        try? await Task.sleep(for: .milliseconds(200))
    }

    mutating func handle(_ report: IngestReport) async {
        let now = MonotonicClock.now()
        switch report {
        case .hello, .synced: break
        case .figures(let figures):
            let metrics = registry.services.metrics
            metrics.set(.ingestPublishers, Double(figures.publishers))
            metrics.set(.ingestPlayers, Double(figures.players))
            metrics.set(.ingestConnections, Double(figures.connections))
        case .refused(let reason): logger.error("the ingest refuses the service: \(reason)")
        case .listening(let port):
            fault = nil
            logger.info("RTMP ingest on \(rules.host):\(port)")
        case .notListening(let reason):
            guard fault != reason else { break }
            fault = reason
            logger.error(
                "RTMP ingest: cannot listen: \(reason). Stop that process, or set ingest.rtmp.listen to another port; it is tried again every 2 s"
            )
        case .live(let stream): await reconcile(stream, now)
        case .ask(let request): await answer(request, now)
        case .interrupted(let text, let session):
            guard let key = IngestStreamKey(text) else { break }
            desk.interrupted(key, session: session)
            logger.info("a publisher was lost", metadata: ["stream": "\(text)", "grace": "\(rules.grace)"])
        case .ended(let text, let session, let reason):
            guard let key = IngestStreamKey(text) else { break }
            logger.info("a stream has ended: \(reason)", metadata: ["stream": "\(text)"])
            await end(key, session, now)
        }
    }

    /// Ends the streams whose publishers did not come back after the ingest was lost.
    mutating func tick() async {
        let now = MonotonicClock.now()
        for (key, session) in desk.overdue(grace: rules.grace, now: now) { await end(key, session, now) }
    }

    // MARK: - Requests

    private mutating func answer(_ request: IngestRequest, _ now: Int64) async {
        switch gate.verdict(on: request) {
        case .refused(let isName, let reason): refuse(request, isName: isName, reason)
        case .allowed(let names):
            let key = IngestStreamKey(names)
            if request.isPublish {
                await begin(key, request, now)
            } else if desk.has(key) {
                send(.allow(request: request.request, session: request.session, stream: key.text))
            } else {
                refuse(request, isName: true, "nobody publishes this stream")
            }
        }
    }

    private mutating func begin(_ key: IngestStreamKey, _ request: IngestRequest, _ now: Int64) async {
        if rules.takeover == .refuse, desk.hasPublisher(key) {
            return refuse(request, isName: true, "another publisher is live with this stream key")
        }
        if let fault = await store(key, request.session, now) {
            let reason = URLRedaction.redact("\(fault.title): \(fault.detail)")
            return refuse(request, isName: false, reason, logged: fault.title)
        }
        send(.allow(request: request.request, session: request.session, stream: key.text))
    }

    /// Stores the event of a publisher that begins.
    ///
    /// - Returns: The reason why it may not begin; `nil` if it may.
    private mutating func store(_ key: IngestStreamKey, _ session: String, _ now: Int64) async -> OrchestratorError? {
        let url = key.url(of: rules, secret: secret)
        // The beginning of a publisher is always passed on.
        guard let event = desk.begins(key, session: session, url: url, now: now) else { return nil }
        do throws(OrchestratorError) {
            let outcome = try await registry.owner(event.room).receive(event, at: now)
            registry.services.metrics.count(.events, outcome.rawValue)
            desk.settle(key, session: session, url: url, as: .stored, now: now)
            writeJournal()
            return nil
        } catch {
            let isFault = [.unavailable, .failed].contains(error.kind)
            desk.settle(key, session: session, url: url, as: isFault ? .failed : .refused, now: now)
            return error
        }
    }

    /// - Parameter logged: Words for the log if `reason` may contain parts of the stream key.
    private mutating func refuse(
        _ request: IngestRequest, isName: Bool, _ reason: String, logged: String? = nil
    ) {
        send(.refuse(request: request.request, isName: isName, reason: reason.shortened(toBytes: 400)))
        let now = MonotonicClock.now()
        guard now >= quietUntil else { return }
        quietUntil = now + 1_000_000_000
        // Neither name nor query, which may be secrets.
        logger.warning(
            "\(request.isPublish ? "publisher" : "player") refused: \(logged ?? reason)",
            metadata: ["address": "\(request.address)"])
    }

    // MARK: - Streams

    private mutating func reconcile(_ stream: IngestStream, _ now: Int64) async {
        guard let key = IngestStreamKey(stream.stream),
            !desk.isLive(key, session: stream.session, isConnected: stream.isConnected)
        else { return }
        if let fault = await store(key, stream.session, now) {
            logger.warning("a live stream is in no room: \(fault.title)", metadata: ["stream": "\(stream.stream)"])
        }
    }

    private mutating func end(_ key: IngestStreamKey, _ session: String, _ now: Int64) async {
        guard let event = desk.ends(key, session: session, now: now) else { return }
        do throws(OrchestratorError) {
            let outcome = try await registry.owner(event.room).receive(event, at: now)
            registry.services.metrics.count(.events, outcome.rawValue)
            desk.settleEnd(key, session: session, as: .stored)
            writeJournal()
        } catch {
            let isFault = [.unavailable, .failed].contains(error.kind)
            desk.settleEnd(key, session: session, as: isFault ? .failed : .refused)
            logger.warning("the end of a stream is not stored: \(error.title)", metadata: ["stream": "\(key.text)"])
        }
    }

    private func writeJournal() {
        do {
            try configuration.files.write(desk.journal)
        } catch {
            logger.warning("the list of live streams is not written: \(error)")
        }
    }

    private func send(_ command: IngestCommand) {
        guard let line, var text = try? DocumentEncoder.json(command) else { return }
        text += "\n"
        line.yield(ByteBuffer(string: text))
    }
}
