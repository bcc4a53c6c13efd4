import EncodedMedia
import MediaFormats
import RTMP
import Synchronization
import TextFormats

/// The sessions of an RTMP output: the present one and, while its server's request to reconnect is followed, the next one.
/// Performs the actions of `ReconnectMachine`. Thread-safe.
///
/// Sessions are started, stopped and asked inside the lock: all of that happens later, on the loop.
final class RTMPSocketState: Sendable {
    fileprivate struct Next {
        let session: RTMPSession
        let number: Int
        let address: RTMPAddress
    }

    struct State {
        fileprivate var session: RTMPSession?
        /// Number of the present session.
        fileprivate var number = 0
        fileprivate var sessions = 1
        fileprivate var address: RTMPAddress
        /// Tags pushed before the server was ready for them.
        var early: [OutputTag] = []
        var uplink: RTMPUplink?
        /// Number of bytes that the former connections' servers had taken.
        private var takenBefore: Int64 = 0
        /// Number of bytes that the destination had taken at the last check, kept beyond the connection's end.
        private var takenAtEnd: Int64?
        var reading = ReadingWatch()
        var fault: OutputFault?
        var onChange: (@Sendable () -> Void)?

        fileprivate var machine: ReconnectMachine
        fileprivate var request = ReconnectRequest()
        fileprivate var next: Next?
        /// The session that ends, because the next one has taken its place.
        fileprivate var leaving: RTMPSession?
        /// Headers for a connection that begins with the next frame.
        fileprivate var headers: [FLVTag.Role: OutputTag] = [:]
        /// The part of the stream that no connection has got, and the headers at its beginning.
        fileprivate var held: [OutputTag] = []
        fileprivate var headersOfHeld: [FLVTag.Role: OutputTag] = [:]
        /// Fault of a present connection that ended while the stream was held.
        fileprivate var faultOfPresent: OutputFault?

        fileprivate init(_ address: RTMPAddress, _ policy: ReconnectMachine.Policy) {
            self.address = address
            machine = ReconnectMachine(policy: policy)
        }

        /// Number of bytes that wait for the next connection.
        var heldBytes: Int { held.reduce(0) { $0 + $1.size } }

        /// Returns the number of bytes that the destination's machine has acknowledged.
        mutating func taken() -> Int64 { uplink.map { taken(by: $0.connection.progress, $0) } ?? takenBefore }

        mutating func taken(by progress: TCPConnection.Progress, _ uplink: RTMPUplink) -> Int64 {
            let taken = max(takenAtEnd ?? 0, progress.acknowledged - uplink.bytesBefore)
            takenAtEnd = taken
            return takenBefore + taken
        }

        /// Continues on the next connection with what was held, and ends the present one.
        fileprivate mutating func change(to next: Next, _ uplink: RTMPUplink) {
            takenBefore = taken()
            takenAtEnd = nil
            reading = ReadingWatch()
            leaving?.stop()
            leaving = session
            leaving?.dismiss(within: 2)
            (session, number, address) = (next.session, next.number, next.address)
            self.uplink = uplink
            uplink.connection.receive(from: RTMPSocketState.shortestReply)
            self.next = nil
            faultOfPresent = nil
            let roles: [FLVTag.Role] = [.metadata, .sequenceHeader(.video), .sequenceHeader(.audio)]
            let start = held.first?.timestamp ?? 0
            for header in roles.compactMap({ headersOfHeld[$0] }) { uplink.send(header.at(start)) }
            for tag in held { uplink.send(tag) }
            held = []
        }
    }

    /// Number of bytes for which the loop is woken once the server has accepted the stream. It sends an acknowledgement of 16
    /// bytes several times a second, for which every observation looks; a refusal is longer, or ends the connection.
    fileprivate static let shortestReply: Int32 = 128

    private let state: Mutex<State>
    private let limits: Destination.Limits?
    private let trust: TLSContext?
    private let onOutcome: @Sendable (ReconnectOutcome) -> Void

