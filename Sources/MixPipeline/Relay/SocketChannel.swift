import Dispatch
import Foundation
import Synchronization

/// One connected stream socket: bytes in by callback, bytes out by a queue of its own.
///
/// Owns the descriptor and closes it. Safe to use from any thread; callbacks come one at a time, on a private queue,
/// and must do constant work.
final class SocketChannel: Sendable {
    private let channel: DispatchIO
    private let queue: DispatchQueue
    private let pending = Mutex(0)

    /// - Parameters:
    ///   - onBytes: what arrived, in order.
    ///   - onClosed: once, when the other side closed or the connection broke; not after `close()`.
    init(
        descriptor: Int32, label: String, onBytes: @escaping @Sendable ([UInt8]) -> Void,
        onClosed: @escaping @Sendable () -> Void
    ) {
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
    var pendingBytes: Int { pending.withLock { $0 } }

    /// Queues `bytes`; never blocks. After the connection broke they are lost, and `onClosed` says so.
    func send(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        pending.withLock { $0 += bytes.count }
        let data = bytes.withUnsafeBytes { DispatchData(bytes: $0) }
        channel.write(offset: 0, data: data, queue: queue) { [weak self] done, _, _ in
            if done { self?.pending.withLock { $0 -= bytes.count } }
        }
    }

    /// Sends what is queued, then closes.
    func finish() { channel.close() }

    /// Closes at once; what is queued is lost.
    func close() { channel.close(flags: .stop) }
}
