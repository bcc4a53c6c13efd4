import Dispatch
import EncodedMedia
import Foundation
import Synchronization

/// A TCP connection to a server or from a client, with or without TLS, which never blocks.
///
/// `@unchecked Sendable`: all state but `outgoing`, which locks itself, belongs to the loop. Every event comes on the
/// loop, and every method must be called there unless it says otherwise. The code that opens a connection closes it.
package final class TCPConnection: @unchecked Sendable {
    package enum Event {
        /// The connection is established; with TLS, the server has proved its identity.
        case connected
        /// Bytes, valid during the call, and their arrival time in ns of CLOCK_MONOTONIC.
        case received(ArraySlice<UInt8>, arrivedAt: Int64)
        /// The last event; it does not come after `close()`. `nil` means that the server closed.
        case ended(ConnectionFault?)
    }

    private static let tcp = Int32(IPPROTO_TCP)
    /// Time in ns after the start of the connection during which every read is acknowledged at once.
    private static let quickStart: Int64 = 1_000_000_000

    /// The server; `nil` for a connection from a client.
    private let destination: Destination?
    let loop: SocketLoop
    /// Timeout in ns.
    private let timeout: Int64
    private let onEvent: (Event) -> Void
    private var watch: SocketLoop.Watch?
    private var dialler: TCPDialler?
    private var isResolving = false
    private var isConnected = false
    /// Time in ns of CLOCK_MONOTONIC until which every read is acknowledged at once.
    private var quickUntil: Int64 = 0
    private var isOver = false
    /// Whether bytes wait for the end of the current call.
    var isHeld = false
    /// Numbers of received bytes that wake the loop: as the owner wishes, and as the socket is set.
    private var wakeUps: (wished: Int32, set: Int32) = (1, 1)
    /// The socket; −1 means none.
    private var descriptor: Int32 = -1
    let outgoing: Mutex<Outgoing>
    /// Whether bytes go through TLS.
    private let isEncrypted: Bool
    /// Whether bytes go through TLS and its handshake is not complete.
    private var isShakingHands: Bool

    /// - Parameters:
    ///   - destination: Destination, whose host is resolved when the connection is opened.
    ///   - tls: Trusted certificates; `nil` means no TLS.
    ///   - timeout: Seconds for resolving the name, for each of its addresses, and for the TLS handshake.
    ///   - onEvent: Called on the loop.
    package init(
        _ destination: Destination, tls: TLSContext? = nil, loop: SocketLoop, timeout: Int,
        onEvent: @escaping (Event) -> Void
    ) {
        self.destination = destination
        isEncrypted = tls != nil
        isShakingHands = tls != nil
        outgoing = Mutex(Outgoing(tls: tls.map { TLSSession($0, host: destination.target.host) }))
        self.loop = loop
        self.timeout = Int64(timeout) * 1_000_000_000
        self.onEvent = onEvent
    }

    /// Creates the connection of an accepted client. `open()` begins to read.
    ///
    /// - Parameters:
    ///   - descriptor: A socket that does not block. Owned from now on.
    ///   - tls: The server's certificate; `nil` means no TLS.
    ///   - timeout: Seconds for the TLS handshake.
    package init(
        accepted descriptor: Int32, tls: TLSContext? = nil, loop: SocketLoop, timeout: Int = 5,
        onEvent: @escaping (Event) -> Void
    ) {
        destination = nil
        isEncrypted = tls != nil
        isShakingHands = tls != nil
        outgoing = Mutex(Outgoing(tls: tls.map { TLSSession(serving: $0) }))
        self.loop = loop
        self.timeout = Int64(timeout) * 1_000_000_000
        self.onEvent = onEvent
        self.descriptor = descriptor
    }

    deinit { drop() }

    /// Resolves the name and tries its addresses in turn.
    ///
    /// A connection from a client begins at once.
    package func open() {
        guard let destination else {
            _ = makeWatch()
            return begin(with: descriptor)
        }
        do throws(Destination.Unreachable) {
            if let addresses = try destination.numericAddresses() { return open(trying: addresses) }
        } catch {
            return refuse(error)
        }
        let watch = makeWatch()
        isResolving = true
        watch.deadline = MonotonicClock.now() + timeout
        // Not on the loop: a name server that does not answer blocks the thread for many seconds.
        DispatchQueue.global().async { [weak self, destination, loop] in
            let result = Result { () throws(Destination.Unreachable) in try destination.addresses() }
            loop.perform { [weak self] in self?.resolved(result) }
        }
    }

    /// Tries these addresses of the host; see `TCPDialler`.
    package func open(trying addresses: [SocketAddress]) {
        if watch == nil { _ = makeWatch() }
        watch?.deadline = .max
        let dialler = TCPDialler(loop: loop, timeout: timeout) { [weak self, loop] result in
            // Not from within `open()`, because its caller does not know the connection yet.
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

    /// Releases the socket. Bytes that have not been sent are lost. Idempotent.
    package func close() {
        isOver = true
        dialler?.stop()
        dialler = nil
        if let watch { loop.remove(watch) }
        watch = nil
        discardUnread()
        drop()
    }

    /// Closing a socket with unread bytes would reset the connection: bytes that are still being sent would be lost.
    private func discardUnread() {
        guard wakeUps.wished > 1, descriptor >= 0 else { return }
        // Without a buffer, as TCP permits (tcp(7)).
        _ = recv(descriptor, nil, 1 << 16, Int32(MSG_TRUNC))
    }

    /// Lets bytes from the peer wait until there are `count` of them, or the connection has ended, so that short messages do
    /// not wake the loop. Until then only `receiveWaiting()` receives them. Call on the loop, once connected.
    package func receive(from count: Int32) {
        guard isConnected, !isOver else { return }
        wakeUps.wished = count
        wake(from: count)
    }

    private func wake(from count: Int32) {
        guard wakeUps.set != count else { return }
        wakeUps.set = count
        set(SOL_SOCKET, SO_RCVLOWAT, to: count)
    }

    /// Receives the bytes that wait, after the current work of the loop. Call from any thread.
    package func receiveWaiting() {
        loop.perform { [weak self] in
            guard let self, isConnected else { return }
            receive()
        }
    }

    // MARK: - Connecting

    /// Ends the connection later, not from within `open()`, because its caller does not know the connection yet.
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

    private var target: String { destination.map { "\($0.target.host):\($0.target.port)" } ?? "the client" }

    private func dialled(_ result: Result<Int32, ConnectionFault>) {
        switch result {
        case .failure(var fault):
            fault.words = "cannot connect to \(target): \(fault.words)"
            end(fault)
        case .success(let descriptor):
            // The connection was closed meanwhile, and no other code knows the socket.
            guard !isOver else {
                Foundation.close(descriptor)
                return
            }
            begin(with: descriptor)
        }
    }

    private func timedOut() {
        if isResolving {
            let host = destination?.target.host ?? ""
            end(ConnectionFault(.unresolvable, "cannot resolve \(host): timed out"))
        } else if isConnected, isShakingHands {
            let words = "timed out: no answer to the TLS handshake within \(timeout / 1_000_000_000) s"
            end(ConnectionFault(.timedOut, words))
        }
    }

    private func begin(with descriptor: Int32) {
        dialler = nil
        self.descriptor = descriptor
        // Even a small command or frame is sent at once.
        set(Self.tcp, TCP_NODELAY)
        set(SOL_SOCKET, SO_KEEPALIVE)
        watch?.descriptor = descriptor
        isConnected = true
        quickUntil = MonotonicClock.now() + Self.quickStart
        watch?.events = POLLIN
        watch?.deadline = isShakingHands ? MonotonicClock.now() + timeout : .max
        outgoing.withLock { $0.descriptor = descriptor }
        if isShakingHands {
            act(on: outgoing.withLock { $0.beginHandshake() })
            // Reads without bytes from the server: a session that cannot even start has already failed.
            decrypt([], at: MonotonicClock.now())
        } else {
            onEvent(.connected)
        }
        // Bytes sent before the connection was made go out now.
        flush()
    }

    // MARK: - Bytes

    private func ready() {
        guard isConnected else { return }
        // Otherwise no bytes are queued for the socket.
        if watch?.events != POLLIN { flush() }
        receive()
    }

    private func receive() {
        // Bounded, so that a fast sender does not delay the other sockets on the loop.
        for _ in 0..<4 {
            guard !isOver else { return }
            let count = loop.scratch.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            let arrival = MonotonicClock.now()
            if count == 0 { return end(faultOfClosing) }
            guard count > 0 else {
                if errno == EINTR { continue }
                if errno != EAGAIN { end(ConnectionFault(errno: errno)) }
                return
            }
            // A server that writes in pieces (Nagle's algorithm) waits for each acknowledgement. After a write of this
            // side the kernel delays them by 40 ms, in the hope of another write; the option ends that until the next.
            if outgoing.withLock({ $0.takeHasWritten() }) || arrival < quickUntil { set(Self.tcp, TCP_QUICKACK) }
            decrypt(loop.scratch[..<count], at: arrival)
            if count < loop.scratch.count { return }
        }
    }

    private func decrypt(_ bytes: ArraySlice<UInt8>, at arrival: Int64) {
        guard isEncrypted, let reception = outgoing.withLock({ $0.receive(bytes) }) else {
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

    func flush() {
        guard !isOver else { return }
        let (outcome, awaitsPeer) = outgoing.withLock { ($0.flush(), $0.awaitsPeer) }
        if case .failed(let error) = outcome { return end(afterFailure: error) }
        // However short the bytes are for which the ones of this side wait.
        wake(from: awaitsPeer ? 1 : wakeUps.wished)
        watchWriting()
    }

    func watchWriting() {
        watch?.events = outgoing.withLock { $0.isBlocked } ? POLLIN | POLLOUT : POLLIN
    }

    private func set(_ level: Int32, _ option: Int32, to value: Int32 = 1) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: - The end

    /// Fault of a connection that the server has closed; `nil` leaves the interpretation to the owner.
    private var faultOfClosing: ConnectionFault? {
        guard isShakingHands else { return nil }
        let peer = destination == nil ? "client" : "server"
        return ConnectionFault(.lost, "the \(peer) closed the connection during the TLS handshake")
    }

    private func drop() {
        watch?.descriptor = -1
        outgoing.withLock { $0.descriptor = -1 }
        if descriptor >= 0 { Foundation.close(descriptor) }
        descriptor = -1
    }

    /// Ends after a failed write, but first reads the server's last bytes, which say more than the failure does.
    func end(afterFailure error: Int32) {
        if isConnected { receive() }
        end(ConnectionFault(errno: error))
    }

    private func end(_ fault: ConnectionFault?) {
        guard !isOver else { return }
        close()
        onEvent(.ended(fault))
    }
}
