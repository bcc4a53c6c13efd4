import EncodedMedia
import Foundation

/// Connects to the first of several addresses that answers.
///
/// A lost packet makes the kernel wait 1 s, 3 s and 7 s before it retries, so a server that is back would be found
/// late. Another attempt therefore starts every half second while the earlier ones are still waiting; the first one
/// that succeeds wins (as in RFC 8305, §5, but for a single address, too).
///
/// Use on the loop only. The code that creates a dialler must stop it.
final class TCPDialler {
    private final class Attempt {
        let address: SocketAddress
        let descriptor: Int32
        var watch: SocketLoop.Watch?

        init(_ address: SocketAddress, _ descriptor: Int32) {
            self.address = address
            self.descriptor = descriptor
        }
    }

    /// Time between two attempts in ns.
    static let interval: Int64 = 500_000_000
    private static let mostAttempts = 16

    private let loop: SocketLoop
    /// Timeout of each address in ns.
    private let timeout: Int64
    private let onEnd: (Result<Int32, ConnectionFault>) -> Void
    private var untried: ArraySlice<SocketAddress> = []
    private var attempts: [Attempt] = []
    private var timer: SocketLoop.Watch?
    private var deadline = Int64.max
    private var isOver = false

    /// - Parameters:
    ///   - timeout: Timeout of each address in ns.
    ///   - onEnd: Called once, on the loop, perhaps within `dial`, with the connected socket, which the receiver then
    ///     owns, or the reason that there is none.
    init(loop: SocketLoop, timeout: Int64, onEnd: @escaping (Result<Int32, ConnectionFault>) -> Void) {
        self.loop = loop
        self.timeout = timeout
        self.onEnd = onEnd
    }

    func dial(_ addresses: [SocketAddress]) {
        untried = addresses[...]
        let timer = SocketLoop.Watch(onReady: {}, onDeadline: { [weak self] in self?.tick() })
        self.timer = timer
        loop.add(timer)
        tryNext(after: ConnectionFault(.unresolvable, "no address"))
    }

    /// Releases everything without calling `onEnd`. Idempotent.
    func stop() {
        isOver = true
        if let timer { loop.remove(timer) }
        timer = nil
        for attempt in attempts { drop(attempt) }
        attempts = []
    }

    /// Begins with the next untried address; ends if there is none and no attempt is pending.
    private func tryNext(after fault: ConnectionFault) {
        guard !isOver else { return }
        guard let address = untried.popFirst() else {
            guard !attempts.isEmpty else { return end(.failure(fault)) }
            // The timer has passed if it led here, and the pending attempts still need one.
            if let timer { timer.deadline = min(timer.deadline, MonotonicClock.now() + Self.interval, deadline) }
            return
        }
        deadline = MonotonicClock.now() + timeout
        begin(address)
    }

    private func begin(_ address: SocketAddress) {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { return tryNext(after: ConnectionFault(errno: errno)) }
        let status = address.withPointer { connect(descriptor, $0, $1) }
        guard status == 0 || errno == EINPROGRESS else {
            let fault = ConnectionFault(errno: errno)
            close(descriptor)
            return tryNext(after: fault)
        }
        let attempt = Attempt(address, descriptor)
        let watch = SocketLoop.Watch(
            onReady: { [weak self, weak attempt] in
                if let attempt { self?.ready(attempt) }
            }, onDeadline: {})
        watch.descriptor = descriptor
        watch.events = POLLOUT
        attempt.watch = watch
        attempts.append(attempt)
        loop.add(watch)
        timer?.deadline = min(MonotonicClock.now() + Self.interval, deadline)
    }

    private func tick() {
        guard !isOver else { return }
        if !untried.isEmpty { return tryNext(after: ConnectionFault(.timedOut, "timed out")) }
        guard MonotonicClock.now() < deadline, let oldest = attempts.first else {
            return end(.failure(ConnectionFault(.timedOut, "timed out")))
        }
        if attempts.count < Self.mostAttempts { begin(oldest.address) }
        timer?.deadline = min(MonotonicClock.now() + Self.interval, deadline)
    }

    private func ready(_ attempt: Attempt) {
        guard !isOver else { return }
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(attempt.descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        attempts.removeAll { $0 === attempt }
        guard error == 0 else {
            drop(attempt)
            // The other attempts at this address are older and would only wait.
            for other in attempts where other.address == attempt.address { drop(other) }
            attempts.removeAll { $0.address == attempt.address }
            return tryNext(after: ConnectionFault(errno: error))
        }
        if let watch = attempt.watch { loop.remove(watch) }
        end(.success(attempt.descriptor))
    }

    private func drop(_ attempt: Attempt) {
        if let watch = attempt.watch { loop.remove(watch) }
        close(attempt.descriptor)
    }

    private func end(_ result: Result<Int32, ConnectionFault>) {
        stop()
        onEnd(result)
    }
}
