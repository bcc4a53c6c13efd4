import EncodedMedia
import MixModel
import RTMP
import TextFormats

/// The streams of an ingest and the requests that wait for the orchestrator's answer. Decides what follows from each
/// event. Pure: connections are numbers, and times are in ns of a monotonic clock.
struct IngestMachine: Sendable {
    struct Limits: Hashable, Sendable {
        var streams = 1024
        var requests = 256
        /// Time for which a request waits for its answer.
        var answer: Int64 = 8_000_000_000
        /// Time for which a relay may wait for a missing stream.
        var absence: Int64 = 15_000_000_000
    }

    enum Action: Hashable, Sendable {
        case tell(IngestReport)
        case accept(connection: Int)
        /// The connection has proved that it belongs to a relay. `accept` follows.
        case recognise(connection: Int)
        case refuse(connection: Int, RTMPStatus)
        /// The stream's tags come from this connection from now on.
        case begin(stream: String, connection: Int)
        /// The connection plays the stream, or waits for it.
        case play(stream: String, connection: Int)
        /// The stream is a program, read from the relay that listens at `socket`, and on the detour while none does. `play`
        /// follows.
        case feed(stream: String, socket: String, detour: ProgramDetour? = nil, connection: Int)
        /// The stream shows nothing until a publisher returns: its players are told.
        case pause(stream: String)
        /// The stream is over: its players are told, and it is removed.
        case end(stream: String)
    }

    private struct Stream {
        var session: String
        /// The publisher's connection; `nil` while it is lost.
        var connection: Int?
        /// Whether the publisher is a worker of the service.
        var isWorkers = false
        var lostAt: Int64?
        /// Time at which audio or video last arrived, or the publisher began.
        var heardAt: Int64 = 0
        /// Whether the orchestrator was last told that the publisher sends.
        var isSending = false
    }

    private struct Waiting {
        let request: IngestRequest
        let connection: Int
        let since: Int64
    }

    let limits: Limits
    /// The settings; `nil` until the orchestrator has sent them.
    private(set) var settings: IngestSettings?
    private var streams: [String: Stream] = [:]
    private var waiting: [Int: Waiting] = [:]
    private var requests = 0
    private var isAttended = false
    private let run: String
    /// Relays that wait for streams that are not published, by connection.
    private var patient: [Int: (stream: String, until: Int64)] = [:]

    /// Prefix of the application in URLs from which relays pull.
    static let relayApplication = "relay/"
    /// Prefix of the application under which workers of the service publish.
    static let workerApplication = "publish/"
    /// Prefix of the names of streams that are programs. Names of publishers' streams have four parts.
    static let programPrefix = "program/"
    /// Name of the argument by which a relay proves that the orchestrator sent it.
    static let proofArgument = "relay"

    /// - Parameter run: Identifier that is unique to this run of the process.
    init(run: String, limits: Limits = Limits()) {
        self.run = run
        self.limits = limits
    }

    var publishers: Int { streams.values.count { $0.connection != nil } }
    var count: Int { streams.count }

    /// Returns whether the stream has a publisher, or had one until a moment ago.
    func has(_ stream: String) -> Bool { streams[stream] != nil }

    var waitingRequests: Int { waiting.count }

    // MARK: - The orchestrator

    /// Records that an orchestrator has connected, and returns the state to send to it.
    mutating func attended(process: Int32) -> [Action] {
        isAttended = true
        var reports: [IngestReport] = [.hello(version: IngestCommand.version, process: process)]
        for (name, stream) in streams.sorted(by: { $0.key.precedesInUTF8($1.key) }) {
            reports.append(.live(listed(name, stream)))
        }
        reports.append(.synced)
        reports += waiting.values.map(\.request).sorted { $0.request < $1.request }.map { .ask($0) }
        return reports.map { .tell($0) }
    }

    private func listed(_ name: String, _ stream: Stream) -> IngestStream {
        IngestStream(
            stream: name, session: stream.session, isConnected: stream.connection != nil,
            isSending: silence == nil ? nil : stream.isSending)
    }

    mutating func abandoned() { isAttended = false }

    mutating func configure(_ settings: IngestSettings) { self.settings = settings }

