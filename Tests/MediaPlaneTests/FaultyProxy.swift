import Foundation
import Synchronization
import TestSupport
import Testing

/// A proxy between a publisher and a server on loopback that behaves like a faulty network.
///
/// Its receive buffers are small: bytes that it does not pass on back up within about a second.
final class FaultyProxy: Sendable {
    enum Behaviour: Hashable, Sendable {
        case pass
        /// The connection stays, but the proxy neither reads nor sends.
        case frozen
        /// This many bytes per second upstream.
        case slow(Int)
        /// Each connection ends after this many bytes upstream.
        case cut(Int)
    }
    private struct State {
        var behaviour: Behaviour
        var connections: [Int32] = []
        var isStopped = false
    }

    let port: Int
    private let listener: Int32
    private let upstream: Int
    private let state: Mutex<State>
    private let count = Mutex(0)

    init(to upstream: Int, _ behaviour: Behaviour = .pass) throws {
        self.upstream = upstream
        state = Mutex(State(behaviour: behaviour))
        let listening = try LoopbackListener(queue: 64, receiveBuffer: 32 << 10)
        let listener = listening.descriptor
        self.listener = listener
        port = listening.port
        Thread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self else { return }
                self.serve(connection)
            }
        }.start()
    }

    /// Number of connections accepted so far.
    var accepted: Int { count.withLock { $0 } }

    func set(_ behaviour: Behaviour) { state.withLock { $0.behaviour = behaviour } }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func serve(_ client: Int32) {
        count.withLock { $0 += 1 }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard LoopbackListener.connect(server, to: upstream) else {
            close(server)
            close(client)
            return
        }
        var on: Int32 = 1
        for end in [client, server] {
            setsockopt(end, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        state.withLock { $0.connections += [client, server] }
        let open = Mutex(2)
        let ended: @Sendable () -> Void = { [weak self] in
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(server, Int32(SHUT_RDWR))
            let isLast = open.withLock { open in
                open -= 1
                return open == 0
            }
            guard isLast else { return }
            self?.state.withLock { $0.connections.removeAll { $0 == client || $0 == server } }
            close(client)
            close(server)
        }
        let shared = Ends(ended)
        Thread { self.copy(client, server, isUp: true, shared) }.start()
        Thread { self.copy(server, client, isUp: false, shared) }.start()
    }

    private final class Ends: Sendable {
        let ended: @Sendable () -> Void
        init(_ ended: @escaping @Sendable () -> Void) { self.ended = ended }
    }

    private func copy(_ from: Int32, _ to: Int32, isUp: Bool, _ ends: Ends) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var passed = 0
        loop: while true {
            let (behaviour, isStopped) = state.withLock { ($0.behaviour, $0.isStopped) }
            if isStopped { break }
            switch behaviour {
            case .frozen:
                usleep(5_000)
                continue loop
            case .slow(let rate) where isUp: usleep(UInt32(1_000_000 * 4096 / max(rate, 1)))
            case .cut(let limit) where isUp && passed >= limit: break loop
            default: break
            }
            var ready = pollfd(fd: from, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 20) >= 0 else { break }
            guard ready.revents != 0 else { continue }
            let size = recv(from, &buffer, buffer.count, 0)
            guard size > 0, send(to, buffer, size, Int32(MSG_NOSIGNAL)) == size else { break }
            passed += size
        }
        ends.ended()
    }
}
