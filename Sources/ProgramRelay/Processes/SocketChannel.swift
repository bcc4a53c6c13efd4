import Dispatch
import Foundation
import Synchronization

/// A connected stream socket. Delivers its input by callback and has a queue of its own for its output.
///
/// Owns the descriptor and closes it. Safe to use from any thread. Callbacks come one at a time on a private queue, and
/// must do constant work.
final class SocketChannel: Sendable {
    private struct Sending {
        var pending = 0
        /// Whether writing ends after what is pending.
        var isEnding = false
    }

    private let channel: DispatchIO
    private let queue: DispatchQueue
    private let sending = Mutex(Sending())
    private let onSent: (@Sendable () -> Void)?

    /// Creates a channel, which begins to read at once.
    /// - Parameters:
    ///   - onBytes: Takes bytes as they arrive, in order.
    ///   - onSent: Called when all bytes handed over are with the kernel, or lost.
    ///   - onClosed: Called once, when the other side has closed or the connection broke; not after `close()`.
    init(
        descriptor: Int32, label: String, onBytes: @escaping @Sendable ([UInt8]) -> Void,
        onSent: (@Sendable () -> Void)? = nil, onClosed: @escaping @Sendable () -> Void
    ) {
        self.onSent = onSent
        queue = DispatchQueue(label: label)
        channel = DispatchIO(type: .stream, fileDescriptor: descriptor, queue: queue) { _ in
            Foundation.close(descriptor)
        }
        channel.setLimit(lowWater: 1)
        channel.read(offset: 0, length: .max, queue: queue) { done, data, error in
            if let data, !data.isEmpty { onBytes([UInt8](data)) }
            if done, error != ECANCELED { onClosed() }
        }
    }

    /// Bytes that were handed over and are not yet with the kernel.
    var pendingBytes: Int { sending.withLock { $0.pending } }

    /// Queues `bytes`; never blocks. If the connection has broken they are lost, and `onClosed` is called.
    func send(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        sending.withLock { $0.pending += bytes.count }
        let data = bytes.withUnsafeBytes { DispatchData(bytes: $0) }
        channel.write(offset: 0, data: data, queue: queue) { [weak self] done, _, _ in
            if done { self?.sent(bytes.count) }
        }
    }

    /// Ends the output after what is queued. Input is still received.
    func endWriting() {
        let isIdle = sending.withLock { sending in
            sending.isEnding = true
            return sending.pending == 0
        }
        if isIdle { shutdown(channel.fileDescriptor, Int32(SHUT_WR)) }
    }

    /// Sends what is queued, then closes.
    func finish() { channel.close() }

    /// Closes at once. Queued bytes are lost.
    func close() { channel.close(flags: .stop) }

    private func sent(_ count: Int) {
        let (isIdle, isEnding) = sending.withLock { sending in
            sending.pending -= count
            return (sending.pending == 0, sending.isEnding)
        }
        guard isIdle else { return }
        if isEnding { shutdown(channel.fileDescriptor, Int32(SHUT_WR)) }
        onSent?()
    }
}