    mutating func allowed(_ number: Int, session: String, stream: String, now: Int64) -> [Action] {
        guard let entry = waiting[number], entry.request.session == session else {
            // The client has left, or was refused, while the orchestrator decided.
            guard streams[stream]?.session != session else { return [] }
            // The orchestrator takes it for the stream's publisher. The one that it never replaced keeps the stream.
            let present = streams[stream].map { listed(stream, $0) }
            return [
                .tell(.ended(stream: stream, session: session, reason: "left before it began", present: present))
            ]
        }
        waiting[number] = nil
        guard entry.request.isPublish else {
            return [.accept(connection: entry.connection), .play(stream: stream, connection: entry.connection)]
        }
        guard streams[stream] != nil || streams.count < limits.streams else {
            let words = "the server has \(limits.streams) streams, which is its limit: try again later"
            return [
                .refuse(connection: entry.connection, .denied(words)),
                .tell(.ended(stream: stream, session: session, reason: words)),
            ]
        }
        var actions: [Action] = []
        if let old = streams[stream]?.connection {
            actions.append(.refuse(connection: old, Self.replaced))
        }
        streams[stream] = Stream(
            session: session, connection: entry.connection,
            isWorkers: entry.request.application.startsInUTF8(with: Self.workerApplication), heardAt: now)
        for (connection, wait) in patient where wait.stream == stream { patient[connection] = nil }
        actions.append(.accept(connection: entry.connection))
        actions.append(.begin(stream: stream, connection: entry.connection))
        // It has as long for its first frame as for any other.
        return actions + heard(stream, by: entry.connection, now: now)
    }

    /// Permits a connection to play a program.
    mutating func programAllowed(
        _ number: Int, session: String, task: String, socket: String, detour: ProgramDetour? = nil
    ) -> [Action] {
        guard let entry = waiting[number], entry.request.session == session, !entry.request.isPublish else { return [] }
        waiting[number] = nil
        return [
            .accept(connection: entry.connection),
            .feed(stream: Self.programPrefix + task, socket: socket, detour: detour, connection: entry.connection),
        ]
    }

    mutating func refused(_ number: Int, isName: Bool, reason: String) -> [Action] {
        guard let entry = waiting.removeValue(forKey: number) else { return [] }
        return [.refuse(connection: entry.connection, Self.status(entry.request, isName: isName, reason))]
    }

    /// The status for a publisher whose place another one has taken.
    private static let replaced = RTMPStatus.badName(IngestStream.takenOver)

    /// Ends a stream that another node's ingest has by now.
    mutating func takenOver(_ name: String, session: String) -> [Action] {
        guard let stream = streams[name], stream.session == session else { return [] }
        let refusal = stream.connection.map { Action.refuse(connection: $0, Self.replaced) }
        return (refusal.map { [$0] } ?? []) + end(name, stream, "another node has it")
    }

    private static func status(_ request: IngestRequest, isName: Bool, _ reason: String) -> RTMPStatus {
        switch (request.isPublish, isName) {
        case (true, true): .badName(reason)
        case (true, false): .denied(reason)
        case (false, true): .notFound(reason)
        case (false, false): .playFailed(reason)
        }
    }

    // MARK: - Clients

    /// Handles a client's request.
    mutating func requested(
        _ wish: RTMPStreamRequest, by connection: Int, address: String, now: Int64
    ) -> [Action] {
        if wish.kind == .play, wish.application.hasPrefix(Self.relayApplication) {
            return relayRequested(wish, by: connection, now: now)
        }
        guard waiting.count < limits.requests else {
            return [.refuse(connection: connection, .denied("too many publishers begin at once: try again later"))]
        }
        requests += 1
        let request = IngestRequest(
            request: requests, isPublish: wish.kind == .publish, application: wish.application, name: wish.name,
            query: wish.query, address: address, session: "\(run)-\(requests)",
            isOutput: wish.isOwnClient ? true : nil)
        waiting[requests] = Waiting(request: request, connection: connection, since: now)
        return [.tell(.ask(request))]
    }

    private mutating func relayRequested(
        _ wish: RTMPStreamRequest, by connection: Int, now: Int64
    ) -> [Action] {
        let stream = "\(wish.application.dropFirst(Self.relayApplication.count))/\(wish.name)"
        guard let secret = settings?.secret,
            Self.isSame("\(Self.proofArgument)=\(RTMPRelayProof.text(stream: stream, secret: secret))", wish.query)
        else {
            return [.refuse(connection: connection, .playFailed("only relays of the service play from here"))]
        }
        // A relay may learn of a stream before its publisher is accepted.
        if streams[stream] == nil { patient[connection] = (stream, now.saturatingSum(limits.absence)) }
        return [
            .recognise(connection: connection), .accept(connection: connection),
            .play(stream: stream, connection: connection),
        ]
    }

