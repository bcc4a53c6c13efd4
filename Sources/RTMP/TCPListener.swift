import Foundation
import TextFormats

/// A listener on a TCP port, on the socket loop. Untrusted connections leave the process the descriptors that it needs
/// (`DescriptorReserve`).
package final class TCPListener: Sendable {
    /// The reason why listening failed, with the cure.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        /// Whether another process listens there.
        package let isTaken: Bool
    }

    /// Maximum number of connections that the kernel keeps until they are accepted.
    private static let backlog: Int32 = 512

    /// The actual port, even if any free one was requested.
    package let port: UInt16
    private let listening: ListeningSocket

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - host: A numeric address, or `localhost` for 127.0.0.1.
    ///   - port: Port; 0 means any free one.
    ///   - onAccept: Called on the loop with the descriptor of each new connection, which it then owns, and the address
    ///     of the peer.
    package init(
        host: String, port: UInt16, onAccept: @escaping @Sendable (Int32, InternetAddress?) -> Void
    ) throws(Failure) {
        let digits = host == "localhost" ? "127.0.0.1" : host
        guard let address = try? SocketAddress.resolve(host: digits, port: port, isNumeric: true).first else {
            throw Failure(description: "\(host) is not an IP address", isTaken: false)
        }
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, kind, 0)
        // The port is free as soon as its listener is gone, even while its connections are still closing.
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        let bound = address.withPointer { bind(descriptor, $0, $1) }
        guard descriptor >= 0, bound == 0, listen(descriptor, Self.backlog) == 0 else {
            let error = errno
            Foundation.close(descriptor)
            throw Failure(description: String(cString: strerror(error)), isTaken: error == EADDRINUSE)
        }
        self.port = Self.port(of: descriptor) ?? port
        listening = ListeningSocket(descriptor, reserve: .ofStrangers) { onAccept($0, $1.internet) }
    }

    /// Stops listening.
    package func close() { listening.close() }

    private static func port(of descriptor: Int32) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard status == 0 else { return nil }
        return withUnsafePointer(to: storage) { pointer in
            switch Int32(storage.ss_family) {
            case AF_INET:
                pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { UInt16(bigEndian: $0.pointee.sin_port) }
            case AF_INET6:
                pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin6_port)
                }
            default: nil
            }
        }
    }
}
