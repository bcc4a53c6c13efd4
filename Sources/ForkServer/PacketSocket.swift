import CForkServer
import Foundation

/// Unix sockets that preserve message boundaries and carry descriptors (`SOCK_SEQPACKET`, unix(7)).
enum PacketSocket {
    struct Failure: Error, CustomStringConvertible {
        let description: String

        /// - Parameter action: The operation that failed, with the current `errno`.
        init(errnoOf action: String) { description = "\(action): \(String(cString: strerror(errno)))" }

        init(_ description: String) { self.description = description }
    }

    /// Largest number of connections that wait to be accepted.
    private static let backlog: Int32 = 64

    /// Listens at a path to which only this user can connect. Replaces an existing file.
    static func listen(at path: String) throws(Failure) -> Int32 {
        let address = try address(of: path)
        let descriptor = try make()
        unlink(path)
        let before = umask(0o177)
        let isBound = withPointer(to: address) { bind(descriptor, $0, $1) == 0 }
        umask(before)
        guard isBound, Foundation.listen(descriptor, backlog) == 0 else {
            let failure = Failure(errnoOf: "listening at \(path)")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// Connects to the server at a path.
    /// - Parameter patience: Longest wait in seconds, here and for each message until `wait` says otherwise.
    static func connect(to path: String, patience: Double) throws(Failure) -> Int32 {
        let address = try address(of: path)
        let descriptor = try make()
        wait(patience, on: descriptor)
        guard withPointer(to: address, { Foundation.connect(descriptor, $0, $1) == 0 }) else {
            let failure = Failure(errnoOf: "connecting to \(path)")
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    /// Sets the longest wait for sending and receiving, in seconds.
    static func wait(_ seconds: Double, on descriptor: Int32) {
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int((seconds - seconds.rounded(.down)) * 1_000_000))
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    }

    /// Sends one message with descriptors, which the caller still owns.
    /// - Returns: Whether it was sent.
    static func send(_ bytes: [UInt8], _ descriptors: [Int32] = [], on descriptor: Int32) -> Bool {
        forkserver_send(descriptor, bytes, bytes.count, descriptors, descriptors.count) == bytes.count
    }

    /// Receives one message. The caller owns its descriptors.
    /// - Returns: `nil` at the end of the connection, after the longest wait, and for a message longer than `limit`.
    static func receive(upTo limit: Int, on descriptor: Int32) -> (bytes: [UInt8], descriptors: [Int32])? {
        var bytes = [UInt8](repeating: 0, count: limit)
        var descriptors = [Int32](repeating: -1, count: Int(FORKSERVER_DESCRIPTORS))
        var count = descriptors.count
        let size = forkserver_receive(descriptor, &bytes, bytes.count, &descriptors, &count)
        guard size > 0 else {
            for descriptor in descriptors.prefix(count) { close(descriptor) }
            return nil
        }
        return (Array(bytes.prefix(size)), Array(descriptors.prefix(count)))
    }

    private static func make() throws(Failure) -> Int32 {
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw Failure(errnoOf: "a socket") }
        return descriptor
    }

    /// - Throws: `Failure` if the path is too long for a socket.
    private static func address(of path: String) throws(Failure) -> sockaddr_un {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw Failure("the path of a socket is too long: \(path)")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return address
    }

    private static func withPointer<Result>(
        to address: sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
