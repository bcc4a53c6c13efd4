import EncodedMedia
import Foundation
import RTMP
import Synchronization
import TextFormats

/// Asks an HTTP server where it redirects a request to.
///
/// `souphttpsrc` does not say, and following would lead it to addresses that are not checked. Asked only when a pull has
/// ended without any media, so that other pulls cost no request more.
enum HTTPRedirect {
    /// Most redirects of one pull.
    static let most = 5
    /// Longest head of a response, in bytes.
    static let longestHead = 16 << 10
    private static let schemes = ["http", "https"]

    /// Returns the URL to which the server redirects; `nil` if it does not, or not to an HTTP URL.
    ///
    /// - Parameter url: An HTTP URL, whose host is checked against the request's limits.
    static func target(of url: String, _ request: PullRequest) async -> String? {
        guard let destination = Destination(url: url, limits: request.limits),
            schemes.contains(destination.target.scheme), let path = path(of: url)
        else { return nil }
        let query = Query(
            destination, tls: destination.target.scheme == "https" ? request.trust ?? .system : nil,
            timeout: min(request.options.connectTimeout, 5))
        let head = await query.head(
            for: "GET \(path.path) HTTP/1.1\r\nHost: \(path.authority)\r\nConnection: close\r\n\r\n")
        return head.flatMap { location(in: $0) }.flatMap { resolve($0, against: url) }
    }

    /// The value of `Location` in the head of a response of status 301, 302, 303, 307 or 308; `nil` otherwise.
    static func location(in head: [UInt8]) -> String? {
        let lines = String(decoding: head, as: UTF8.self).split(
            separator: "\r\n", omittingEmptySubsequences: false)
        guard let status = lines.first?.split(separator: " ").dropFirst().first,
            ["301", "302", "303", "307", "308"].contains(status)
        else { return nil }
        for line in lines.dropFirst() {
            guard !line.isEmpty else { return nil }
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "location" else { continue }
            return line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return nil
    }

    /// Resolves a reference (RFC 3986 §5.2) against an HTTP URL.
    ///
    /// - Returns: An absolute HTTP URL without a user name; `nil` for anything else.
    static func resolve(_ reference: String, against url: String) -> String? {
        // Characters that no URL has could end the request line or the element's property.
        guard reference.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let base = URL(string: url),
            let target = URL(string: reference, relativeTo: base)?.absoluteURL,
            let scheme = target.scheme?.lowercased(),
            schemes.contains(scheme), target.host != nil, target.user == nil
        else { return nil }
        return target.absoluteString
    }

    private static func path(of url: String) -> (authority: String, path: String)? {
        guard let separator = url.firstRange(of: "://"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return nil
        }
        let rest = url[separator.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count).prefix { $0 != "#" }
        return (String(authority), (path.hasPrefix("/") ? "" : "/") + path)
    }

    /// One request, of whose response only the head is read. `@unchecked Sendable`: its state belongs to the loop.
    private final class Query: @unchecked Sendable {
        private let loop = SocketLoop.shared
        private let destination: Destination
        private let tls: TLSContext?
        private let timeout: Int
        private var connection: TCPConnection?
        private var timer: SocketLoop.Watch?
        private var head: [UInt8] = []
        private var isOver = false
        private var continuation: CheckedContinuation<[UInt8]?, Never>?

        init(_ destination: Destination, tls: TLSContext?, timeout: Int) {
            self.destination = destination
            self.tls = tls
            self.timeout = timeout
        }

        func head(for request: String) async -> [UInt8]? {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    loop.perform { [self] in
                        guard !isOver else { return continuation.resume(returning: nil) }
                        self.continuation = continuation
                        let timer = SocketLoop.Watch(onReady: {}, onDeadline: { [self] in end(nil) })
                        timer.deadline = MonotonicClock.now() + Int64(timeout) * 1_000_000_000
                        self.timer = timer
                        loop.add(timer)
                        let connection = TCPConnection(destination, tls: tls, loop: loop, timeout: timeout) {
                            [self] event in
                            switch event {
                            case .connected: self.connection?.send(Array(request.utf8))
                            case .received(let bytes, _): take(bytes)
                            case .ended: end(nil)
                            }
                        }
                        self.connection = connection
                        connection.open()
                    }
                }
            } onCancel: {
                loop.perform { [self] in end(nil) }
            }
        }

        private func take(_ bytes: ArraySlice<UInt8>) {
            head += bytes
            if head.firstRange(of: Array("\r\n\r\n".utf8)) != nil { return end(head) }
            if head.count > HTTPRedirect.longestHead { end(nil) }
        }

        private func end(_ result: [UInt8]?) {
            isOver = true
            guard let continuation else { return }
            self.continuation = nil
            continuation.resume(returning: result)
            if let timer { loop.remove(timer) }
            timer = nil
            let connection = connection
            self.connection = nil
            // Not from within its own event.
            loop.perform { connection?.close() }
        }
    }
}
