import Foundation

/// The bytes that are waiting for a socket, encrypted if there is a `TLSSession`.
///
/// All numbers count bytes as they were passed to `send`, before encryption.
struct Outgoing {
    enum Outcome: Hashable, Sendable {
        /// Nothing has changed for code that waits for the socket.
        case sent
        /// The socket accepts no more bytes until it is writable again.
        case blocked
        /// The socket has failed, with this `errno`.
        case failed(Int32)
    }

    /// The result of receiving bytes from the server.
    struct Reception: Hashable, Sendable {
        var plaintext: [UInt8] = []
        var state: TLSSession.State
        /// Outcome of sending the responses of TLS.
        var outcome: Outcome
    }

    /// The socket; −1 before it is connected and after it is closed.
    var descriptor: Int32 = -1
    /// Whether the socket was full at the last attempt.
    private(set) var isBlocked = false

    /// The TLS session; `nil` sends bytes as they are.
    private let tls: TLSSession?
    private var tlsProgress = TLSProgress()
    /// Plaintext that TLS does not accept yet.
    private var early: [UInt8] = []

    private var bytes: [UInt8] = []
    private var head = 0
    /// Number of bytes that the socket has accepted.
    private var given: Int64 = 0
    private var isFinishing = false
    /// Whether the socket has accepted bytes since the last `takeHasWritten()`.
    private var hasWritten = false
    /// Whether no more bytes are added to `bytes`.
    private var isComplete = false
    /// Whether bytes are queued without writing them.
    private var isHolding = false

    /// - Parameter tls: A session that no other code uses.
    init(tls: TLSSession? = nil) { self.tls = tls }

    mutating func send(_ new: [UInt8]) -> Outcome {
        guard !isFinishing else { return .sent }
        guard let tls else { return give(new) }
        guard early.isEmpty, tls.write(new) else {
            early += new
            return .sent
        }
        return giveEncrypted(new.count, by: tls)
    }

    /// Number of held bytes from which they are written at once: one write for even more saves hardly anything, and a sender
    /// that limits the bytes that wait here must see those that the socket would accept as sent.
    static let mostHeld = 1 << 15

    /// Queues bytes like `send`, and leaves writing them to `flush()`, with others, unless they are many.
    mutating func hold(_ new: [UInt8]) -> Outcome {
        isHolding = true
        _ = send(new)
        isHolding = false
        return bytes.count - head < Self.mostHeld || isBlocked ? .sent : flush()
    }

