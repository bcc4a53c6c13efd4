import RTMP
import TextFormats

/// Finds out whether a server listens, before a process or a pipeline is created for it.
///
/// Used for attempts after a failure, so that a server that stays unreachable costs this machine little.
enum ConnectionProbe {
    /// Connects to the destination, and closes the connection at once.
    ///
    /// - Parameters:
    ///   - tls: Trusted certificates, by which the server's must be signed; `nil` means no TLS.
    ///   - timeout: Longest wait in seconds.
    /// - Throws: The reason why there is no connection.
    static func run(
        _ destination: Destination, tls: TLSContext? = nil, timeout: Int, _ redaction: URLRedaction
    ) async throws(PullEnd) {
        if let fault = await fault(destination, tls: tls, timeout: timeout) { throw PullEnd(fault, redaction) }
    }

    /// Returns the reason why there is no connection to the destination; `nil` if there is one, which is closed at once.
    static func fault(_ destination: Destination, tls: TLSContext? = nil, timeout: Int) async -> ConnectionFault? {
        await withCheckedContinuation { continuation in
            let loop = SocketLoop.shared
            loop.perform {
                let probe = Probe(continuation)
                let connection = TCPConnection(destination, tls: tls, loop: loop, timeout: timeout) { event in
                    switch event {
                    case .connected: probe.end(nil)
                    case .received: break
                    case .ended(let fault): probe.end(fault ?? ConnectionFault(.lost, "the server closed"))
                    }
                }
                probe.connection = connection
                connection.open()
            }
        }
    }

    /// `@unchecked Sendable`: its state belongs to the loop.
    private final class Probe: @unchecked Sendable {
        var connection: TCPConnection?
        private var continuation: CheckedContinuation<ConnectionFault?, Never>?

        init(_ continuation: CheckedContinuation<ConnectionFault?, Never>) { self.continuation = continuation }

        func end(_ fault: ConnectionFault?) {
            continuation?.resume(returning: fault)
            continuation = nil
            let connection = connection
            self.connection = nil
            // Not from within its own event.
            SocketLoop.shared.perform { connection?.close() }
        }
    }
}
