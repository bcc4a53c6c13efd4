/// Sending, and what has become of the bytes.
extension TCPConnection {
    /// The progress of the bytes that were passed to a connection.
    package struct Progress: Hashable, Sendable {
        /// Number of bytes that have not left this machine.
        package var waiting = 0
        /// Number of bytes in flight, which the server's machine has not acknowledged.
        package var unacknowledged = 0
        /// Number of bytes that the server's machine has acknowledged.
        package var acknowledged: Int64 = 0
    }

    /// Sends as much as the system accepts at once, and the rest later. Before the connection is established,
    /// everything is sent later. Call from any thread.
    package func send(_ bytes: [UInt8]) {
        act(on: outgoing.withLock { $0.send(bytes) })
    }

    /// Sends bytes in one write with others that are sent like this during the same call from the loop, right after it; at
    /// once if they are many. From any other thread, the same as `send`.
    package func sendTogether(_ bytes: [UInt8]) {
        guard loop.isCurrent else { return send(bytes) }
        act(on: outgoing.withLock { $0.hold(bytes) })
        guard !isHeld else { return }
        isHeld = true
        loop.flushAfterCall(self)
    }

    /// Writes the bytes of `sendTogether`. Called by the loop.
    func flushHeld() {
        isHeld = false
        flush()
    }

    /// Call from any thread.
    func act(on outcome: Outgoing.Outcome) {
        switch outcome {
        case .sent: break
        case .blocked: loop.perform { [weak self] in self?.watchWriting() }
        case .failed(let error): loop.perform { [weak self] in self?.end(afterFailure: error) }
        }
    }

    /// Sends the waiting bytes and ends the output. The server's bytes are still received.
    package func finish() {
        act(on: outgoing.withLock { $0.finish() })
    }

    /// The progress of the bytes passed to `send`. Read from any thread.
    package var progress: Progress { outgoing.withLock { $0.progress } }

    /// The same as `progress.waiting`. Read from any thread.
    package var waiting: Int { outgoing.withLock { $0.waiting } }

    /// Number of bytes that the kernel, or TLS, has not taken yet. Costs no system call. Read from any thread.
    package var queued: Int { outgoing.withLock { $0.queued } }
}
