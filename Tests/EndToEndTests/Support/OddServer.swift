import Dispatch
import Foundation
import Synchronization

/// A TCP server on loopback that accepts every connection and then misbehaves.
final class OddServer: Sendable {
    enum Behaviour: Sendable {
        /// Says nothing.
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
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let listens = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard listens else { throw EndToEndError("no server: \(String(cString: strerror(errno)))") }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0, let self else { return }
                self.take(connection)
            }
        }.start()
    }

    /// Ends every connection.
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
