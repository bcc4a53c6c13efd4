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

    let port: Int
    private let descriptor: Int32
    private let connections = Mutex<[Int32]>([])
    private let behaviour: Behaviour

    init(_ behaviour: Behaviour) throws {
        self.behaviour = behaviour
        let listener = try LoopbackListener(queue: 64)
        descriptor = listener.descriptor
        port = listener.port
        Thread { [weak self] in
            while let connection = listener.accept(), let self { self.take(connection) }
        }.start()
    }

    /// Closes every connection.
    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
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
        close(descriptor)
        for connection in connections.withLock({ $0 }) { close(connection) }
    }
}
