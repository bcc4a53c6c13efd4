import EncodedMedia
import Glibc
import MediaFormats
import MixModel
import ProgramSplicer
import RTMP
import Synchronization
import TextFormats

/// A destination with a URL: its queue, its connection and its reconnects. The kind of output creates the connection.
///
/// Nothing here waits for the network: `send` appends to a bounded queue, and a destination that is too slow loses
/// whole groups of pictures of its own. The connection is checked on the socket loop, when it has changed and when
/// something is due, until `stop()` or `close()`; the owner must call one of them.
public final class DestinationOutput: Sendable {
    public let id: OutputID

    private struct State {
        var machine: OutputMachine
        var queue: OutputQueue
        var connection: (any OutputConnection)?
        var connectedSince: Double?
        /// Number of bytes that earlier connections have taken.
        var bytesBefore: Int64 = 0
        /// Upper bound of the bytes that wait inside the connection: those at the last query, plus those pushed since
        /// then.
        var mostWaiting = 0
        /// Creates the next connection.
        var opening: Task<Void, Never>?
        /// Closes the last one.
        var ending: Task<Void, Never>?
        var isClosing = false
        var isAskedToRetry = false
        /// Time of CLOCK_MONOTONIC, in ns, from which the next tag also causes a check.
        var nextLook = Int64.max
        /// State for which `onChange` was last called.
        var reported = DestinationStatus.State.connecting

        var isLive: Bool {
            if case .live = machine.state { true } else { false }
        }

        var isCalm: Bool { isLive && queue.isEmpty }

        /// The destination's state as the API shows it.
        var outside: DestinationStatus.State {
            switch machine.state {
            case .idle: .connecting
            case .connecting: machine.lastFault == nil ? .connecting : .recovering
            case .live: .live
            case .waiting: .recovering
            case .failed, .stopped: .failed
            }
        }
    }

    /// Bytes that may wait inside the connection. Further ones wait in the queue, where they can be dropped.
    private static let window = 128 << 10
    /// Number of bytes up to which a connection is not queried for its waiting bytes, because a query costs as much as
    /// sending a tag.
    private static let unasked = window / 2
    /// Time in ns between two checks of a connection: `close` while it is being established or is behind, `calm` while
    /// it keeps up, `idle` while there is also no program to send and the connection reports its end by itself.
    private static let interval = (close: Int64(100_000_000), calm: Int64(250_000_000), idle: Int64(1_000_000_000))

    /// Creates a connection from the URL, with a name for logs. Throws if a later attempt cannot succeed either.
    typealias Connect =
        @Sendable (
            _ url: String, _ limits: Destination.Limits?, _ name: String
        ) throws -> any OutputConnection

    let url: String
    private let placeLimits: Destination.Limits?
    private let makeConnection: Connect
    private let redaction: URLRedaction
    private let onChange: @Sendable () -> Void
    private let state: Mutex<State>
    private let deadline = LoopDeadline()

    /// Creates an RTMP output, which begins to connect at once.
    /// - Parameters:
    ///   - reach: Addresses to which its connections may go; `nil` allows any.
    ///   - preamble: Headers of the program so far, and possibly its current group of pictures.
    ///   - onChange: Called when `status.state` has changed, from any thread. Must return at once.
    public convenience init(
        _ planned: PushDestination, reach: Reach? = nil, preamble: [FLVTag],
        onChange: @escaping @Sendable () -> Void = {}
    ) {
        self.init(planned, reach: reach, preamble: preamble, onChange: onChange, connect: RTMPOutput.makeConnection)
    }

    /// Creates an output, which begins to connect at once.
    /// - Parameters:
    ///   - policy: Delays and limits of reconnects.
    ///   - limits: Limits of the media that waits for the connection.
    ///   - connect: Creates each connection.
    init(
        _ planned: PushDestination, reach: Reach? = nil, preamble: [FLVTag],
        policy: OutputMachine.Policy = OutputMachine.Policy(),
        limits: OutputQueue.Limits = OutputQueue.Limits(), onChange: @escaping @Sendable () -> Void = {},
        connect: @escaping Connect
    ) {
        id = planned.id
        url = planned.url
        placeLimits = reach.map { Destination.Limits(reach: $0, setting: "outputs.allow") }
        makeConnection = connect
        redaction = URLRedaction(planned.url)
        self.onChange = onChange
        let queue = OutputQueue(limits: limits, preamble: preamble.map(OutputTag.init))
        state = Mutex(State(machine: OutputMachine(policy: policy, retry: planned.retry), queue: queue))
        deadline.begin { [weak self] in self?.look() }
        perform(state.withLock { $0.machine.start(at: MonotonicClock.now()) })
    }

    /// Queues tags of the program, in order. Never waits.
    public func send(_ tags: [FLVTag]) { send(shared: tags.map(OutputTag.init)) }

    /// Queues tags that are shared with other destinations. Never waits.
    public func send(shared tags: [OutputTag]) {
        let now = MonotonicClock.now()
        let isLookDue = state.withLock { state in
            guard !state.isClosing else { return false }
            for tag in tags { state.queue.append(tag) }
            Self.pump(&state)
            return now >= state.nextLook
        }
        if isLookDue { SocketLoop.shared.run { [weak self] in self?.look() } }
    }

    /// Sets the limits after which the destination is given up.
    public func setRetry(_ retry: OutputRetry?) { state.withLock { $0.machine.retry = retry } }

    /// Retries at once if the output waits for its next attempt or was given up.
    public func retryNow() {
        state.withLock { state in
            guard !state.isClosing else { return }
            state.isAskedToRetry = true
        }
        SocketLoop.shared.perform { [weak self] in self?.look() }
    }

