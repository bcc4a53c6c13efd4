import EncodedMedia
import Foundation
import Synchronization
import TestSupport
import Testing

/// A TCP server on loopback that answers every connection with the same bytes, regardless of the request.
final class RTMPOddServer: Sendable {
    private let acceptor: LoopbackAcceptor
    private let connections = Mutex<[Int32]>([])
    private let times = Mutex<[Int64]>([])

    var port: Int { acceptor.port }

    /// - Parameter closes: Whether it closes once it has sent everything and has received something.
    init(saying bytes: [UInt8] = [], closes: Bool = false) throws {
        acceptor = LoopbackAcceptor(try LoopbackListener())
        acceptor.start { [weak self] connection in
            guard let self else {
                close(connection)
                return
            }
            times.withLock { $0.append(MonotonicClock.now()) }
            connections.withLock { $0.append(connection) }
            _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            guard closes else { return }
            var heard = [UInt8](repeating: 0, count: 4096)
            _ = recv(connection, &heard, heard.count, 0)
            shutdown(connection, Int32(SHUT_WR))
        }
    }

    /// Number of connections accepted so far; `hungUp` counts those that the client has closed.
    var accepted: Int { connections.withLock { $0.count } }
    /// Times of the connections, in ns of CLOCK_MONOTONIC.
    var acceptedAt: [Int64] { times.withLock { $0 } }
    var hungUp: Int {
        connections.withLock { connections in
            connections.count { connection in
                // Reads everything that is queued, because the end of the stream is behind it.
                var bytes = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = recv(connection, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                    if count <= 0 { return count == 0 || errno == ECONNRESET }
                }
            }
        }
    }

    func stop() { acceptor.stop() }

    deinit {
        acceptor.stop()
        for connection in connections.withLock({ $0 }) { close(connection) }
    }
}
