@testable import RTMP

extension TCPConnection {
    /// Opens a connection, and closes it after its first bytes or when it has ended. Returns that event in words.
    ///
    /// - Parameters:
    ///   - timeout: As for the connection, in seconds.
    ///   - opening: Opens the connection; called on the loop.
    static func firstEvent(
        of destination: Destination, timeout: Int, opening: @escaping @Sendable (TCPConnection) -> Void
    ) async -> String {
        await withCheckedContinuation { continuation in
            SocketLoop.shared.perform {
                var answer: CheckedContinuation<String, Never>? = continuation
                var keeper: TCPConnection?
                let connection = TCPConnection(destination, loop: .shared, timeout: timeout) { event in
                    let words: String? =
                        switch event {
                        case .connected: nil
                        case .received(let bytes, _): "received \(Array(bytes))"
                        case .ended(let fault): "ended \(fault?.words ?? "")"
                        }
                    guard let words else { return }
                    keeper?.close()
                    keeper = nil
                    answer.take()?.resume(returning: words)
                }
                keeper = connection
                opening(connection)
            }
        }
    }
}
