/// The client's side of the simple handshake (Adobe RTMP 1.0, §5.2). Pure.
struct RTMPHandshake: Sendable {
    /// Length in bytes of each packet with random numbers.
    static let packetLength = 1536

    /// The first bytes that the client sends: version and random numbers (C0, C1).
    let greeting: [UInt8]

    private var received: [UInt8] = []
    private var hasEchoed = false
    private(set) var isDone = false

    init(using random: inout some RandomNumberGenerator) {
        // Time 0, and zeros for servers that look for Flash's version and digest there.
        greeting =
            [3] + [UInt8](repeating: 0, count: 8)
            + (8..<Self.packetLength).map { _ in .random(in: 0...255, using: &random) }
    }

    /// Consumes the bytes that the handshake needs from the front of `bytes`.
    ///
    /// The echo (C2) is sent as soon as the server's numbers have arrived, not only after the server's own echo: a
    /// server that writes the two in pieces waits for an acknowledgement between them. The server's echo is not
    /// compared, because not every server echoes them.
    ///
    /// - Returns: The bytes to send.
    /// - Throws: `notRTMP` for a wrong first byte.
    mutating func read(_ bytes: inout ArraySlice<UInt8>) throws(RTMPError) -> [UInt8] {
        let piece = bytes.prefix(1 + 2 * Self.packetLength - received.count)
        received.append(contentsOf: piece)
        bytes = bytes.dropFirst(piece.count)
        guard received.first ?? 3 == 3 else { throw .notRTMP }
        isDone = received.count == 1 + 2 * Self.packetLength
        guard !hasEchoed, received.count > Self.packetLength else { return [] }
        hasEchoed = true
        return Array(received[1...Self.packetLength])
    }
}
