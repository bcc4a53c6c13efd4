import Foundation
import TextFormats

/// The Unix socket through which a service controls a worker that outlives it. Both sides send lines. The worker obeys
/// one connection; others have not identified themselves yet.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
package final class ControlSocket: @unchecked Sendable {
    /// A connection.
    package struct Sender: Hashable, Sendable {
        fileprivate let number: Int
    }

    private final class Connection {
        var channel: SocketChannel?
        var lines: LineBuffer

        init(limit: Int) { lines = LineBuffer(limit: limit) }
    }

    /// Bytes that may wait for a service before it is disconnected. It gets the complete state when it connects again.
    private static let longestBacklog = 8 << 20
    /// Largest number of connections in addition to the one that is obeyed.
    private static let mostOthers = 16

    private let longestLine: Int
    private let onLine: (Data, Sender) -> Void
    private let onLost: () -> Void
    private var listener: UnixListener?
    private var connections: [Sender: Connection] = [:]
    private var number = 0
    /// The connection that is obeyed.
    package private(set) var service: Sender?

    /// Begins to listen. Call on the loop: lines may arrive as soon as the loop returns to its sockets.
    /// - Parameters:
    ///   - longestLine: Longest line in bytes. A sender of a longer one is disconnected.
    ///   - onLine: Called on the loop.
    ///   - onLost: Called on the loop when the connection that is obeyed has ended.
    package init(
        path: String, longestLine: Int, onLine: @escaping (Data, Sender) -> Void, onLost: @escaping () -> Void
    ) throws(UnixListener.Failure) {
        self.longestLine = longestLine
        self.onLine = onLine
        self.onLost = onLost
        listener = try UnixListener(path: path) { [weak self] descriptor in
            guard let self else {
                Foundation.close(descriptor)
                return
            }
            accept(descriptor)
        }
    }

    /// Obeys this connection from now on, in place of any other: an older service has ended, or has lost its lock.
    package func obey(_ sender: Sender) {
        if let service, service != sender { connections.removeValue(forKey: service)?.channel?.close() }
        service = sender
    }

    /// Sends a line, to the connection that is obeyed unless another is given.
    package func send(_ line: String, to receiver: Sender? = nil) {
        guard let receiver = receiver ?? service, let channel = connections[receiver]?.channel else { return }
        guard channel.pendingBytes < Self.longestBacklog else { return closed(receiver) }
        channel.send(Array(line.utf8) + [0x0A])
    }

    /// Stops listening, and closes every connection once the queued lines are sent.
    package func close() {
        listener?.close()
        listener = nil
        service = nil
        for connection in connections.values { connection.channel?.finish() }
        connections = [:]
    }

    private func accept(_ descriptor: Int32) {
        guard connections.count - (service == nil ? 0 : 1) < Self.mostOthers else {
            Foundation.close(descriptor)
            return
        }
        number += 1
        let sender = Sender(number: number)
        let new = Connection(limit: longestLine)
        connections[sender] = new
        new.channel = SocketChannel(
            descriptor: descriptor, onBytes: { [weak self] in self?.read($0, from: sender) },
            onClosed: { [weak self] in self?.closed(sender) })
    }

    private func read(_ bytes: [UInt8], from sender: Sender) {
        guard let lines = connections[sender]?.lines.push(bytes) else { return closed(sender) }
        for line in lines where connections[sender] != nil { onLine(Data(line), sender) }
    }

    private func closed(_ sender: Sender) {
        connections.removeValue(forKey: sender)?.channel?.close()
        guard service == sender else { return }
        service = nil
        onLost()
    }
}
