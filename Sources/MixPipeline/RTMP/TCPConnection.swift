import Dispatch
import Foundation
import Synchronization

/// A TCP connection to a server, with or without TLS, read and written without ever blocking.
///
/// `@unchecked Sendable`: all state but `outgoing`, which locks itself, belongs to the loop. There every event comes,
/// and there every method has to be called that does not say otherwise. Whoever opens it closes it.
final class TCPConnection: @unchecked Sendable {
    enum Event {
        /// With TLS: the server is the one that was meant.
        case connected
        /// The bytes are good for the time of the call; the time is in ns of CLOCK_MONOTONIC.
        case received(ArraySlice<UInt8>, arrivedAt: Int64)
        /// The last event, not after `close()`. `nil`: the server closed.
        case ended(ConnectionFault?)
    }

    private static let tcp = Int32(IPPROTO_TCP)

    private let destination: Destination
    private let loop: SocketLoop
    /// In ns.
    private let timeout: Int64
    private let onEvent: (Event) -> Void
    private var watch: SocketLoop.Watch?
    private var dialler: TCPDialler?
    private var isResolving = false
    private var isConnected = false
    private var isOver = false
    /// −1: none.
    private var descriptor: Int32 = -1
    private var buffer: [UInt8] = []
    private let outgoing: Mutex<Outgoing>
    /// Bytes go through TLS, which has not begun to work yet.
    private var isShakingHands: Bool

    /// - Parameters:
    ///   - destination: Its host is looked up when the connection is opened.
    ///   - tls: Whose certificates are believed; `nil` = no TLS.
    ///   - timeout: For resolving the name, for each of its addresses and for TLS's handshake, in seconds.
    ///   - onEvent: Called on the loop.
    init(
        _ destination: Destination, tls: TLSContext? = nil, loop: SocketLoop, timeout: Int,
        onEvent: @escaping (Event) -> Void
    ) {
        self.destination = destination
        isShakingHands = tls != nil
        outgoing = Mutex(Outgoing(tls: tls.map { TLSSession($0, host: destination.target.host) }))
        self.loop = loop
        self.timeout = Int64(timeout) * 1_000_000_000
        self.onEvent = onEvent
    }

    deinit { drop() }

    /// Resolves the name and tries its addresses one after another.
    func open() {
        do throws(Destination.Unreachable) {
            if let addresses = try destination.numericAddresses() { return open(trying: addresses) }
        } catch {
            return refuse(error)
        }
        let watch = makeWatch()
        isResolving = true
        watch.deadline = MonotonicClock.now + timeout
        // Not on the loop: a name server that does not answer holds the thread for many seconds.
        DispatchQueue.global().async { [weak self, destination, loop] in
            let result = Result { () throws(Destination.Unreachable) in try destination.addresses() }
            loop.perform { [weak self] in self?.resolved(result) }
        }
    }

    /// Tries these addresses of the host; see `TCPDialler`.
    func open(trying addresses: [SocketAddress]) {
        if watch == nil { _ = makeWatch() }
        watch?.deadline = .max
        let dialler = TCPDialler(loop: loop, timeout: timeout) { [weak self, loop] result in
            // Not from within `open()`: whoever calls it does not know the connection yet.
            loop.perform { [weak self] in
                if let self { return self.dialled(result) }
                if case .success(let descriptor) = result { Foundation.close(descriptor) }
            }
        }
        self.dialler = dialler
        dialler.dial(addresses)
    }

    private func makeWatch() -> SocketLoop.Watch {
        let watch = SocketLoop.Watch(
            onReady: { [weak self] in self?.ready() }, onDeadline: { [weak self] in self?.timedOut() })
        self.watch = watch
        loop.add(watch)
        return watch
    }

    /// Lets go of the socket. What was not sent is lost. Idempotent.
    func close() {
        isOver = true
        dialler?.stop()
        dialler = nil
        if let watch { loop.remove(watch) }
        watch = nil
        drop()
        buffer = []
    }

    /// Sends as much as the system takes at once, and the rest, or what is sent before the connection is there, later.
    /// From any thread.
    func send(_ bytes: [UInt8]) {
        act(on: outgoing.withLock { $0.send(bytes) })
    }

    /// From any thread.
    private func act(on outcome: Outgoing.Outcome) {
        switch outcome {
        case .sent: break
        case .blocked: loop.perform { [weak self] in self?.watchWriting() }
        case .failed(let error): loop.perform { [weak self] in self?.end(afterFailure: error) }
        }
    }

    /// Sends what waits and tells the server that nothing more comes. What it says is still received.
    func finish() {
        act(on: outgoing.withLock { $0.finish() })
    }

    /// What has become of the bytes that were to be sent. From any thread.
    var progress: Progress { outgoing.withLock { $0.progress } }

    /// `progress.waiting` alone. From any thread.
    var waiting: Int { outgoing.withLock { $0.waiting } }

    struct Progress: Hashable, Sendable {
        /// Bytes that have not left this machine.
        var waiting = 0
        /// Bytes on their way, which the server's machine has not acknowledged.
        var unacknowledged = 0
        /// Bytes that the server's machine has.
        var acknowledged: Int64 = 0
    }

