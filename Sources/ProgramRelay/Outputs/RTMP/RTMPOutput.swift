import EncodedMedia
import Glibc
import MediaFormats
import MixModel
import ProgramSplicer
import RTMP
import Synchronization
import TextFormats

/// One RTMP destination, with its queue, its connection and its reconnects.
///
/// Nothing here waits for the network: `send` appends to a bounded queue, and a destination that is too slow loses
/// whole groups of pictures of its own. One task per destination looks after the connection until `stop()` or
/// `close()`; the owner has to call one of them.
public final class RTMPOutput: Sendable {
    public let id: OutputID

    private struct State {
        var machine: OutputMachine
        var queue: OutputQueue
        var connection: (any OutputConnection)?
        var connectedSince: Double?
        /// Bytes taken by earlier connections.
        var bytesBefore: Int64 = 0
        var runner: Task<Void, Never>?
        var isClosing = false
        var isAskedToRetry = false
        /// Ends the wait for the next look.
        var wake: AsyncStream<Void>.Continuation?

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
    /// Time between two looks at a connection: `close` while it is being made or is behind, `calm` while it keeps up.
    private static let interval = (close: Duration.milliseconds(100), calm: Duration.milliseconds(250))

    /// Creates a connection from the URL, with a name for logs. Throws if a later attempt cannot help.
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

    /// Creates an output, which begins to connect at once.
    /// - Parameters:
    ///   - reach: Addresses that its connections may go to; `nil` = any.
    ///   - preamble: Headers of the program so far, and perhaps its current group of pictures.
    ///   - onChange: Called when `status.state` has changed, from any thread. Must return at once.
    public convenience init(
        _ planned: PushDestination, reach: Reach? = nil, preamble: [FLVTag],
        onChange: @escaping @Sendable () -> Void = {}
    ) {
        self.init(planned, reach: reach, preamble: preamble, policy: OutputMachine.Policy(), onChange: onChange)
    }

    init(
        _ planned: PushDestination, reach: Reach? = nil, preamble: [FLVTag], policy: OutputMachine.Policy,
        limits: OutputQueue.Limits = OutputQueue.Limits(), onChange: @escaping @Sendable () -> Void = {},
        connect: @escaping Connect = RTMPOutput.makeConnection
    ) {
        id = planned.id
        url = planned.url
        placeLimits = reach.map { Destination.Limits(reach: $0, setting: "outputs.allow") }
        makeConnection = connect
        redaction = URLRedaction(planned.url)
        self.onChange = onChange
        let queue = OutputQueue(limits: limits, preamble: preamble.map(OutputTag.init))
        state = Mutex(State(machine: OutputMachine(policy: policy, retry: planned.retry), queue: queue))
        state.withLock { $0.runner = Task { await self.run() } }
    }

    /// Queues tags of the program, in order. Never waits.
    public func send(_ tags: [FLVTag]) { send(shared: tags.map(OutputTag.init)) }

    /// Queues tags that are shared with other destinations. Never waits.
    public func send(shared tags: [OutputTag]) {
        state.withLock { state in
            guard !state.isClosing else { return }
            for tag in tags { state.queue.append(tag) }
            Self.pump(&state)
        }
    }

    /// Sets the limits after which the destination is given up.
    public func setRetry(_ retry: OutputRetry?) { state.withLock { $0.machine.retry = retry } }

    /// Tries at once if the output waits for its next attempt or was given up.
    public func retryNow() {
        state.withLock { state in
            guard !state.isClosing else { return }
            state.isAskedToRetry = true
            state.wake?.finish()
        }
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

    /// Frames that this destination lost because it was too slow or away.
    public var droppedFrames: Int { state.withLock { $0.queue.droppedFrames } }

    /// Begins to close and returns at once.
    public func stop() {
        state.withLock { state in
            state.isClosing = true
            state.runner?.cancel()
        }
    }

    /// Sends what is queued, ends the stream properly and closes. Takes at most 4 s, with or without the server's help.
    public func close() async {
        stop()
        await state.withLock { $0.runner }?.value
    }

    // MARK: - The connection's life

    private func run() async {
        await perform(state.withLock { $0.machine.start(at: MonotonicClock.now()) })
        while !Task.isCancelled {
            await pause()
            if Task.isCancelled { break }
            let (actions, isNew) = state.withLock { state in
                let before = state.outside
                return (look(&state), state.outside != before)
            }
            await perform(actions)
            if isNew { onChange() }
        }
        await finish()
    }

    /// Waits until the next look is due or a retry is requested.
    private func pause() async {
        let (waker, wake) = AsyncStream.makeStream(of: Void.self)
        let (interval, isIdle) = state.withLock { state -> (Duration, Bool) in
            if state.isAskedToRetry { return (.zero, false) }
            state.wake = wake
            if let deadline = state.machine.deadline {
                return (.nanoseconds(max(0, deadline - MonotonicClock.now())), true)
            }
            if state.machine.state == .failed { return (.seconds(3600), true) }
            return (state.isCalm ? Self.interval.calm : Self.interval.close, false)
        }
        // Cancelled by `stop()`: then the loop ends.
        guard isIdle else {
            try? await Task.sleep(for: interval)
            return
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: interval) }
            group.addTask { for await _ in waker {} }
            await group.next()
            group.cancelAll()
        }
    }

    private func look(_ state: inout State) -> [OutputMachine.Action] {
        Self.pump(&state)
        let now = MonotonicClock.now()
        let wasLive = state.isLive
        var actions = state.machine.observe(observation(of: state), at: now, jitter: Double.random(in: 0...1))
        if state.isAskedToRetry {
            state.isAskedToRetry = false
            actions += state.machine.retryNow(at: now)
        }
        if state.isLive != wasLive { state.connectedSince = state.isLive ? wallClock() : nil }
        if state.isLive { state.queue.confirm() }
        return actions
    }

    private func observation(of state: borrowing State) -> OutputMachine.Observation {
        guard let connection = state.connection else { return OutputMachine.Observation() }
        return OutputMachine.Observation(
            hasBegun: connection.hasBegun, taken: connection.taken, isWaiting: connection.isWaiting,
            silentSince: connection.silentSince,
            fault: connection.fault.map { OutputFault($0.code, redaction.clean($0.words)) })
    }

    private func perform(_ actions: [OutputMachine.Action]) async {
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
                await connect()
            }
        }
    }

    private func connect() async {
        do {
            let connection = try makeConnection(url, placeLimits, "output-\(id)")
            await connection.open()
            state.withLock { state in
                state.connection = connection
                Self.pump(&state)
            }
        } catch {
            let code: OutputErrorCode = error is RTMPError ? .badURL : .protocolError
            state.withLock { $0.machine.fail(OutputFault(code, redaction.clean("\(error)"))) }
        }
    }

    @Sendable
    private static func makeConnection(
        _ url: String, _ limits: Destination.Limits?, _ name: String
    ) throws -> any OutputConnection {
        // Only `rtmp2sink` implements Adobe's authentication.
        if RTMPAddress.hasCredentials(url) {
            return try RTMPConnection(url: url, limits: limits, name: name)
        }
        return try RTMPSocketConnection(url: url, limits: limits)
    }

    /// Moves tags from the queue into the connection as far as its window is open.
    private static func pump(_ state: inout State) {
        guard let connection = state.connection else { return }
        let room = window - connection.waiting
        guard room > 0, !state.queue.isEmpty else { return }
        for tag in state.queue.take(room) { connection.push(tag) }
    }

    /// Sends what is left within a bounded time, and closes the connection.
    private func finish() async {
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
