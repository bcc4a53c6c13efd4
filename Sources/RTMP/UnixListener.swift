import Foundation

/// A listener on a Unix socket that only this user may open, on the socket loop. It still accepts connections when
/// untrusted ones must wait for descriptors, but leaves a few (`DescriptorReserve`).
package final class UnixListener: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    private let path: String
    private let listening: ListeningSocket

    /// Begins to listen.
    /// - Parameters:
    ///   - path: At most 100 bytes. A socket on which no process listens is replaced.
    ///   - onAccept: Called on the loop with the descriptor of each new connection, which it then owns.
    /// - Throws: `Failure` naming the path and the cure.
    package init(path: String, onAccept: @escaping @Sendable (Int32) -> Void) throws(Failure) {
        guard let address = UnixListener.address(of: path) else {
            let longest = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size - 1
            throw Failure(description: "socket path \(path) is longer than \(longest) bytes: use a shorter --data")
        }
        if UnixListener.connect(address) {
            throw Failure(description: "another process already listens on \(path)")
        }
        unlink(path)
        let descriptor = socket(AF_UNIX, UnixListener.kind, 0)
        let mask = umask(0o077)
        let bound = UnixListener.withSocketAddress(address) { bind(descriptor, $0, $1) }
        umask(mask)
        guard descriptor >= 0, bound == 0, listen(descriptor, 64) == 0 else {
            let reason = String(cString: strerror(errno))
            Foundation.close(descriptor)
            throw Failure(description: "cannot listen on \(path): \(reason). Is the data directory writable?")
        }
        self.path = path
        listening = ListeningSocket(descriptor, reserve: .ofService) { connection, _ in onAccept(connection) }
    }

    /// Stops listening and removes the socket.
    package func close() {
        unlink(path)
        listening.close()
    }

    private static let kind =
        Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)

    /// Returns a connection to the socket at `path`, which does not block and which the caller owns; `nil` if no
    /// process accepts it at once.
    package static func dial(_ path: String) -> Int32? {
        guard let address = address(of: path) else { return nil }
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return nil }
        if withSocketAddress(address, { Foundation.connect(descriptor, $0, $1) }) == 0 { return descriptor }
        Foundation.close(descriptor)
        return nil
    }

    /// Returns the address of a socket; `nil` if the path is too long for one.
    private static func address(of path: String) -> sockaddr_un? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return address
    }

    private static func connect(_ address: sockaddr_un) -> Bool {
        let descriptor = socket(AF_UNIX, kind, 0)
        defer { Foundation.close(descriptor) }
        // A listener with too many waiting connections also counts.
        return withSocketAddress(address) { Foundation.connect(descriptor, $0, $1) } == 0 || errno == EAGAIN
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
