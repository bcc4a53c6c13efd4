import Foundation
import Synchronization

/// A small HTTP server on loopback that serves texts and redirects by path, and counts the requests.
public final class PageServer: Sendable {
    public let port: Int
    private let listener: Int32
    private let pages: Mutex<[String: String]>
    private let redirects: Mutex<[String: String]>
    private let asked = Mutex<[String]>([])
    private let bodies = Mutex<[String]>([])

    /// Starts the server.
    ///
    /// - Parameters:
    ///   - pages: HTML texts by path. Other paths are answered with 404.
    ///   - redirects: URLs by path to which requests are redirected with 302.
    public init(_ pages: [String: String] = [:], redirects: [String: String] = [:]) throws {
        self.pages = Mutex(pages)
        self.redirects = Mutex(redirects)
        let listener = try LoopbackListener(queue: 64)
        self.listener = listener.descriptor
        port = listener.port
        let thread = Thread { [weak self] in
            while let client = listener.accept(), let self { Thread.detachNewThread { self.serve(client) } }
        }
        thread.start()
    }

    /// The targets of all requests so far, in order. A connection without a request counts as `""`.
    public var requests: [String] { asked.withLock { $0 } }

    /// The bodies of all requests so far that had one, in order.
    public var posted: [String] { bodies.withLock { $0 } }

    public func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Replaces the page at a path, and ends the redirect there; `nil` removes the page.
    public func set(_ path: String, _ text: String?) {
        pages.withLock { $0[path] = text }
        redirects.withLock { $0[path] = nil }
    }

    private func serve(_ client: Int32) {
        defer { close(client) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !String(decoding: bytes, as: UTF8.self).contains("\r\n\r\n"), bytes.count < 64 << 10 {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        if let body = Self.body(of: &bytes, reading: client, &buffer) { bodies.withLock { $0.append(body) } }
        let target =
            String(decoding: bytes, as: UTF8.self).split(separator: " ").dropFirst().first.map(String.init) ?? ""
        asked.withLock { $0.append(target) }
        let path = String(target.prefix { $0 != "?" })
        let text = pages.withLock { $0[path] }
        let body = Array((text ?? "not here").utf8)
        let status =
            redirects.withLock { $0[path] }.map { "302 Found\r\nLocation: \($0)" }
            ?? (text == nil ? "404 Not Found" : "200 OK")
        let head =
            "HTTP/1.1 \(status)\r\nContent-Type: text/html; charset=utf-8\r\n"
            + "Cache-Control: no-store\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        for part in [Array(head.utf8), body] {
            var sent = 0
            while sent < part.count {
                let count = part[sent...].withUnsafeBytes {
                    send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }

    /// Reads the body that a head announces with its length.
    private static func body(of bytes: inout [UInt8], reading client: Int32, _ buffer: inout [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n"),
            let field = text[..<end.lowerBound].lowercased().firstMatch(of: /content-length: (\d+)/),
            let length = Int(field.1), 1...1 << 20 ~= length
        else { return nil }
        let start = text[..<end.upperBound].utf8.count
        while bytes.count < start + length {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes[start..<start + length], as: UTF8.self)
    }
}
