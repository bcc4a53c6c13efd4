import Foundation

/// One HTTP request with any bytes, on a connection of its own, and its answer.
public final class HTTPExchange: Sendable {
    public struct Answer: Sendable {
        public let status: Int
        /// Header values by lowercase name.
        public let headers: [String: String]
        public let body: [UInt8]
        public var text: String { String(decoding: body, as: UTF8.self) }
    }

    private let descriptor: Int32

    /// Sends a request. The server closes the connection after its answer.
    ///
    /// - Parameter length: Announced length of the body; its real length if `nil`.
    public init(
        port: Int, _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8] = [],
        length: Int? = nil
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard LoopbackListener.connect(descriptor, to: port) else {
            let failure = SocketFailure("cannot connect to port \(port)")
            close(descriptor)
            throw failure
        }
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var fields = ["Host": "127.0.0.1", "Connection": "close"].merging(headers) { $1 }
        if !body.isEmpty || length != nil { fields["Content-Length"] = "\(length ?? body.count)" }
        let head = "\(method) \(path) HTTP/1.1\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
        send(Array(head.utf8) + body)
    }

    deinit { close(descriptor) }

    /// Sends more of the body.
    public func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // A server that has refused the request does not read on.
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Ends the connection, like a client that disconnects.
    public func abandon() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

    /// Waits for the answer; `nil` if the connection ended without one.
    public func answer() async -> Answer? {
        await withCheckedContinuation { continuation in
            // Reading blocks, so it does not run on the cooperative pool.
            Thread.detachNewThread { continuation.resume(returning: self.read()) }
        }
    }

    private func read() -> Answer? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 { bytes += buffer[..<count] }
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
        }
        return Answer(status: status, headers: headers, body: Array(bytes[end.upperBound...]))
    }
}
