import Dispatch
import Foundation
import Synchronization
import TestSupport

/// A TCP server on loopback that accepts every connection and then misbehaves.
final class OddServer: Sendable {
    enum Behaviour: Sendable {
        /// Sends nothing.
        case silent
        /// Sends random bytes without end.
        case garbage
    }

    private let acceptor: LoopbackAcceptor
    private let connections = Mutex<[Int32]>([])
    private let behaviour: Behaviour

    var port: Int { acceptor.port }

    init(_ behaviour: Behaviour) throws {
        self.behaviour = behaviour
        acceptor = LoopbackAcceptor(try LoopbackListener(queue: 64))
        acceptor.start { [weak self] connection in
            guard let self else {
                close(connection)
                return
            }
            take(connection)
        }
    }

    /// Closes every connection.
    func stop() {
        acceptor.stop()
        connections.withLock { connections in
            for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    private func take(_ connection: Int32) {
        connections.withLock { $0.append(connection) }
        guard case .garbage = behaviour else { return }
        Thread {
            while true {
                let bytes = (0..<4096).map { _ in UInt8.random(in: 0...255) }
                guard send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 else { return }
                Thread.sleep(forTimeInterval: 0.05)
            }
        }.start()
    }

    deinit {
        acceptor.stop()
        for connection in connections.withLock({ $0 }) { close(connection) }
    }
}
