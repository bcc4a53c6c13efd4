import EncodedMedia
import Foundation
import Logging
import MediaFormats
import MixModel
import RTMP
import TextFormats

/// The RTMP server: its doors, its connections, and the streams between them.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
final class IngestServer: @unchecked Sendable {
    struct Entry {
        let client: IngestClient
        /// Whether the connection was permitted to publish or play.
        var isDecided = false
        /// Whether the connection belongs to a relay.
        var isRelay = false
        /// The stream that the connection publishes or plays.
        var stream: String?
        var isPublisher = false
        /// The stream, if the connection publishes it.
        var live: RelayedStream?
    }

    private let loop = SocketLoop.shared
    private let logger: Logger
    private let limits: RTMPServerLimits
    let report: (IngestReport) -> Void
    private var machine: IngestMachine
    private var connections: ConnectionPlaces
    private(set) var clients: [Int: Entry] = [:]
    var streams: [String: RelayedStream] = [:]
    /// The connections from which programs are read, by the names of their streams.
    var programs: [String: ProgramClient] = [:]
    private var door: IngestDoor?
    private var secureDoor: IngestDoor?
    private let timer = LoopDeadline()
    /// The publishers that are asked to reconnect, and the explanation for them.
    var round = ReconnectRound()
    var roundWords = ""
    let roundTimer = LoopDeadline()
    private var number = 0
    private var refused = 0
    /// Limits the lines about clients that were not accepted.
    private var strangerLog = LogLimit()

    /// - Parameter report: Sends a report to the orchestrator, if one is connected.
    init(
        run: String, limits: RTMPServerLimits = RTMPServerLimits(),
        connections: ConnectionPlaces.Limits = ConnectionPlaces.Limits(), logger: Logger,
        report: @escaping (IngestReport) -> Void
    ) {
        self.limits = limits
        self.logger = logger
        self.report = report
        machine = IngestMachine(run: run)
        self.connections = ConnectionPlaces(limits: connections)
        timer.begin { [weak self] in self?.tick() }
        roundTimer.begin { [weak self] in self?.continueRound() }
    }

    var figures: IngestFigures {
        var figures = IngestFigures()
        figures.publishers = machine.publishers
        figures.players = streams.values.reduce(0) { $0 + $1.playerCount }
        figures.connections = connections.count
        figures.refused = refused
        figures.viewers = viewers
        return figures
    }

    /// Handles a command of the orchestrator.
    func handle(_ command: IngestCommand) {
        switch command {
        case .hello: perform(machine.attended(process: getpid()))
        case .configure(let settings): configure(settings)
        case .allow(let request, let session, let stream):
            perform(machine.allowed(request, session: session, stream: stream, now: MonotonicClock.now()))
        case .allowProgram(let request, let session, let task, let socket, let detour):
            perform(machine.programAllowed(request, session: session, task: task, socket: socket, detour: detour))
        case .refuse(let request, let isName, let reason):
            perform(machine.refused(request, isName: isName, reason: reason))
        case .takenOver(let stream, let session):
            perform(machine.takenOver(stream, session: session))
        case .reconnect(let words): askToReconnect(words)
        case .terminate: close()
        }
    }

    /// Records that no orchestrator is connected.
    func abandoned() { machine.abandoned() }

    /// Ends every connection.
    func close() {
        door?.close()
        secureDoor?.close()
        (door, secureDoor) = (nil, nil)
        timer.end()
        roundTimer.end()
        for entry in clients.values { entry.client.close() }
        clients = [:]
        streams = [:]
        for program in programs.values { program.close() }
        programs = [:]
    }

    // MARK: - Listening