    init(
        _ address: RTMPAddress, limits: Destination.Limits?, trust: TLSContext?, policy: ReconnectMachine.Policy,
        onOutcome: @escaping @Sendable (ReconnectOutcome) -> Void
    ) {
        self.limits = limits
        self.trust = trust
        self.onOutcome = onOutcome
        state = Mutex(State(address, policy))
        let session = makeSession(to: address, number: 0, waits: false)
        state.withLock { $0.session = session }
    }

    /// Calls `body` with the state.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

    /// The present session; `nil` after `stop()`.
    var session: RTMPSession? { state.withLock { $0.session } }

    private func makeSession(to address: RTMPAddress, number: Int, waits: Bool) -> RTMPSession {
        RTMPSession(
            .publish, address, takesReconnectRequests: true, waitsToPublish: waits, limits: limits, trust: trust,
            timeouts: RTMPSocketConnection.timeouts
        ) { [weak self] event in self?.take(event, of: number) }
    }

    // MARK: - The stream

    /// Sends a tag, or keeps it until it can be sent.
    func push(_ tag: OutputTag) {
        let outcomes = state.withLock { state -> [ReconnectOutcome] in
            guard state.fault == nil else { return [] }
            if Self.isHeader(tag) { state.headers[tag.role] = tag }
            guard let uplink = state.uplink else {
                state.early.append(tag)
                return []
            }
            var outcomes: [ReconnectOutcome] = []
            if state.machine.isHolding {
                outcomes = perform(state.machine.tick(at: MonotonicClock.now()), &state)
            } else if state.machine.awaitsBoundary, Self.mayBegin(with: tag, state.headers) {
                outcomes = perform(state.machine.reachedBoundary(at: MonotonicClock.now()), &state)
            }
            if state.machine.isHolding { state.held.append(tag) } else { uplink.send(tag) }
            return outcomes
        }
        tell(outcomes)
    }

    /// Returns whether another connection needs the tag, too: a cue applies to its own time only.
    private static func isHeader(_ tag: OutputTag) -> Bool {
        switch tag.role {
        case .frame: false
        case .sequenceHeader: true
        case .metadata: FLVCue(body: tag.tag.body) == nil
        }
    }

    /// A stream with pictures begins with an IDR, any other with a frame of its sound.
    private static func mayBegin(with tag: OutputTag, _ headers: [FLVTag.Role: OutputTag]) -> Bool {
        tag.isIDR || tag.isFrame && headers[.sequenceHeader(.video)] == nil
    }

    /// Ends a move that takes too long, and begins one that has waited. Call it several times a second.
    func tick(at now: Int64) {
        let outcomes = state.withLock { state -> [ReconnectOutcome] in
            guard state.fault == nil else { return [] }
            return perform(state.machine.tick(at: now), &state)
        }
        tell(outcomes)
    }

    /// Gives up a move, because the output ends. The held part goes to the present connection.
    func endMove() {
        state.withLock { state in
            _ = perform(state.machine.failed("the output ends"), &state)
        }
    }

    /// Ends all sessions at once.
    func stop() {
        let sessions = state.withLock { state -> [RTMPSession?] in
            defer { (state.session, state.next, state.leaving) = (nil, nil, nil) }
            return [state.session, state.next?.session, state.leaving]
        }
        for session in sessions { session?.stop() }
    }

    // MARK: - Events of the sessions, on the loop

    private func take(_ event: RTMPSession.Event, of number: Int) {
        let (onChange, outcomes) = state.withLock { state -> ((@Sendable () -> Void)?, [ReconnectOutcome]) in
            if number == state.number { return takePresent(event, &state) }
            // A session that was left may still say something.
            guard let next = state.next, number == next.number else { return (nil, []) }
            return takeNext(event, next, &state)
        }
        tell(outcomes)
        onChange?()
    }

