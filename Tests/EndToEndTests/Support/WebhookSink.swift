import Foundation
import Synchronization
import TestSupport

/// A receiver of webhooks about participants on a loopback port. It accepts every message, but may keep the senders waiting.
final class WebhookSink: Sendable {
    struct Arrival: Sendable {
        /// The message's `webhook-id`.
        var id: String
        var room: String
        var user: String
        /// Whether its sender had to wait.
        var isHeld = false
    }

    private struct State {
        var arrivals: [Arrival] = []
        var isHolding = false
    }

    private let acceptor: LoopbackAcceptor
    private let state = Mutex(State())

    init() throws {
        acceptor = LoopbackAcceptor(try LoopbackListener(queue: 64))
        // Keeps the server until `stop`.
        acceptor.start { [self] connection in Thread.detachNewThread { [self] in serve(connection) } }
    }

    var port: Int { acceptor.port }
    var url: String { "http://127.0.0.1:\(port)/hook" }

    /// All messages that have arrived, in order, those that came twice included.
    var arrivals: [Arrival] { state.withLock { $0.arrivals } }

    /// Lets the senders of all messages from now on wait, or answers those that wait.
    func hold(_ isHolding: Bool) { state.withLock { $0.isHolding = isHolding } }

    func stop() {
        hold(false)
        acceptor.stop()
    }

    private func serve(_ connection: Int32) {
        defer { close(connection) }
        var (request, bytes): ([UInt8], [UInt8]) = ([], [UInt8](repeating: 0, count: 1 << 16))
        var found: Arrival?
        while found == nil {
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            request += bytes[..<count]
            found = Self.arrival(in: request)
        }
        guard var arrival = found else { return }
        let isHeld = state.withLock { state in
            arrival.isHeld = state.isHolding
            state.arrivals.append(arrival)
            return state.isHolding
        }
        while isHeld, state.withLock({ $0.isHolding }) { Thread.sleep(forTimeInterval: 0.01) }
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        _ = answer.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Returns the message in a request; `nil` if it is not whole.
    private static func arrival(in request: [UInt8]) -> Arrival? {
        let mark = Array("\r\n\r\n".utf8)
        guard request.count >= mark.count,
            let end = (0...request.count - mark.count).first(where: { request[$0..<$0 + 4].elementsEqual(mark) })
        else { return nil }
        var fields: [String: String] = [:]
        for line in String(decoding: request[..<end], as: UTF8.self).split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        let body = Data(request[(end + mark.count)...])
        guard let length = Int(fields["content-length"] ?? ""), body.count >= length,
            let content = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
            let data = content["data"] as? [String: Any]
        else { return nil }
        return Arrival(
            id: fields["webhook-id"] ?? "", room: content["subject"] as? String ?? "",
            user: data["user"] as? String ?? "")
    }
}
