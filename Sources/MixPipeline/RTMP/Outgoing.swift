import Foundation

/// The bytes that a socket has still to be given.
struct Outgoing: Sendable {
    enum Outcome: Hashable, Sendable {
        /// Nothing has changed for whoever waits for the socket.
        case sent
        /// From now on the socket takes no more, until it can be written again.
        case blocked
        /// `errno`.
        case failed(Int32)
    }

    /// −1: not connected yet, or no more.
    var descriptor: Int32 = -1
    /// The socket was full at the last attempt.
    private(set) var isBlocked = false

    private var bytes: [UInt8] = []
    private var head = 0
    /// What the socket was given.
    private var given: Int64 = 0
    private var isFinishing = false

    mutating func send(_ new: [UInt8]) -> Outcome {
        guard !isFinishing else { return .sent }
        // Mostly nothing waits, and nothing has to be copied.
        guard head == bytes.count, descriptor >= 0, !isBlocked else {
            bytes.append(contentsOf: new)
            return .sent
        }
        bytes = new
        head = 0
        return flush()
    }

    /// Gives the socket what it takes.
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
        }
        bytes = []
        head = 0
        isBlocked = false
        if isFinishing { shutdown(descriptor, Int32(SHUT_WR)) }
        return .sent
    }

    /// The end of what is sent follows what waits; what comes after this is lost.
    mutating func finish() {
        guard !isFinishing else { return }
        isFinishing = true
        if head == bytes.count, descriptor >= 0 { shutdown(descriptor, Int32(SHUT_WR)) }
    }

    /// Bytes that have not left this machine.
    var waiting: Int { bytes.count - head + (descriptor >= 0 ? query(Self.unsentBytes) : 0) }

    var progress: TCPConnection.Progress {
        let mine = bytes.count - head
        guard descriptor >= 0 else { return TCPConnection.Progress(waiting: mine) }
        let unsent = query(Self.unsentBytes)
        let unacknowledged = query(Self.unacknowledgedBytes)
        return TCPConnection.Progress(
            waiting: mine + unsent, unacknowledged: max(0, unacknowledged - unsent),
            acknowledged: given - Int64(unacknowledged))
    }

    // SIOCOUTQNSD and SIOCOUTQ of Linux, which Swift does not import.
    private static let unsentBytes: UInt = 0x894B
    private static let unacknowledgedBytes: UInt = 0x5411

    private func query(_ request: UInt) -> Int {
        var count: Int32 = 0
        return ioctl(descriptor, request, &count) == 0 ? Int(count) : 0
    }
}
