import Foundation

/// A connection of plain system calls, on which a test sends and reads as little as it likes. It never waits, and uses
/// no memory besides the socket's own buffers, so that any growth of the process is due to the service.
public final class PlainClient: Sendable {
    private let descriptor: Int32

    public init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard LoopbackListener.connect(descriptor, to: port) else {
            let failure = SocketFailure("cannot connect to port \(port)")
            close(descriptor)
            throw failure
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    deinit { close(descriptor) }

    /// Sends as much as the peer accepts now.
    ///
    /// - Returns: The number of bytes; -1 if the peer has closed the connection.
    @discardableResult public func send(_ bytes: some Sequence<UInt8>) -> Int {
        let bytes = Array(bytes)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return errno == EAGAIN ? sent : -1 }
            sent += count
        }
        return sent
    }

    /// Returns all bytes that can be read now.
    public func receive() -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }
}
