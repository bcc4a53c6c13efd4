import Dispatch
import EncodedMedia

/// An RTMP connection: its socket, the client that speaks over it, and its deadlines.
///
/// `@unchecked Sendable`: all state belongs to the loop; `start()`, `stop()` and `close()` may be called from any
/// thread. The code that starts a session stops it.
package final class RTMPSession: @unchecked Sendable {
    package enum Event: Sendable {
        /// A session that waits to publish is ready for `publish()`.
        case prepared
        /// The server plays the stream, or accepts a published one, whose tags go to the uplink.
        case began(RTMPUplink)
        /// The audio, video and script messages that one read completed, and the time of the read in ns of
        /// CLOCK_MONOTONIC.
        case media([RTMPMessage], arrivedAt: Int64)
        /// The server has acknowledged more bytes; once for all acknowledgements that one read completed.
        case acknowledged
        /// A player of the published stream needs a keyframe. Occurs only if the session was created to accept such
        /// requests.
        case keyframeRequested
        /// The server forwards requests for keyframes to the publisher: `requestKeyframe()` has an effect.
        case takesKeyframeRequests
        /// The server of the published stream asks the client to reconnect. Occurs only if the session was created to
        /// accept such requests.
        case reconnectRequested(ReconnectRequest)
        /// The last event.
        case ended(ConnectionFault)
    }

    /// Timeouts in whole seconds.
    package struct Timeouts: Hashable, Sendable {
        /// Timeout of each step in establishing the connection, except the last.
        package var step = 5
        /// Timeout without media; 0 means no limit.
        package var idle = 15
        /// Timeout of the answer to play or publish, before which a server may ask others.
        package var start: Int

        /// - Parameter start: `nil` means that of every step.
        package init(step: Int = 5, idle: Int = 15, start: Int? = nil) {
            self.step = step
            self.idle = idle
            self.start = start ?? step
        }

        func limit(of step: RTMPClient.Step) -> Int {
            switch step {
            case .handshake, .connect, .createStream: self.step
            case .prepared: 0
            case .start: start
            case .running, .ended: idle
            }
        }
    }

    /// Limit in bytes of responses waiting for a server that does not read them.
    private static let longestOutbox = 1 << 20

    private let loop = SocketLoop.shared
    private let onEvent: @Sendable (Event) -> Void
    private let timeouts: Timeouts
    private let limits: Destination.Limits?
    /// Trusted certificates of a secure connection; `nil` uses those of the system.
    private let trust: TLSContext?
    private let system: @Sendable () -> TLSContext
    private var client: RTMPClient
    private var connection: TCPConnection?
    private var backlog = AnswerBacklog()
    private var timer: SocketLoop.Watch?
    private var hasFrames = false
    private var farewell: Farewell?
    private var isOver = false

    /// - Parameters:
    ///   - limits: Addresses to which the connection may go; `nil` allows all.
    ///   - takesKeyframeRequests: Whether the server of a published stream may ask for keyframes.
    ///   - takesReconnectRequests: Whether the server of a published stream may ask to reconnect.
    ///   - waitsToPublish: Whether the stream is published only once `publish()` is called. The owner limits the wait.
    ///   - trust: Trusted certificates if the address is `rtmps`; `nil` uses those of the system.
    ///   - onEvent: Called on the loop, one event after another; must return at once.
    ///   - system: Returns the system's certificates. Not called on the loop, because reading them blocks.
    package init(
        _ purpose: RTMPClient.Purpose, _ address: RTMPAddress, takesKeyframeRequests: Bool = false,
        takesReconnectRequests: Bool = false, waitsToPublish: Bool = false, limits: Destination.Limits?,
        trust: TLSContext? = nil, timeouts: Timeouts,
        onEvent: @escaping @Sendable (Event) -> Void, system: @escaping @Sendable () -> TLSContext = { .system }
    ) {
        var random = SystemRandomNumberGenerator()
        client = RTMPClient(
            purpose, address, takesKeyframeRequests: takesKeyframeRequests,
            takesReconnectRequests: takesReconnectRequests, waitsToPublish: waitsToPublish, using: &random)
        self.timeouts = timeouts
        self.limits = limits
        self.trust = trust
        self.system = system
        self.onEvent = onEvent
    }

    /// Begins to connect and returns at once.
    package func start() {
        loop.perform { [self] in
            guard !isOver, timer == nil else { return }
            let timer = SocketLoop.Watch(onReady: {}, onDeadline: { [weak self] in self?.deadlinePassed() })
            self.timer = timer
            loop.add(timer)
            guard client.address.isSecure else { return connect(tls: nil) }
            if let trust { return connect(tls: trust) }
            DispatchQueue.global().async { [self] in
                let certificates = system()
                loop.perform { [self] in connect(tls: certificates) }
            }
        }
    }

    /// Ends the connection without an event, and returns at once. Idempotent.
    package func stop() {
        loop.perform { [self] in finish() }
    }

    /// Ends the connection like `stop()`, and waits until it is closed.
    package func close() async {
        await withCheckedContinuation { continuation in
            loop.perform { [self] in
                finish()
                continuation.resume()
            }
        }
    }

    /// Sends the queued bytes, tells the server that the stream is over, and closes, all within `limit` seconds. A
    /// stream that has not begun has that time to begin.
    package func finish(within limit: Double) async {
        await withCheckedContinuation { bidFarewell(within: limit, $0) }
    }

    /// Does the same as `finish(within:)`, but returns at once. The caller keeps the session for that time.
    package func dismiss(within limit: Double) { bidFarewell(within: limit, nil) }

    private func bidFarewell(within limit: Double, _ continuation: CheckedContinuation<Void, Never>?) {
        loop.perform { [self] in
            guard !isOver, timer != nil, farewell == nil else {
                finish()
                continuation?.resume()
                return
            }
            farewell = Farewell(end: MonotonicClock.now() + Int64(limit * 1e9), continuation: continuation)
            if client.step == .running { leave() } else { timer?.deadline = farewell?.end ?? 0 }
        }
    }

    /// Publishes the stream of a session that waits to publish. Returns at once.
    package func publish() {
        loop.perform { [self] in
            guard !isOver, client.step == .prepared else { return }
            client.publish()
            connection?.send(client.takeOutput())
            expect(within: timeouts.limit(of: client.step))
        }
    }

    /// Asks for a keyframe of the stream being played, if the server accepts such requests. Returns at once.
    package func requestKeyframe() {
        loop.run { [self] in
            guard !isOver, let connection else { return }
            client.requestKeyframe()
            connection.send(client.takeOutput())
        }
    }

    // MARK: - On the loop

    private struct Farewell {
        let end: Int64
        let continuation: CheckedContinuation<Void, Never>?
        /// Whether everything has been passed to the connection.
        var isSaid = false
    }

    private func connect(tls: TLSContext?) {
        guard !isOver else { return }
        let connection = TCPConnection(
            Destination(
                scheme: tls == nil ? "rtmp" : "rtmps", host: client.address.host, port: client.address.port,
                limits: limits),
            tls: tls, loop: loop, timeout: timeouts.step
        ) { [weak self] event in self?.take(event) }
        self.connection = connection
        connection.open()
    }

    private func leave() {
        client.leave()
        connection?.send(client.takeOutput())
        connection?.finish()
        farewell?.isSaid = true
        awaitFarewell()
    }

    /// Finishes once the server has acknowledged everything. No event reports that, so it is polled every 10 ms.
    private func awaitFarewell() {
        guard let farewell, farewell.isSaid, MonotonicClock.now() < farewell.end, let progress = connection?.progress,
            progress.waiting + progress.unacknowledged > 0
        else { return finish() }
        timer?.deadline = MonotonicClock.now() + 10_000_000
    }

    private func take(_ event: TCPConnection.Event) {
        switch event {
        case .connected:
            expect(within: timeouts.step)
            connection?.send(client.takeOutput())
        case .received(let bytes, let arrival): read(bytes, arrival)
        case .ended(let fault): end(with: fault ?? faultOfClosing)
        }
    }

    private func read(_ bytes: ArraySlice<UInt8>, _ arrival: Int64) {
        let before = client.step
        let couldAsk = client.takesKeyframeRequests
        var messages: [RTMPMessage] = []
        var isAcknowledged = false
        for event in client.read(bytes) {
            switch event {
            case .prepared: onEvent(.prepared)
            case .began: begin()
            case .media(let message): messages.append(message)
            case .acknowledged: isAcknowledged = true
            case .keyframeRequested: onEvent(.keyframeRequested)
            case .reconnectRequested(let request): onEvent(.reconnectRequested(request))
            case .ended(let error):
                take(messages, arrival)
                return end(with: ConnectionFault(error))
            }
        }
        take(messages, arrival)
        if isAcknowledged { onEvent(.acknowledged) }
        if client.takesKeyframeRequests, !couldAsk { onEvent(.takesKeyframeRequests) }
        guard !isOver, let connection else { return }
        let answers = client.takeOutput()
        if !answers.isEmpty {
            connection.send(answers)
            guard waitingAnswers(answers.count, connection) <= Self.longestOutbox else {
                return end(with: ConnectionFault(.lost, "the server does not read responses"))
            }
        }
        guard client.step != before else { return }
        expect(within: timeouts.limit(of: client.step))
    }

    /// Returns the number of bytes of responses that wait, after `count` further ones. A publisher's media wait in the
    /// same connection, within limits of their own.
    private func waitingAnswers(_ count: Int, _ connection: TCPConnection) -> Int {
        guard client.purpose == .publish else { return connection.waiting }
        backlog.add(count, connection.progress)
        return backlog.bytes
    }

    private func begin() {
        guard let connection else { return }
        // No other bytes are sent between the last command and the stream.
        connection.send(client.takeOutput())
        let progress = connection.progress
        onEvent(
            .began(
                RTMPUplink(
                    connection: connection, stream: client.stream, writer: client.writer,
                    bytesBefore: progress.acknowledged + Int64(progress.unacknowledged + progress.waiting))))
        if farewell != nil { leave() }
    }

    private func take(_ messages: [RTMPMessage], _ arrival: Int64) {
        guard !messages.isEmpty else { return }
        if !hasFrames { hasFrames = messages.contains { $0.kind != .script } }
        expect(within: timeouts.idle)
        onEvent(.media(messages, arrivedAt: arrival))
    }

    private func expect(within seconds: Int) {
        guard farewell == nil else { return }
        timer?.deadline = seconds > 0 ? MonotonicClock.now() + Int64(seconds) * 1_000_000_000 : .max
    }

    private func deadlinePassed() {
        guard !isOver else { return }
        if farewell != nil { return awaitFarewell() }
        if client.step < .running, !hasFrames {
            let words = "timed out: no answer to \(client.step.words) within \(timeouts.limit(of: client.step)) s"
            end(with: ConnectionFault(.timedOut, words))
        } else {
            end(
                with: hasFrames
                    ? ConnectionFault(.timedOut, "nothing received for \(timeouts.idle) s")
                    : ConnectionFault(.ended, ConnectionFault.endOfStream))
        }
    }

    /// nginx-rtmp and others refuse by closing the connection, so the last request shows what they refuse.
    private var faultOfClosing: ConnectionFault {
        let words = "the server closed the connection"
        return switch (client.step, client.purpose) {
        case (.connect, _):
            ConnectionFault(
                .applicationRefused, "\(words): is there an application \(client.address.application)?")
        case (.start, .publish):
            ConnectionFault(.streamRefused, "\(words) instead of accepting the stream: is the stream key correct?")
        case (.running, .play): ConnectionFault(.ended, ConnectionFault.endOfStream)
        case (.running, .publish): ConnectionFault(.lost, words)
        default: ConnectionFault(.lost, "\(words) during \(client.step.words)")
        }
    }

    private func end(with fault: ConnectionFault) {
        guard !isOver else { return }
        let isFarewell = farewell != nil
        finish()
        // A caller of `finish(within:)` does not need the event.
        if !isFarewell { onEvent(.ended(fault)) }
    }

    private func finish() {
        isOver = true
        connection?.close()
        connection = nil
        if let timer { loop.remove(timer) }
        timer = nil
        farewell?.continuation?.resume()
        farewell = nil
    }
}

extension RTMPClient.Step {
    fileprivate var words: String {
        switch self {
        case .handshake: "the handshake"
        case .connect: "connect"
        case .createStream: "createStream"
        case .prepared: "the wait for publish"
        case .start: "play or publish"
        case .running, .ended: "the stream"
        }
    }
}