    /// Compares in constant time, so that the duration reveals nothing.
    private static func isSame(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return zip(one.utf8, other.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Records that a connection no longer publishes, plays or waits for an answer.
    ///
    /// - Parameters:
    ///   - isClean: Whether the client ended the stream itself, so that it will not return.
    ///   - isRefused: Whether the server ended the stream, because it does not support what the client sends. The place of
    ///     such a client is not kept.
    mutating func left(
        _ connection: Int, isClean: Bool, isRefused: Bool = false, reason: String, now: Int64
    ) -> [Action] {
        patient[connection] = nil
        var actions: [Action] = []
        for (number, entry) in waiting where entry.connection == connection {
            waiting[number] = nil
            actions += withdrawal(of: entry.request)
        }
        guard let (name, stream) = streams.first(where: { $0.value.connection == connection }) else { return actions }
        guard !isClean, !isRefused, let grace = settings?.grace, grace > 0 else {
            return actions + end(name, stream, reason, isRefused: isRefused)
        }
        streams[name]?.connection = nil
        streams[name]?.lostAt = now
        streams[name]?.isSending = false
        // A process of this machine has ended: its last picture would stay as if its network had a hiccup.
        actions.append(.tell(.interrupted(stream: name, session: stream.session, reason: reason)))
        return actions + (stream.isWorkers ? [.pause(stream: name)] : [])
    }

    /// The report that nobody waits for the answer to a request any more. Without it, the orchestrator might let in a
    /// publisher that is gone, in the place of one that is connected.
    private func withdrawal(of request: IngestRequest) -> [Action] {
        settings?.withdrawals == true && request.isPublish ? [.tell(.withdrawn(session: request.session))] : []
    }

    private mutating func end(
        _ name: String, _ stream: Stream, _ reason: String, isRefused: Bool = false
    ) -> [Action] {
        streams[name] = nil
        let report = IngestReport.ended(
            stream: name, session: stream.session, reason: reason, isRefused: isRefused ? true : nil)
        return [.tell(report), .end(stream: name)]
    }

    /// Records that audio or video of a stream has arrived.
    ///
    /// - Parameter connection: The connection that has sent it. One that is no longer the stream's publisher does not count.
    mutating func heard(_ name: String, by connection: Int, now: Int64) -> [Action] {
        guard let index = streams.index(forKey: name), streams.values[index].connection == connection else { return [] }
        streams.values[index].heardAt = now
        guard silence != nil, !streams.values[index].isSending else { return [] }
        streams.values[index].isSending = true
        return [.tell(.sending(stream: name, session: streams.values[index].session, isSending: true))]
    }

    // MARK: - Time

    /// Time in ns without audio and video after which a publisher is reported as silent; `nil` = this is not reported.
    private var silence: Int64? { settings?.silence.map { Int64(saturating: $0 * 1e9) } }

    private var grace: Int64 { Int64((settings?.grace ?? 0) * 1e9) }

    /// Time of the next `tick`; `.max` if there is none.
    var deadline: Int64 {
        var next = Int64.max
        for entry in waiting.values { next = min(next, entry.since.saturatingSum(limits.answer)) }
        let silence = silence
        for stream in streams.values {
            if let lostAt = stream.lostAt { next = min(next, lostAt.saturatingSum(grace)) }
            if stream.isSending, let silence { next = min(next, stream.heardAt.saturatingSum(silence)) }
        }
        for wait in patient.values { next = min(next, wait.until) }
        return next
    }

    mutating func tick(now: Int64) -> [Action] {
        var actions: [Action] = []
        for (number, entry) in waiting.sorted(by: { $0.key < $1.key })
        where now >= entry.since.saturatingSum(limits.answer) {
            waiting[number] = nil
            let words =
                isAttended
                ? "the service did not answer within \(limits.answer / 1_000_000_000) s: try again"
                : "the service is not running at the moment: try again"
            actions.append(
                .refuse(connection: entry.connection, Self.status(entry.request, isName: false, words)))
            actions += withdrawal(of: entry.request)
        }
        for (name, stream) in streams where stream.lostAt.map({ now >= $0.saturatingSum(grace) }) ?? false {
            actions += end(name, stream, "did not come back within \(settings?.grace ?? 0) s")
        }
        if let silence { actions += findSilent(after: silence, now: now) }
        for (connection, wait) in patient where now >= wait.until {
            patient[connection] = nil
            actions.append(.refuse(connection: connection, .notFound("this stream is not being published")))
        }
        return actions
    }

    /// Reports the publishers that have sent neither audio nor video for `silence`, in ns.
    private mutating func findSilent(after silence: Int64, now: Int64) -> [Action] {
        var actions: [Action] = []
        for (name, stream) in streams where stream.isSending && now >= stream.heardAt.saturatingSum(silence) {
            streams[name]?.isSending = false
            actions.append(.tell(.sending(stream: name, session: stream.session, isSending: false)))
        }
        return actions
    }
}
