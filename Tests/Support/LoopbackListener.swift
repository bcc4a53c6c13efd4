import Foundation

/// The system's error for a call on a socket of a test.
public struct SocketFailure: Error, CustomStringConvertible {
    public let description: String

    init(_ what: String) { description = "\(what): \(String(cString: strerror(errno)))" }
}

/// A socket that listens on a port of 127.0.0.1. Its creator closes it, or passes it to a `LoopbackAcceptor` if another
/// thread accepts.
public struct LoopbackListener: Sendable {
    public let descriptor: Int32
    public let port: Int

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - wanted: The port, which may be a `ReservedPort`; 0 = a free one.
    ///   - receiveBuffer: Size for accepted connections, in bytes; the system's default if `nil`.
    public init(port wanted: Int = 0, queue: Int32 = 8, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if wanted != 0 {
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        }
        if var bytes = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        port = Self.bindPort(descriptor, wanted)
        guard port > 0, listen(descriptor, queue) == 0 else {
            let failure = SocketFailure("no port to listen on")
            close(descriptor)
            throw failure
        }
    }

    /// Waits for the next connection. A client that has disconnected meanwhile, or a signal, is no end.
    ///
    /// - Returns: Its descriptor, which the caller owns; `nil` once the listener is shut down.
    public func accept() -> Int32? {
        while true {
            let connection = Foundation.accept(descriptor, nil, nil)
            if connection >= 0 { return connection }
            guard [EINTR, ECONNABORTED].contains(errno) else { return nil }
        }
    }

    /// Connects a socket to a port of 127.0.0.1.
    ///
    /// - Returns: False if it is not connected, with the reason in `errno`.
    @discardableResult public static func connect(_ descriptor: Int32, to port: Int) -> Bool {
        var address = Self.address(port: port)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    /// Binds a socket to a port of 127.0.0.1.
    ///
    /// - Parameter wanted: The port; 0 = a free one.
    /// - Returns: The port; 0 if it cannot be had, with the reason in `errno`.
    static func bindPort(_ descriptor: Int32, _ wanted: Int = 0) -> Int {
        var address = Self.address(port: wanted)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 && getsockname(descriptor, $0, &size) == 0
            }
        }
        return isBound ? Int(UInt16(bigEndian: address.sin_port)) : 0
    }

    private static func address(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = UInt16(port).bigEndian
        return address
    }
}
