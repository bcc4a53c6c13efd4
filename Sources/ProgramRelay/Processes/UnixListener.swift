import Dispatch
import Foundation

/// A listener on a unix socket that only this user may open.
final class UnixListener: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private nonisolated(unsafe) let source: any DispatchSourceRead
    private let path: String

    /// Begins to listen.
    /// - Parameters:
    ///   - path: At most 100 bytes. A socket on which no process listens is replaced.
    ///   - onAccept: Takes the descriptor of each new connection, and owns it.
    /// - Throws: `Failure` naming the path and the cure.
    init(path: String, onAccept: @escaping @Sendable (Int32) -> Void) throws(Failure) {
        self.path = path
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < capacity else {
            throw Failure(description: "socket path \(path) is longer than \(capacity - 1) bytes: use a shorter --data")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        if UnixListener.connect(address) {
            throw Failure(description: "another relay already listens on \(path)")
        }
        unlink(path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let mask = umask(0o077)
        let bound = UnixListener.withSocketAddress(address) { bind(descriptor, $0, $1) }
        umask(mask)
        guard descriptor >= 0, bound == 0, listen(descriptor, 64) == 0 else {
            let reason = String(cString: strerror(errno))
            Foundation.close(descriptor)
            throw Failure(description: "cannot listen on \(path): \(reason). Is the data directory writable?")
        }
        let queue = DispatchQueue(label: "relay.listener")
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            let connection = accept(descriptor, nil, nil)
            guard connection >= 0 else { return }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            onAccept(connection)
        }
        source.setCancelHandler { Foundation.close(descriptor) }
        source.resume()
    }

    /// Stops listening and removes the socket.
    func close() {
        unlink(path)
        source.cancel()
    }

    private static func connect(_ address: sockaddr_un) -> Bool {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { Foundation.close(descriptor) }
        return withSocketAddress(address) { Foundation.connect(descriptor, $0, $1) } == 0
    }

    private static func withSocketAddress(
        _ address: sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
