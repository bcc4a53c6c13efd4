import Foundation
import HTTPTypes
import TestSupport

/// An HTTP/1.1 connection that sends requests unchanged and keeps nothing of them, so that only the service adds to the
/// memory of the process. It reconnects when the service closes it.
final class FuzzConnection {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let port: Int
    private let queue = DispatchQueue(label: "fuzz")
    private var descriptor: Int32 = -1
    /// The received bytes that have not been parsed yet.
    private var received: [UInt8] = []

    /// - Parameter port: The service's port on loopback.
    init(port: Int) { self.port = port }

    deinit { close(descriptor) }

    /// Sends a request and waits up to a minute for its answer.
    func ask(_ request: RequestFuzzer.Request) async throws -> (status: Int, body: [UInt8]) {
        var head = "\(request.method.rawValue) \(request.uri) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for field in request.headers { head += "\(field.name.rawName): \(field.value)\r\n" }
        if let body = request.body { head += "Content-Length: \(body.count)\r\n" }
        let bytes = Array((head + "\r\n").utf8) + (request.body ?? [])
        // Waiting must not occupy a thread that the service needs.
        return try await withCheckedThrowingContinuation { continuation in
            nonisolated(unsafe) let connection = self
            queue.async {
                continuation.resume(
                    with: Result { try connection.exchange(bytes, hasBody: request.method != .head) })
            }
        }
    }

    private func exchange(_ bytes: [UInt8], hasBody: Bool) throws -> (status: Int, body: [UInt8]) {
        // The service may have closed the connection because it was idle, or after its last answer.
        for _ in 0..<2 {
            if descriptor < 0 { try connect() }
            guard send(bytes), try receive() else {
                disconnect()
                continue
            }
            return try answer(hasBody: hasBody)
        }
        throw Failure(description: "the service closes the connection without an answer")
    }

    private func answer(hasBody: Bool) throws -> (status: Int, body: [UInt8]) {
        var (status, fields) = try head()
        while status / 100 == 1 { (status, fields) = try head() }
        var body: [UInt8] = []
        if !hasBody || status == 204 || status == 304 {
        } else if status == 200, fields["content-type"] == "video/x-flv" {
            // A program has no end, so this viewer leaves after the beginning.
            if received.isEmpty { _ = try receive() }
            body = received
            disconnect()
        } else if fields["transfer-encoding"] == "chunked" {
            while let size = Int(try line(), radix: 16) {
                body += try take(size)
                _ = try line()
                if size == 0 { break }
            }
        } else if let length = fields["content-length"].flatMap({ Int($0) }) {
            body = try take(length)
        } else {
            while try receive() {}
            body = received
            disconnect()
        }
        if fields["connection"]?.lowercased() == "close" { disconnect() }
        return (status, body)
    }

    private func head() throws -> (Int, [String: String]) {
        let words = try line().split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { throw Failure(description: "no HTTP: \(words)") }
        var fields: [String: String] = [:]
        while case let text = try line(), !text.isEmpty {
            guard let colon = text.firstIndex(of: ":") else { continue }
            fields[text[..<colon].lowercased()] = text[text.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return (status, fields)
    }

    // MARK: Bytes

    private func line() throws -> String {
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let bytes = received[..<end].filter { $0 != UInt8(ascii: "\r") }
                received.removeFirst(end + 1)
                return String(decoding: bytes, as: UTF8.self)
            }
            guard try receive() else { throw Failure(description: "the connection ends within a head") }
        }
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while received.count < count {
            guard try receive() else { throw Failure(description: "the connection ends within a body") }
        }
        defer { received.removeFirst(count) }
        return Array(received[..<count])
    }

    private func connect() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard LoopbackListener.connect(descriptor, to: port) else {
            disconnect()
            throw Failure(description: "the service takes no connection")
        }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    private func disconnect() {
        close(descriptor)
        descriptor = -1
        received = []
    }

    /// - Returns: Whether an answer will come. The service may answer before it has read everything.
    private func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return sent > 0 }
            sent += count
        }
        return true
    }

    /// - Returns: False at the end of the connection.
    private func receive() throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN { throw Failure(description: "no answer within a minute") }
        if count > 0 { received += buffer[..<count] }
        return count > 0
    }
}
