import Foundation
import TestSupport
import Testing

/// A TCP connection on loopback: a non-blocking end, and one that reads.
final class SocketPair {
    let here: Int32
    let there: Int32

    init() throws {
        let listener = try LoopbackListener(queue: 1)
        defer { close(listener.descriptor) }
        here = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let isConnected = LoopbackListener.connect(here, to: listener.port)
        there = accept(listener.descriptor, nil, nil)
        // By default Linux lets the buffers grow to any size, and no write ever blocks.
        var buffer = Int32(1 << 16)
        setsockopt(here, SOL_SOCKET, SO_SNDBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(there, SOL_SOCKET, SO_RCVBUF, &buffer, socklen_t(MemoryLayout<Int32>.size))
        try #require(isConnected && there >= 0 && fcntl(here, F_SETFL, Int32(O_NONBLOCK)) == 0)
    }

    deinit {
        close(here)
        close(there)
    }

    /// Returns the available bytes, at most `limit`; `nil` at the end.
    func read(_ limit: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = recv(there, &bytes, limit, Int32(MSG_DONTWAIT))
        if count == 0 { return nil }
        return Array(bytes.prefix(max(0, count)))
    }

    /// Sends bytes from the reading end to the other, completely.
    func answer(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        #expect(send(there, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) == bytes.count)
    }

    /// Returns the bytes that have arrived there; `nil` if there are none.
    func readAnswer() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(here, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
}