    /// Writes as many bytes as the socket accepts.
    mutating func flush() -> Outcome {
        guard descriptor >= 0 else { return .sent }
        while head < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Foundation.send(
                    descriptor, buffer.baseAddress.map { $0 + head }, buffer.count - head, Int32(MSG_NOSIGNAL))
            }
            guard count >= 0 else {
                if errno == EINTR { continue }
                guard errno == EAGAIN else { return .failed(errno) }
                defer { isBlocked = true }
                return isBlocked ? .sent : .blocked
            }
            head += count
            given += Int64(count)
            hasWritten = true
        }
        bytes = []
        head = 0
        isBlocked = false
        if isComplete { shutdown(descriptor, Int32(SHUT_WR)) }
        return .sent
    }

    /// Returns whether the socket has accepted bytes since the last call.
    mutating func takeHasWritten() -> Bool {
        defer { hasWritten = false }
        return hasWritten
    }

    /// Ends the output after the waiting bytes. Bytes sent after this are lost.
    @discardableResult
    mutating func finish() -> Outcome {
        guard !isFinishing else { return .sent }
        isFinishing = true
        if let tls { return early.isEmpty ? sayGoodbye(by: tls) : .sent }
        isComplete = true
        if head == bytes.count, descriptor >= 0 { shutdown(descriptor, Int32(SHUT_WR)) }
        return .sent
    }

    // MARK: - TLS

    /// Begins the TLS handshake on a socket that is connected.
    mutating func beginHandshake() -> Outcome {
        guard let tls else { return .sent }
        tls.begin()
        return give(tls.takeOutput())
    }

    /// Decrypts received bytes and sends the responses that TLS requires. Returns `nil` without TLS.
    mutating func receive(_ new: ArraySlice<UInt8>) -> Reception? {
        guard let tls else { return nil }
        let plaintext = tls.receive(new)
        var outcome = give(tls.takeOutput())
        // This happens in the middle of a stream, too: TLS accepts nothing while it has only part of a message from the
        // server.
        if !early.isEmpty, tls.write(early) {
            let count = early.count
            early = []
            outcome = worse(outcome, giveEncrypted(count, by: tls))
            if isFinishing { outcome = worse(outcome, sayGoodbye(by: tls)) }
        }
        return Reception(plaintext: plaintext, state: tls.state, outcome: outcome)
    }

    private mutating func giveEncrypted(_ count: Int, by tls: TLSSession) -> Outcome {
        let ciphertext = tls.takeOutput()
        if count > 0 { tlsProgress.wrote(count, endingAt: total + Int64(ciphertext.count)) }
        return give(ciphertext)
    }

    private mutating func sayGoodbye(by tls: TLSSession) -> Outcome {
        tls.finish()
        let ciphertext = tls.takeOutput()
        // Code that waits for the last bytes waits for this, too.
        tlsProgress.extend(to: total + Int64(ciphertext.count))
        isComplete = true
        return give(ciphertext)
    }

    /// Returns the one of two successive outcomes on which the caller must act.
    private func worse(_ one: Outcome, _ other: Outcome) -> Outcome {
        if case .failed = one { one } else { other == .sent ? one : other }
    }

    // MARK: - The socket

    private mutating func give(_ new: [UInt8]) -> Outcome {
        // Usually no bytes wait, and none have to be copied.
        guard head == bytes.count else {
            // The socket may take bytes for hours without ever taking all of them.
            if head > Self.mostSpent, head > bytes.count - head {
                bytes.removeFirst(head)
                head = 0
            }
            bytes.append(contentsOf: new)
            return .sent
        }
        bytes = new
        head = 0
        return isHolding || isBlocked || descriptor < 0 ? .sent : flush()
    }

    /// Total number of bytes for the socket so far.
    private var total: Int64 { given + Int64(bytes.count - head) }

    /// Whether bytes wait until TLS has received more from the peer.
    var awaitsPeer: Bool { !early.isEmpty }

    /// Number of bytes that the socket has not taken. A peer that sends TLS only a part of a message can make all of them wait
    /// for it.
    var queued: Int { early.count + bytes.count - head }

    /// Number of bytes in memory for the socket, with those that it has taken.
    var kept: Int { bytes.count }

    /// Number of taken bytes up to which they stay in memory while others wait.
    private static let mostSpent = 1 << 16

    /// Number of bytes that have not left this machine.
    var waiting: Int {
        let left = given - Int64(descriptor >= 0 ? query(Self.unsentBytes) : 0)
        guard tls != nil else { return Int(total - left) }
        return early.count + Int(tlsProgress.written - tlsProgress.plaintext(within: left))
    }

    var progress: TCPConnection.Progress {
        mutating get {
            guard descriptor >= 0 else { return TCPConnection.Progress(waiting: waiting) }
            let unsent = query(Self.unsentBytes)
            let unacknowledged = query(Self.unacknowledgedBytes)
            let acknowledged = given - Int64(unacknowledged)
            guard tls != nil else {
                return TCPConnection.Progress(
                    waiting: bytes.count - head + unsent, unacknowledged: max(0, unacknowledged - unsent),
                    acknowledged: acknowledged)
            }
            tlsProgress.confirm(acknowledged)
            let left = tlsProgress.plaintext(within: given - Int64(unsent))
            return TCPConnection.Progress(
                waiting: early.count + Int(tlsProgress.written - left), unacknowledged: Int(left - tlsProgress.arrived),
                acknowledged: tlsProgress.arrived)
        }
    }

    // SIOCOUTQNSD and SIOCOUTQ of Linux, which Swift does not import.
    private static let unsentBytes: UInt = 0x894B
    private static let unacknowledgedBytes: UInt = 0x5411

    private func query(_ request: UInt) -> Int {
        var count: Int32 = 0
        return ioctl(descriptor, request, &count) == 0 ? Int(count) : 0
    }
}
