import EncodedMedia
import EventSubscription
import Logging
import MixModel
import NIOCore
import ServiceLifecycle
import TextFormats

/// Handles the ingest's reports: asks the gate and `ingest.onPublish`, stores events, and answers.
///
/// Reports are processed one after another, without waiting. Work that takes time becomes a `Job`, which the owner runs
/// concurrently with further reports.
actor IngestWorker {
    /// A piece of work that takes time, for `run(_:)`.
    enum Job: Sendable {
        /// The queued work of a room.
        case lane(RoomID)
        case ask(IngestRequest, AppID, StreamNames?, mismatch: String)
        case watch(IngestRequest, RoomID, TaskID?)
        /// Timeline entries for rooms of other nodes.
        case tell([PublisherNotes.Waiting])
        /// An ingest that had a stream until now.
        case displace(stream: String, place: String)
    }

    let configuration: IngestSupervisor.Configuration
    let secret: String
    let gate: any IngestGate
    let registry: RoomRegistry
    /// Brings events to their rooms, which may be at other nodes.
    let courier: StreamCourier
    let logger: Logger
    var desk: IngestDesk
    private let hook: PublishHookCaller?
    private var lanes = IngestLanes()
    var circles: ProgramCircles
    /// Whether the ingest has named all of its streams.
    var isSynced = false
    /// Number of publishers that have been asked to reconnect and are still connected; `nil` = not known.
    var reconnecting: Int?
    /// Messages for other ingests, sent with the next tick.
    var displaced: [Job] = []
    private var looks = StreamLooks()
    var holds = TakeoverHolds()
    var undecided = UndecidedPublishers()
    /// Sessions about which the hook is being asked.
    private var asked: Set<String> = []
    private var line: AsyncStream<ByteBuffer>.Continuation?
    /// Process identifier of the ingest, whose requests have their own numbering; 0 = none yet.
    private(set) var process: Int32 = 0
    /// The last listener fault that was logged.
    private var fault: String?
    private var secureFault: String?
    private var refusalLog = LogLimit()
    private var refusals = PublisherNotes()
    private var losses = PublisherNotes()
    var takeovers = PublisherNotes()
    /// Timeline entries for rooms of other nodes, to be sent with the next tick.
    private var notesForOthers: [PublisherNotes.Waiting] = []

    init(
        configuration: IngestSupervisor.Configuration, secret: String, gate: any IngestGate, registry: RoomRegistry,
        courier: StreamCourier, logger: Logger, desk: IngestDesk, circles: ProgramCircles
    ) {
        self.courier = courier
        self.configuration = configuration
        self.secret = secret
        self.gate = gate
        self.registry = registry
        self.logger = logger
        self.desk = desk
        self.circles = circles
        hook = configuration.hook.map { PublishHookCaller($0, allowed: configuration.callbacks) }
    }

    var rules: IngestRules { configuration.rules }

    func connected(_ line: AsyncStream<ByteBuffer>.Continuation) {
        self.line = line
        desk.found()
        send(.hello(version: IngestCommand.version))
        send(
            .configure(
                IngestSettings(
                    host: rules.host, port: rules.port, grace: rules.grace, secret: secret, rtmps: rules.rtmps,
                    silence: TakeoverHolds.silence, withdrawals: true)))
    }

    func disconnected() {
        line = nil
        isSynced = false
        reconnecting = nil
        desk.lost(now: MonotonicClock.now())
        holds.lost()
        let gone: [(labels: [String], value: Double)] = []
        for gauge in [Metrics.Gauge.ingestPublishers, .ingestPlayers, .ingestConnections] {
            registry.services.metrics.set(gauge, gone)
        }
        registry.services.viewers.setElsewhere([:])
    }

    /// Ends the ingest, unless it is kept, and closes the hook's connections.
    func close() async {
        if !configuration.isKept {
            send(.terminate)
            // Gives the message time to leave before the connection is closed.
            try? await Task.sleep(for: .milliseconds(200))
        }
        await hook?.close()
    }

    /// Processes a report and returns the resulting jobs.
    func handle(_ report: IngestReport) -> [Job] {
        switch report {
        case .hello(_, let process):
            self.process = process
            // Also of what was stored since the last connection.
            holds.lost()
            undecided.listAnew()
        case .synced: isSynced = true
        case .figures(let figures):
            let metrics = registry.services.metrics
            metrics.set(.ingestPublishers, Double(figures.publishers))
            metrics.set(.ingestPlayers, Double(figures.players))
            metrics.set(.ingestConnections, Double(figures.connections))
            // The reported numbers are not trusted to be small.
            let viewers = (figures.viewers ?? [:]).map { (TaskID($0.key), min(max($0.value, 0), 1 << 20)) }
            registry.services.viewers.setElsewhere(Dictionary(viewers) { $1 })
        case .reconnecting(let publishers): reconnecting = publishers
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
        case .listeningSecurely(let port):
            secureFault = nil
            logger.info("RTMPS ingest on \(rules.rtmps?.host ?? ""):\(port)")
        case .notListeningSecurely(let reason):
            guard secureFault != reason else { break }
            secureFault = reason
            logger.error("RTMPS ingest: cannot listen: \(reason). It is tried again every 2 s (ingest.rtmps)")
        case .ask(let request):
            undecided.asked(request)
            return answer(request)
        case .withdrawn(let session):
            undecided.remove(session)
            holds.withdrew(session)
        case .live(let stream):
            guard let key = IngestStreamKey(stream.stream) else { break }
            if let isSending = stream.isSending {
                holds.heard(key, session: stream.session, isSending: isSending)
            }
            // At once where nothing is under way: other nodes may ask who is connected.
            let isKnown =
                lanes.isIdle(key.names.room)
                && desk.isLive(key, session: stream.session, isConnected: stream.isConnected)
            return isKnown ? [] : add(.live(key, stream))
        case .sending(let text, let session, let isSending):
            if let key = IngestStreamKey(text) { holds.heard(key, session: session, isSending: isSending) }
        case .interrupted(let text, let session, let reason):
            guard let key = IngestStreamKey(text) else { break }
            holds.left(key, session: session)
            let words = reason ?? "the connection was lost"
            logger.info("a publisher was lost: \(words)", metadata: ["stream": "\(text)", "grace": "\(rules.grace)"])
            let place = "the place is kept for \(rules.grace) s"
            note("publisher lost", key.names, "\(words); \(place)", limit: &losses)
            return add(.interrupted(key, session: session))
        case .ended(let text, let session, let reason, let isRefused, let present):
            guard let key = IngestStreamKey(text) else { break }
            holds.left(key, session: session, present: present)
            logger.info("a stream has ended: \(reason)", metadata: ["stream": "\(text)"])
            if isRefused ?? false { note("publisher refused", key.names, reason, limit: &refusals) }
            return add(.end(key, session: session, present: present))
        }
        return []
    }

    /// Returns the ends of the streams whose publishers did not come back after the ingest was lost, and what other nodes have
    /// to be told or may know better.
    func tick() -> [Job] {
        defer { (notesForOthers, displaced) = ([], []) }
        let now = MonotonicClock.now()
        let absence = configuration.isOn ? rules.absence : 0
        var jobs = desk.overdue(grace: absence, now: now).filter { lanes.isIdle($0.key.names.room) }
            .flatMap { add(.end($0.key, session: $0.session)) }
        if courier.hasOthers { jobs += looks.due(desk.keys, now: now).flatMap { add(.look($0)) } }
        jobs += holds.due(now: now).flatMap { begin($0.key, $0.request, $0.process, hasWaited: true) }
        return jobs + displaced + (notesForOthers.isEmpty ? [] : [.tell(notesForOthers)])
    }

    /// Has a stream looked at, because another node says that it has it.
    func lookSoon(at text: String) -> [Job] {
        guard let key = IngestStreamKey(text), desk.has(key) else { return [] }
        return add(.look(key))
    }

    /// Runs a job.
    func run(_ job: Job) async {
        switch job {
        case .lane(let room): await work(in: room)
        case .ask(let request, let app, let names, let mismatch): await ask(request, app, names, mismatch)
        case .watch(let request, let room, let task): await watch(request, room, task)
        case .tell(let notes): for note in notes { await courier.note(note.words, in: note.room) }
        case .displace(let stream, let place): await courier.tell(ofStream: stream, at: place)
        }
    }

    // MARK: - Requests

    private func answer(_ request: IngestRequest) -> [Job] {
        switch IngestStreamKey.publishing(request, of: rules, secret: secret) {
        case .none: break
        case .refused:
            refuse(request, isName: false, "only the service's own workers may publish here")
            return []
        case .proven(let key):
            // The publisher was approved when the worker was started; only the operator's server has not been asked
            // yet.
            let names = key.names
            return hook == nil ? begin(key, request, process) : question(request, names.room.app, names, mismatch: "")
        }
        switch gate.verdict(on: request) {
        case .refused(let isName, let reason): refuse(request, isName: isName, reason)
        case .nameless(let app, let reason):
            guard hook != nil else {
                refuse(request, isName: true, reason)
                break
            }
            return question(request, app, nil, mismatch: reason)
        case .program(let room, let task): return [.watch(request, room, task)]
        case .allowed(let names):
            if request.isPublish {
                return hook == nil
                    ? begin(IngestStreamKey(names), request, process)
                    : question(request, names.room.app, names, mismatch: "")
            }
            let key = IngestStreamKey(names)
            if desk.has(key) {
                send(.allow(request: request.request, session: request.session, stream: key.text))
            } else {
                refuse(request, isName: true, "this stream is not being published")
            }
        }
        return []
    }

    private func question(
        _ request: IngestRequest, _ app: AppID, _ names: StreamNames?, mismatch: String
    ) -> [Job] {
        guard asked.count < PublishHookCaller.mostQuestions else {
            refuse(request, isName: false, "too many publishers begin at once: try again")
            return []
        }
        // After a reconnection, the ingest repeats its pending requests.
        guard asked.insert(request.session).inserted else { return [] }
        return [.ask(request, app, names, mismatch: mismatch)]
    }

    private func ask(_ request: IngestRequest, _ app: AppID, _ names: StreamNames?, _ mismatch: String) async {
        guard let hook else { return }
        let process = process
        // A shutdown does not wait for the hook.
        let decision = await cancelWhenGracefulShutdown {
            await hook.ask(request, app: app, names: names, mismatch: mismatch)
        }
        asked.remove(request.session)
        switch decision {
        case .allowed(let names):
            for job in begin(IngestStreamKey(names), request, process) { await run(job) }
        case .refused(let isName, let reason, let log):
            if process == self.process { refuse(request, isName: isName, reason, logged: log) }
        }
    }

    private func begin(
        _ key: IngestStreamKey, _ request: IngestRequest, _ process: Int32, hasWaited: Bool = false
    ) -> [Job] {
        switch lanes.add(.begin(key, request, process: process, hasWaited: hasWaited)) {
        case .first: return [.lane(key.names.room)]
        case .waits: break
        case .full: refuse(request, isName: false, "too many requests are waiting: try again")
        }
        return []
    }

    /// - Parameter logged: Words for the log if `reason` may contain parts of the stream key.
    func refuse(
        _ request: IngestRequest, isName: Bool, _ reason: String, logged: String? = nil
    ) {
        undecided.remove(request.session)
        send(.refuse(request: request.request, isName: isName, reason: reason.shortened(toBytes: 400)))
        if request.isPublish, let names = gate.names(of: request) {
            note("publisher refused", names, logged ?? reason, limit: &refusals)
        }
        guard refusalLog.permitsLine(at: MonotonicClock.now()) else { return }
        // The log contains neither name nor query, which may be secrets.
        logger.warning(
            "\(request.isPublish ? "publisher" : "player") refused: \(logged ?? reason)",
            metadata: ["address": "\(request.address)"])
    }

    /// Adds a timeline entry about a publisher to its room, if the room has a program and had no such entry lately.
    func note(_ what: String, _ names: StreamNames, _ words: String, limit notes: inout PublisherNotes) {
        let message = "\(what): \(names.user.rawValue)/\(names.stream.rawValue): \(words.shortened(toBytes: 400))"
        guard
            registry.hasInMemory(names.room) || courier.hasOthers && notesForOthers.count < PublisherNotes.mostWaiting,
            notes.permits(message, in: names.room, now: MonotonicClock.now()),
            !registry.noteOfStream(message, in: names.room)
        else { return }
        notesForOthers.append(PublisherNotes.Waiting(words: message, room: names.room))
    }

    // MARK: - Streams

    private func add(_ work: IngestLanes.Work) -> [Job] {
        switch lanes.add(work) {
        case .first: return [.lane(work.room)]
        case .waits: break
        case .full: logger.error("a report of the ingest is dropped, because \(lanes.count) others wait")
        }
        return []
    }

    private func work(in room: RoomID) async {
        while let work = lanes.next(in: room) {
            let now = MonotonicClock.now()
            switch work {
            case .begin(let key, let request, let process, let hasWaited):
                // A publisher of an earlier ingest process is gone.
                if process == self.process { await begin(key, request, hasWaited: hasWaited, now: now) }
            case .live(let key, let stream): await reconcile(key, stream, now)
            case .interrupted(let key, let session): desk.interrupted(key, session: session)
            case .end(let key, let session, let present): await end(key, session, present, now)
            case .look(let key): await look(at: key)
            }
        }
    }

    func send(_ command: IngestCommand) {
        guard let line, var text = try? DocumentEncoder.json(command) else { return }
        text += "\n"
        line.yield(ByteBuffer(string: text))
    }
}
