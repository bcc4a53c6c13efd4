import EncodedMedia
import Foundation

/// A TCP connection read with blocking calls, for the probe's own thread. Not for the cooperative pool.
///
/// Owned and used by one thread. Closes when it is released.
final class StreamSocket {
    private let descriptor: Int32
    private let isCancelled: () -> Bool
    private var buffer: [UInt8] = []
    private var position = 0
    /// Bytes received so far.
    private(set) var received = 0

    /// - Parameters:
    ///   - host: Name or address.
    ///   - isCancelled: Called at least every 0.1 s while waiting; `true` ends the wait with `ProbeError.cancelled`.
    init(host: String, port: Int, isCancelled: @escaping () -> Bool) throws(ProbeError) {
        self.isCancelled = isCancelled
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list else {
            throw .connection("cannot resolve \(host)")
        }
        defer { freeaddrinfo(first) }
        var candidate: UnsafeMutablePointer<addrinfo>? = first
        var reason = "no address"
        while let address = candidate?.pointee {
            let socket = Foundation.socket(address.ai_family, address.ai_socktype, address.ai_protocol)
            if socket >= 0 {
                if connect(socket, address.ai_addr, address.ai_addrlen) == 0 {
                    var on: Int32 = 1
                    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
                    descriptor = socket
                    return
                }
                reason = String(cString: strerror(errno))
                close(socket)
            }
            candidate = address.ai_next
        }
        throw .connection("cannot connect to \(host):\(port): \(reason)")
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws(ProbeError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                send(descriptor, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw .connection("cannot send: \(String(cString: strerror(errno)))") }
            sent += count
        }
    }

    /// Reads exactly `count` bytes.
    ///
    /// - Parameter timeout: Seconds without a byte after which the read fails.
    func read(_ count: Int, timeout: Double = 30) throws(ProbeError) -> [UInt8] {
        while buffer.count - position < count { try fill(timeout: timeout) }
        defer { position += count }
        return Array(buffer[position..<position + count])
    }

    private func fill(timeout: Double) throws(ProbeError) {
        if position > 1 << 16 || position == buffer.count {
            buffer.removeFirst(position)
            position = 0
        }
        let deadline = MonotonicClock.now() + Int64(timeout * 1e9)
        while true {
            if isCancelled() { throw .cancelled }
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if poll(&request, 1, 100) > 0 { break }
            if MonotonicClock.now() > deadline { throw .connection("nothing received for \(timeout) s") }
        }
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        if count == 0 { throw .ended }
        guard count > 0 else { throw .connection("cannot receive: \(String(cString: strerror(errno)))") }
        received += count
        buffer.append(contentsOf: chunk[..<count])
    }
}
