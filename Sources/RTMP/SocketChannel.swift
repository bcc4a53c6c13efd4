import Foundation
import Synchronization

/// A connected stream socket on the socket loop. Delivers its input by callback and queues its output. Bytes sent in
/// one turn of the loop go out together.
///
/// Owns the descriptor and closes it. Safe to use from any thread. Callbacks come one at a time on the loop, never from
/// within a call, and must do constant work.
///
/// `@unchecked Sendable`: `sending` locks itself; all other state belongs to the loop.
package final class SocketChannel: @unchecked Sendable {
    private struct Sending {
        var bytes: [UInt8] = []
        /// Number of `bytes` that the kernel has already accepted.
        var head = 0
        /// Whether the loop will process `bytes` without being told.
        var isScheduled = false
        /// Whether writing ends after the pending bytes.
        var isEnding = false
        /// Whether the kernel accepts no more output.
        var isOver = false

        var pending: Int { bytes.count - head }

        mutating func take(_ count: Int) {
            head += count
            if head == bytes.count {
                // A large buffer is released.
                bytes.removeAll(keepingCapacity: bytes.count <= SocketChannel.piece)
                head = 0
            } else if head > SocketChannel.piece, head * 2 > bytes.count {
                bytes.removeFirst(head)
                head = 0
            }
        }

        mutating func end() {
            isOver = true
            bytes = []
            head = 0
        }
    }

    /// Maximum number of bytes per read.
    private static let piece = 1 << 16

    private let loop = SocketLoop.shared
    private let onBytes: @Sendable ([UInt8]) -> Void
    private let onSent: (@Sendable () -> Void)?
    private let onClosed: @Sendable () -> Void
    private let sending = Mutex(Sending())
    private var descriptor: Int32
    private var watch: SocketLoop.Watch?
    private var isFull = false
    /// Whether input waits in the socket until `resume()`.
    private var isPaused: Bool
    /// Whether the other side can still send bytes.
    private var isOpen = true
    /// Whether `finish()` was called: input is not delivered any more.
    private var isFinishing = false

    /// Creates a channel.
    /// - Parameters:
    ///   - isPaused: Whether reading begins with `resume()` instead of at once.
    ///   - onBytes: Called with bytes as they arrive, in order.
    ///   - onSent: Called when all bytes handed over are with the kernel, or lost.
    ///   - onClosed: Called once, when the other side has closed or the connection broke; not after `close()` or
    ///     `finish()`.
    package init(
        descriptor: Int32, isPaused: Bool = false, onBytes: @escaping @Sendable ([UInt8]) -> Void,
        onSent: (@Sendable () -> Void)? = nil, onClosed: @escaping @Sendable () -> Void
    ) {
        self.descriptor = descriptor
        self.isPaused = isPaused
        self.onBytes = onBytes
        self.onSent = onSent
        self.onClosed = onClosed
        loop.run { [self] in
            let watch = SocketLoop.Watch(onReady: { self.ready() }, onDeadline: {})
            self.watch = watch
            loop.add(watch)
            updateWatch()
        }
    }

    /// Begins to read, if the channel was created paused.
    package func resume() {
        loop.run { [self] in
            isPaused = false
            updateWatch()
        }
    }

    /// Number of bytes that were sent and are not yet with the kernel.
    package var pendingBytes: Int { sending.withLock { $0.pending } }

    /// Queues `bytes`; never blocks. If the connection has broken they are lost, and `onClosed` is called.
    package func send(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        let isScheduled = sending.withLock { sending in
            guard !sending.isOver, !sending.isEnding else { return true }
            sending.bytes += bytes
            defer { sending.isScheduled = true }
            return sending.isScheduled
        }
        if !isScheduled { loop.perform { [self] in flush() } }
    }

    /// Ends the output after the queued bytes. Input is still received.
    package func endWriting() {
        sending.withLock { $0.isEnding = true }
        loop.perform { [self] in flush() }
    }

    /// Sends the queued data, and closes when the other side has closed. Further input is discarded.
    package func finish() {
        loop.perform { [self] in
            isFinishing = true
            flush()
            closeIfDone()
        }
    }

    /// Closes at once. Queued bytes are lost.
    package func close() {
        sending.withLock { $0.end() }
        loop.run { [self] in release() }
    }

    // MARK: - On the loop

    private func ready() {
        if isFull { flush() }
        if isOpen, !isPaused { receive() }
        closeIfDone()
    }

    private func receive() {
        // Bounded, so that a fast sender does not delay the other sockets on the loop.
        for _ in 0..<4 {
            guard watch != nil, isOpen else { return }
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.piece) { [descriptor] buffer, count in
                result = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                count = max(0, result)
            }
            let error = errno
            guard result > 0 else {
                if result < 0, error == EINTR { continue }
                if result == 0 || error != EAGAIN { ended() }
                return
            }
            if !isFinishing { onBytes(bytes) }
            if result < Self.piece { return }
        }
    }

    /// Records that the input has ended. Output may still be accepted.
    private func ended() {
        isOpen = false
        updateWatch()
        if !isFinishing { onClosed() }
    }

    private func flush() {
        guard watch != nil else { return }
        let isEmpty = sending.withLock { sending in
            sending.isScheduled = false
            isFull = write(&sending)
            // `ready()` checks the bytes added meanwhile.
            if isFull { sending.isScheduled = true }
            if sending.isEnding, sending.pending == 0 { shutdown(descriptor, Int32(SHUT_WR)) }
            return sending.pending == 0
        }
        updateWatch()
        if isEmpty { onSent?() }
    }

    /// Writes as much as the kernel accepts.
    /// - Returns: Whether it accepts no more for the moment.
    private func write(_ sending: inout Sending) -> Bool {
        while sending.pending > 0 {
            let (head, descriptor) = (sending.head, descriptor)
            let count = sending.bytes.withUnsafeBytes { buffer in
                Foundation.send(
                    descriptor, buffer.baseAddress.map { $0 + head }, buffer.count - head,
                    Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if count < 0 {
                if errno == EINTR { continue }
                if errno == EAGAIN { return true }
                sending.end()
                return false
            }
            sending.take(count)
        }
        return false
    }

    /// Waits for the events that can still occur. A socket that expects none is omitted, because `poll()` would
    /// immediately report that the peer has gone.
    private func updateWatch() {
        let isReading = isOpen && !isPaused
        watch?.events = (isReading ? POLLIN : 0) | (isFull ? POLLOUT : 0)
        watch?.descriptor = isReading || isFull ? descriptor : -1
    }

    private func closeIfDone() {
        if isFinishing, !isOpen, pendingBytes == 0 { release() }
    }

    private func release() {
        guard descriptor >= 0 else { return }
        if let watch { loop.remove(watch) }
        watch = nil
        isOpen = false
        Foundation.close(descriptor)
        descriptor = -1
    }
}
