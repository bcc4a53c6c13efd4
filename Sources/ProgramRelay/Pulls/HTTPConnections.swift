import EncodedMedia
import RTMP

/// Connections on which further requests may be sent (RFC 9112 §9.3).
///
/// `@unchecked Sendable`: its state belongs to the loop, on which every method must be called.
final class HTTPConnections: @unchecked Sendable {
    /// Largest number of idle connections.
    static let most = 4
    /// Longest idle time in ns. Servers close theirs after a minute or later.
    static let longest: Int64 = 30_000_000_000

    private var idle: [(line: HTTPLine, since: Int64)] = []

    deinit {
        let lines = idle.map(\.line)
        SocketLoop.shared.perform { for line in lines { line.close() } }
    }

    /// Removes and returns an idle connection to the server; `nil` if there is none.
    func take(to server: String, now: Int64) -> HTTPLine? {
        while let first = idle.first, now - first.since > Self.longest { remove(first.line) }
        guard let index = idle.lastIndex(where: { $0.line.server == server }) else { return nil }
        return idle.remove(at: index).line
    }

    /// Keeps a connection whose response is complete.
    func put(_ line: HTTPLine, now: Int64) {
        // The connection ended, or unrequested bytes arrived.
        line.onEvent = { [weak self, weak line] _ in
            if let line { self?.remove(line) }
        }
        idle.append((line, now))
        if idle.count > Self.most, let first = idle.first { remove(first.line) }
    }

    private func remove(_ line: HTTPLine) {
        idle.removeAll { $0.line === line }
        // Not from within its own event.
        SocketLoop.shared.perform { line.close() }
    }
}

/// A connection whose events go to the request that it serves.
///
/// `@unchecked Sendable`: its state belongs to the loop, on which every method must be called.
final class HTTPLine: @unchecked Sendable {
    /// Scheme, host and port.
    let server: String
    var onEvent: (TCPConnection.Event) -> Void
    private var connection: TCPConnection?

    init(_ destination: Destination, tls: TLSContext?, timeout: Int, onEvent: @escaping (TCPConnection.Event) -> Void) {
        server = Self.server(destination, tls: tls)
        self.onEvent = onEvent
        connection = TCPConnection(destination, tls: tls, loop: .shared, timeout: timeout) { [weak self] event in
            self?.onEvent(event)
        }
        connection?.open()
    }

    static func server(_ destination: Destination, tls: TLSContext?) -> String {
        "\(tls == nil ? "http" : "https")://\(destination.target.host):\(destination.target.port)"
    }

    func send(_ bytes: [UInt8]) { connection?.send(bytes) }

    func close() {
        connection?.close()
        connection = nil
    }
}