    private func takePresent(
        _ event: RTMPSession.Event, _ state: inout State
    ) -> ((@Sendable () -> Void)?, [ReconnectOutcome]) {
        switch event {
        case .began(let uplink):
            for tag in state.early { uplink.send(tag) }
            state.early = []
            state.uplink = uplink
            uplink.connection.receive(from: Self.shortestReply)
            return (state.onChange, [])
        case .acknowledged: state.reading.confirmed(state.taken(), at: MonotonicClock.now())
        case .reconnectRequested(let request):
            return (nil, perform(state.machine.requested(request, at: MonotonicClock.now()), &state))
        case .ended(let fault):
            var fault = OutputFault(fault)
            // The address may be one that the server has named.
            fault.words = Self.redaction(of: state.address).clean(fault.words)
            if state.machine.presentEnded() {
                state.faultOfPresent = fault
                break
            }
            state.next?.session.stop()
            state.next = nil
            state.fault = fault
            state.early = []
            return (state.onChange, [])
        case .prepared, .media, .keyframeRequested, .takesKeyframeRequests: break
        }
        return (nil, [])
    }

    private func takeNext(
        _ event: RTMPSession.Event, _ next: Next, _ state: inout State
    ) -> ((@Sendable () -> Void)?, [ReconnectOutcome]) {
        switch event {
        case .prepared: state.machine.prepared()
        case .began(let uplink):
            guard state.machine.began() else { break }
            let outcome = ReconnectOutcome.moved(to: next.address, state.request) { clean($0, state) }
            state.change(to: next, uplink)
            return (state.onChange, [outcome])
        case .ended(let fault):
            let outcomes = perform(state.machine.failed(fault.words), &state)
            return (state.fault == nil ? nil : state.onChange, outcomes)
        case .acknowledged, .reconnectRequested, .media, .keyframeRequested, .takesKeyframeRequests: break
        }
        return (nil, [])
    }

    // MARK: - Actions

    private func perform(_ actions: [ReconnectMachine.Action], _ state: inout State) -> [ReconnectOutcome] {
        var outcomes: [ReconnectOutcome] = []
        for action in actions {
            switch action {
            case .prepare(let request): outcomes += prepare(request, &state)
            case .publish:
                state.headersOfHeld = state.headers
                state.next?.session.publish()
            case .stay(let reason): outcomes.append(stay(reason, &state))
            }
        }
        return outcomes
    }

    private func prepare(_ request: ReconnectRequest, _ state: inout State) -> [ReconnectOutcome] {
        // Nothing would end a session that is created after `stop()`.
        guard state.session != nil else { return [] }
        state.request = request
        do throws(RTMPAddress.Refusal) {
            let address = try state.address.following(request.target)
            let session = makeSession(to: address, number: state.sessions, waits: true)
            state.next = Next(session: session, number: state.sessions, address: address)
            state.sessions += 1
            session.start()
            return []
        } catch {
            return perform(state.machine.failed(error.description), &state)
        }
    }

    /// Reports results, but not from within a call: the owner may make it with a lock of its own, which it needs to take them.
    private func tell(_ outcomes: [ReconnectOutcome]) {
        guard !outcomes.isEmpty else { return }
        SocketLoop.shared.perform { [onOutcome] in
            for outcome in outcomes { onOutcome(outcome) }
        }
    }

    private func stay(_ reason: String, _ state: inout State) -> ReconnectOutcome {
        let outcome = ReconnectOutcome.stays(reason, at: state.next?.address, state.request) { clean($0, state) }
        state.next?.session.stop()
        state.next = nil
        if let fault = state.faultOfPresent {
            state.fault = fault
        } else if let uplink = state.uplink {
            for tag in state.held { uplink.send(tag) }
        }
        state.faultOfPresent = nil
        state.held = []
        return outcome
    }

    private static func redaction(of address: RTMPAddress) -> URLRedaction {
        URLRedaction("\(address.connectURL)/\(address.stream)")
    }

    /// Removes the secrets of the present and of the next address.
    private func clean(_ text: String, _ state: State) -> String {
        let text = Self.redaction(of: state.address).clean(text)
        return state.next.map { Self.redaction(of: $0.address).clean(text) } ?? text
    }
}