    private func configure(_ settings: IngestSettings) {
        machine.configure(settings)
        if door?.isSame(settings.host, settings.port) != true {
            door?.close()
            door = IngestDoor(
                host: settings.host, port: settings.port, logger: logger,
                onAccept: { [weak self] in self?.accept($0, $1, $2) },
                onNews: { [report] news in
                    switch news {
                    case .listening(let port): report(.listening(port: port))
                    case .notListening(let reason): report(.notListening(reason: reason))
                    }
                })
        }
        if let tls = settings.rtmps, secureDoor?.isSame(tls.host, tls.port, tls) != true {
            secureDoor?.close()
            secureDoor = IngestDoor(
                host: tls.host, port: tls.port, tls: tls, logger: logger,
                onAccept: { [weak self] in self?.accept($0, $1, $2) },
                onNews: { [report] news in
                    switch news {
                    case .listening(let port): report(.listeningSecurely(port: port))
                    case .notListening(let reason): report(.notListeningSecurely(reason: reason))
                    }
                })
        } else if settings.rtmps == nil {
            secureDoor?.close()
            secureDoor = nil
        }
        door?.open()
        secureDoor?.open()
    }

    private func accept(_ descriptor: Int32, _ address: InternetAddress?, _ tls: TLSContext?) {
        guard let address, enter(address) else {
            refused += 1
            Foundation.close(descriptor)
            return noteStranger("a connection was closed, because there are too many")
        }
        number += 1
        let id = number
        let client = IngestClient(
            id: id, descriptor: descriptor, tls: tls, address: address, limits: limits, loop: loop
        ) { [weak self] client, event in self?.take(event, of: client) }
        clients[id] = Entry(client: client)
    }

    /// Reserves a place, if necessary that of the connection that has been undecided for longest.
    private func enter(_ address: InternetAddress) -> Bool {
        switch connections.enter(address) {
        case .taken: return true
        case .full: return false
        case .crowded:
            let undecided = clients.values.lazy.filter { [connections] entry in
                !entry.isDecided && connections.isCounted(entry.client.address)
            }
            guard let oldest = undecided.map(\.client).min(by: { $0.id < $1.id }) else { return false }
            oldest.close()
            take(.closed(reason: "a newer connection took its place"), of: oldest)
            return connections.enter(address) == .taken
        }
    }

    // MARK: - Clients

    private func take(_ event: IngestClient.Event, of client: IngestClient) {
        guard clients[client.id] != nil else { return }
        switch event {
        case .over(let end):
            leaveStream(clients[client.id], isClean: false, isRefused: end.isRefusal, reason: end.description)
            clients[client.id]?.stream = nil
            clients[client.id]?.live = nil
            noteStranger("a connection was ended: \(end)")
        case .closed(let reason):
            let entry = clients.removeValue(forKey: client.id)
            leaveRound(client.id)
            connections.leave(client.address, wasDecided: entry?.isDecided ?? false, isRelay: entry?.isRelay ?? false)
            leaveStream(entry, isClean: false, reason: reason)
            if entry?.isDecided != true {
                refused += 1
                noteStranger("a connection published and played nothing: \(reason)")
            }
        case .session(let events): take(events, of: client)
        }
    }

    private func take(_ events: [RTMPServerSession.Event], of client: IngestClient) {
        let now = MonotonicClock.now()
        var live = clients[client.id]?.live
        let bytes = TagCache.Limits.bytes(ofEachOf: streams.count)
        var hasMedia = false
        for event in events {
            switch event {
            case .tag(let tag):
                live?.take(tag, cacheBytes: bytes, now: now)
                if case .frame = tag.role { hasMedia = true }
            case .keyframeWanted: requestKeyframe(for: client, now)
            case .requested(let wish):
                perform(machine.requested(wish, by: client.id, address: "\(client.address)", now: now))
            case .left:
                if let live { flush(live, now) }
                live = nil
                leaveStream(clients[client.id], isClean: true, reason: "the publisher ended the stream")
                clients[client.id]?.stream = nil
                clients[client.id]?.isPublisher = false
                clients[client.id]?.live = nil
            case .over: break
            }
        }
        guard let live else { return }
        flush(live, now)
        // Requests of players that have waited. A publisher that sends nothing sends no keyframe either.
        passKeyframeRequest(of: live, to: client, now)
        guard hasMedia, live.passesNotice(now: now), let name = clients[client.id]?.stream else { return }
        let news = machine.heard(name, by: client.id, now: now)
        // Only news needs another deadline, which takes a look at each stream.
        if !news.isEmpty { perform(news) }
    }