    // MARK: - Connecting

    /// Not from within `open()`: whoever calls it does not know the connection yet.
    private func refuse(_ error: Destination.Unreachable) {
        _ = makeWatch()
        loop.perform { [weak self] in self?.end(error.fault) }
    }

    private func resolved(_ result: Result<[SocketAddress], Destination.Unreachable>) {
        guard !isOver, isResolving else { return }
        isResolving = false
        switch result {
        case .failure(let failure): end(failure.fault)
        case .success(let addresses): open(trying: addresses)
        }
    }

    private func dialled(_ result: Result<Int32, ConnectionFault>) {
        switch result {
        case .failure(var fault):
            fault.words = "cannot connect to \(destination.target.host):\(destination.target.port): \(fault.words)"
            end(fault)
        case .success(let descriptor):
            // Closed meanwhile: nobody else knows the socket.
            guard !isOver else {
                Foundation.close(descriptor)
                return
            }
            begin(with: descriptor)
        }
    }

    private func timedOut() {
        if isResolving {
            end(ConnectionFault(.unresolvable, "cannot resolve \(destination.target.host): timed out"))
        } else if isConnected, isShakingHands {
            let words = "timed out: no answer to the TLS handshake within \(timeout / 1_000_000_000) s"
            end(ConnectionFault(.timedOut, words))
        }
    }

    private func begin(with descriptor: Int32) {
        dialler = nil
        self.descriptor = descriptor
        // A command or a frame goes out at once, however small it is.
        set(Self.tcp, TCP_NODELAY)
        set(SOL_SOCKET, SO_KEEPALIVE)
        watch?.descriptor = descriptor
        isConnected = true
        buffer = [UInt8](repeating: 0, count: 1 << 16)
        watch?.events = POLLIN
        watch?.deadline = isShakingHands ? MonotonicClock.now + timeout : .max
        outgoing.withLock { $0.descriptor = descriptor }
        if isShakingHands {
            act(on: outgoing.withLock { $0.beginHandshake() })
            // Without a word from the server: TLS cannot even begin.
            decrypt([], at: MonotonicClock.now)
        } else {
            onEvent(.connected)
        }
        // Also what was sent before.
        flush()
    }

    // MARK: - Bytes

    private func ready() {
        guard isConnected else { return }
        flush()
        receive()
    }

    private func receive() {
        // Bounded, so that a fast sender does not keep everybody else on the loop waiting.
        for _ in 0..<4 {
            guard !isOver else { return }
            let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            let arrival = MonotonicClock.now
            if count == 0 { return end(faultOfClosing) }
            guard count > 0 else {
                if errno == EINTR { continue }
                if errno != EAGAIN { end(ConnectionFault(errno: errno)) }
                return
            }
            // A server that writes in pieces (Nagle's algorithm) waits for each acknowledgement, which the kernel holds
            // back for 40 ms. Not a lasting property: the kernel goes back to that by itself.
            set(Self.tcp, TCP_QUICKACK)
            decrypt(buffer[..<count], at: arrival)
            if count < buffer.count { return }
        }
    }

    private func decrypt(_ bytes: ArraySlice<UInt8>, at arrival: Int64) {
        guard let reception = outgoing.withLock({ $0.receive(bytes) }) else {
            return onEvent(.received(bytes, arrivedAt: arrival))
        }
        if isShakingHands, reception.state == .open || reception.state == .ended {
            isShakingHands = false
            watch?.deadline = .max
            onEvent(.connected)
        }
        if !isOver, !reception.plaintext.isEmpty { onEvent(.received(reception.plaintext[...], arrivedAt: arrival)) }
        guard !isOver else { return }
        switch reception.state {
        case .handshake, .open: act(on: reception.outcome)
        case .ended: end(nil)
        case .failed(let words): end(ConnectionFault(.tlsFailed, "TLS: \(words)"))
        }
    }

    private func flush() {
        guard !isOver else { return }
        if case .failed(let error) = outgoing.withLock({ $0.flush() }) { return end(afterFailure: error) }
        watchWriting()
    }

    private func watchWriting() {
        watch?.events = outgoing.withLock { $0.isBlocked } ? POLLIN | POLLOUT : POLLIN
    }

    private func set(_ level: Int32, _ option: Int32) {
        var on: Int32 = 1
        setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: - The end

    /// `nil`: what it means is for others to say.
    private var faultOfClosing: ConnectionFault? {
        isShakingHands ? ConnectionFault(.lost, "the server closed the connection at the TLS handshake") : nil
    }

    private func drop() {
        watch?.descriptor = -1
        outgoing.withLock { $0.descriptor = -1 }
        if descriptor >= 0 { Foundation.close(descriptor) }
        descriptor = -1
    }

    /// What the server said before it closed tells more than that it closed.
    private func end(afterFailure error: Int32) {
        if isConnected { receive() }
        end(ConnectionFault(errno: error))
    }

    private func end(_ fault: ConnectionFault?) {
        guard !isOver else { return }
        close()
        onEvent(.ended(fault))
    }
}