    /// The output's state for the API. Bytes count as sent when the connection has taken them.
    public var status: DestinationStatus {
        state.withLock { state in
            DestinationStatus(
                id: id, state: state.outside, connectedSince: state.connectedSince,
                reconnects: state.machine.reconnects, bytesSent: state.bytesBefore + (state.connection?.taken ?? 0),
                lastError: state.machine.lastFault?.words, lastErrorCode: state.machine.lastFault?.code,
                droppedFrames: state.queue.droppedFrames)
        }
    }

    /// Whether an attempt is under way.
    var hasConnection: Bool { state.withLock { $0.connection != nil } }

    /// Number of frames that this destination lost because it was too slow or unreachable.
    public var droppedFrames: Int { state.withLock { $0.queue.droppedFrames } }

    /// Begins to close and returns at once.
    public func stop() {
        state.withLock { state in
            guard !state.isClosing else { return }
            state.isClosing = true
            state.ending = Task { await self.finish() }
        }
    }

    /// Sends the queued tags, ends the stream properly and closes. Takes at most 4 s, with or without the server's
    /// help.
    public func close() async {
        stop()
        await state.withLock { $0.ending }?.value
    }

    // MARK: - The connection's life, on the loop

    /// Lets the machine observe the connection, and performs its decisions.
    private func look() {
        let actions = state.withLock { state -> [OutputMachine.Action] in
            // A connection that is being opened is observed once it is open.
            guard !state.isClosing, state.opening == nil else { return [] }
            Self.pump(&state)
            let now = MonotonicClock.now()
            let wasLive = state.isLive
            var actions = state.machine.observe(
                observation(of: state, at: now), at: now, jitter: Double.random(in: 0...1))
            if state.isAskedToRetry {
                state.isAskedToRetry = false
                actions += state.machine.retryNow(at: now)
            }
            if state.isLive != wasLive { state.connectedSince = state.isLive ? wallClock() : nil }
            if state.isLive { state.queue.confirm() }
            return actions
        }
        perform(actions)
        let isNew = state.withLock { state in
            defer { state.reported = state.outside }
            return state.outside != state.reported
        }
        schedule()
        if isNew { onChange() }
    }

    /// Sets the time of the next check. While the program flows, checks accompany its tags, so that the loop is not
    /// woken for them.
    private func schedule() {
        let deadline = state.withLock { state -> Int64 in
            state.nextLook = .max
            guard !state.isClosing, state.opening == nil else { return .max }
            if let deadline = state.machine.deadline { return deadline }
            guard let connection = state.connection else { return .max }
            let now = MonotonicClock.now()
            state.nextLook = now + (state.isCalm ? Self.interval.calm : Self.interval.close)
            return state.isCalm && connection.tellsChanges ? now + Self.interval.idle : state.nextLook
        }
        self.deadline.set(deadline)
    }

    private func observation(of state: borrowing State, at now: Int64) -> OutputMachine.Observation {
        guard var seen = state.connection?.observe(at: now) else { return OutputMachine.Observation() }
        seen.fault = seen.fault.map { OutputFault($0.code, redaction.clean($0.words)) }
        return seen
    }

    private func perform(_ actions: [OutputMachine.Action]) {
        for action in actions {
            switch action {
            case .abandon:
                state.withLock { state in
                    state.bytesBefore += state.connection?.taken ?? 0
                    state.connection?.abandon()
                    state.connection = nil
                    state.queue.restart()
                }
            case .connect:
                // Not on the loop: an element may take long. `finish()` waits for it.
                state.withLock { $0.opening = Task { await self.connect() } }
            }
        }
    }

    private func connect() async {
        let result: Result<any OutputConnection, any Error>
        do {
            let connection = try makeConnection(url, placeLimits, "output-\(id)")
            await connection.open { [weak self] in self?.look() }
            result = .success(connection)
        } catch {
            result = .failure(error)
        }
        state.withLock { state in
            state.opening = nil
            switch result {
            case .success(let connection):
                state.connection = connection
                state.mostWaiting = 0
                Self.pump(&state)
            case .failure(let error):
                // The description of a bad URL contains no part of it.
                let fault =
                    (error as? PullEnd).map { OutputFault(.badURL, $0.words) }
                    ?? OutputFault(error is RTMPError ? .badURL : .protocolError, redaction.clean("\(error)"))
                state.machine.fail(fault)
            }
        }
        SocketLoop.shared.perform { self.look() }
    }

    /// Moves tags from the queue into the connection as far as its window is open.
    private static func pump(_ state: inout State) {
        guard let connection = state.connection, !state.queue.isEmpty else { return }
        if state.mostWaiting > unasked { state.mostWaiting = connection.waiting }
        let room = window - state.mostWaiting
        guard room > 0 else { return }
        for tag in state.queue.take(room) {
            connection.push(tag)
            state.mostWaiting += tag.size
        }
    }

    /// Sends the remaining tags within a bounded time, and closes the connection.
    private func finish() async {
        deadline.end()
        await state.withLock { $0.opening }?.value
        let connection = state.withLock { state -> (any OutputConnection)? in
            _ = state.machine.stop()
            state.connectedSince = nil
            defer { state.connection = nil }
            guard let connection = state.connection else { return nil }
            for tag in state.queue.take(.max) { connection.push(tag) }
            return connection
        }
        guard let connection else { return }
        await connection.close()
        state.withLock { $0.bytesBefore += connection.taken }
    }

    private func wallClock() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

extension DestinationOutput: ProgramOutput {
    /// Accepts changed limits on retries. Another URL is another output.
    func adopt(_ planned: PlannedOutput) -> Bool {
        guard let destination = planned.document as? PushDestination, destination.url.hasSameUTF8(as: url) else {
            return false
        }
        setRetry(destination.retry)
        return true
    }

    var statuses: [OutputStatus] { [OutputStatus(status)] }
}