    func push(_ tags: [FLVTag], into stream: RelayedStream, _ now: Int64) {
        let bytes = TagCache.Limits.bytes(ofEachOf: streams.count)
        for tag in tags { stream.take(tag, cacheBytes: bytes, now: now) }
        flush(stream, now)
    }

    private func flush(_ stream: RelayedStream, _ now: Int64) {
        for player in stream.flush(now: now) {
            stream.remove(player)
            logger.warning(
                "a player was disconnected, because it does not read",
                metadata: ["stream": "\(clients[player.id]?.stream ?? "")"])
            player.refuse(.playFailed("the connection is too slow for this stream"))
        }
    }

    private func leaveStream(_ entry: Entry?, isClean: Bool, isRefused: Bool = false, reason: String) {
        guard let entry else { return }
        if let name = entry.stream, !entry.isPublisher {
            streams[name]?.remove(entry.client)
        } else if let name = entry.stream {
            logger.info("a publisher has left: \(reason)", metadata: ["stream": "\(name)"])
        }
        let now = MonotonicClock.now()
        perform(machine.left(entry.client.id, isClean: isClean, isRefused: isRefused, reason: reason, now: now))
        forgetStream(entry.stream)
    }

    /// Removes a stream that is not published and for which no client waits.
    private func forgetStream(_ name: String?) {
        guard let name, streams[name]?.isUnwatched ?? false, !machine.has(name) else { return }
        streams[name] = nil
        programs.removeValue(forKey: name)?.close()
    }

    // MARK: - Actions

    private func perform(_ actions: [IngestMachine.Action]) {
        for action in actions {
            switch action {
            case .tell(let report): self.report(report)
            case .accept(let id):
                guard let entry = clients[id] else { break }
                if !entry.isDecided { connections.decide(entry.client.address) }
                clients[id]?.isDecided = true
                entry.client.accept()
            case .recognise(let id):
                guard let entry = clients[id], !entry.isDecided else { break }
                connections.recognise(entry.client.address)
                clients[id]?.isDecided = true
                clients[id]?.isRelay = true
            case .refuse(let id, let status):
                if let entry = clients[id] {
                    if let name = entry.stream, !entry.isPublisher { streams[name]?.remove(entry.client) }
                    clients[id]?.isPublisher = false
                    clients[id]?.live = nil
                    entry.client.refuse(status)
                }
            case .begin(let name, let id):
                let stream = streams[name] ?? RelayedStream()
                streams[name] = stream
                stream.restart()
                clients[id]?.stream = name
                clients[id]?.isPublisher = true
                clients[id]?.live = stream
                logger.info("a publisher has begun", metadata: ["stream": "\(name)"])
            case .play(let name, let id): play(name, id)
            case .feed(let name, let socket, let detour, let id):
                if feed(name, from: socket, detour) {
                    play(name, id)
                } else {
                    clients[id]?.client.refuse(
                        .playFailed("\(Self.mostPrograms) programs are played, which is the limit: try again later"))
                }
            case .pause(let name):
                guard let stream = streams[name] else { break }
                let now = MonotonicClock.now()
                stream.pause(now: now)
                flush(stream, now)
            case .end(let name): endStream(name)
            }
        }
        setTimer()
    }

    private func play(_ name: String, _ id: Int) {
        guard let client = clients[id]?.client else { return }
        let stream = streams[name] ?? RelayedStream()
        streams[name] = stream
        clients[id]?.stream = name
        stream.add(client, now: MonotonicClock.now())
    }

    func endStream(_ name: String) {
        guard let stream = streams.removeValue(forKey: name) else { return }
        for client in stream.clients {
            clients[client.id]?.stream = nil
            client.refuse(.unpublished)
        }
    }

    private func tick() {
        perform(machine.tick(now: MonotonicClock.now()))
    }

    private func setTimer() { timer.set(machine.deadline) }

    /// Logs at most one line a second about clients that were not accepted.
    private func noteStranger(_ words: String) {
        if strangerLog.permitsLine(at: MonotonicClock.now()) { logger.info("\(words)") }
    }
}
