import EncodedMedia

/// The server's side of the handshake: the simple one (Adobe RTMP 1.0, §5.2), and the one with digests that Flash and
/// several encoders use. Pure.
///
/// Nothing is sent before a complete C0 and C1 have arrived, so that a response is at most twice as long as the
/// request.
struct RTMPServerHandshake: Sendable {
    static let packetLength = RTMPHandshake.packetLength

    private(set) var isDone = false
    /// Whether the client signed its numbers and received signed ones.
    private(set) var isDigested = false
    private var received: [UInt8] = []
    private var missingEcho = packetLength

    private static let serverWords = Array("Genuine Adobe Flash Media Server 001".utf8)
    private static let clientWords = Array("Genuine Adobe Flash Player 001".utf8)
    /// Public constant that follows the text in the key of S2.
    private static let suffix: [UInt8] = [
        0xF0, 0xEE, 0xC2, 0x4A, 0x80, 0x68, 0xBE, 0xE8, 0x2E, 0x00, 0xD0, 0xD1, 0x02, 0x9E, 0x7E, 0x57,
        0x6E, 0xEC, 0x5D, 0x2D, 0x29, 0x80, 0x6F, 0xAB, 0x93, 0xB8, 0xE6, 0x36, 0xCF, 0xEB, 0x31, 0xAE,
    ]
    /// Positions of the four bytes that encode the position of the digest, for the two forms in use.
    private static let offsetPositions = [772, 8]
    /// Version in S1 by which clients recognise that the digest is present.
    private static let digestVersion: [UInt8] = [3, 5, 1, 1]

    /// Consumes the bytes that the handshake needs from the front of `bytes`.
    ///
    /// The client's echo (C2) is counted but not compared, because not every client echoes.
    ///
    /// - Returns: The bytes to send.
    /// - Throws: `notRTMP` for a wrong first byte.
    mutating func read(
        _ bytes: inout ArraySlice<UInt8>, using random: inout some RandomNumberGenerator
    ) throws(RTMPError) -> [UInt8] {
        var answer: [UInt8] = []
        let wanted = 1 + Self.packetLength
        if received.count < wanted {
            let piece = bytes.prefix(wanted - received.count)
            guard received.first ?? piece.first ?? 3 == 3 else { throw .notRTMP }
            received.append(contentsOf: piece)
            bytes = bytes.dropFirst(piece.count)
            guard received.count == wanted else { return [] }
            answer = makeAnswer(to: Array(received.dropFirst()), using: &random)
        }
        let echo = bytes.prefix(missingEcho)
        bytes = bytes.dropFirst(echo.count)
        missingEcho -= echo.count
        isDone = missingEcho == 0
        if isDone { received = [] }
        return answer
    }

    /// Returns S0, S1 and S2.
    private mutating func makeAnswer(to client: [UInt8], using random: inout some RandomNumberGenerator) -> [UInt8] {
        var numbers = Self.numbers(Self.packetLength, using: &random)
        for (index, position) in Self.offsetPositions.enumerated() {
            let place = Self.digestPlace(in: client, offsetAt: position)
            guard Self.digest(of: client, around: place, key: Self.clientWords).elementsEqual(client[place]) else {
                continue
            }
            isDigested = true
            numbers.replaceSubrange(0..<8, with: [0, 0, 0, 0] + Self.digestVersion)
            let own = Self.digestPlace(in: numbers, offsetAt: Self.offsetPositions[index])
            numbers.replaceSubrange(own, with: Self.digest(of: numbers, around: own, key: Self.serverWords))
            let key = TLSDigest.authenticationCode(of: client[place], key: Self.serverWords + Self.suffix)
            var echo = Self.numbers(Self.packetLength - TLSDigest.length, using: &random)
            echo += TLSDigest.authenticationCode(of: echo, key: key)
            return [3] + numbers + echo
        }
        numbers.replaceSubrange(0..<8, with: repeatElement(0, count: 8))
        return [3] + numbers + client
    }

    private static func digestPlace(in packet: [UInt8], offsetAt position: Int) -> Range<Int> {
        let offset = packet[position..<position + 4].reduce(0) { $0 + Int($1) } % 728
        return position + 4 + offset..<position + 4 + offset + TLSDigest.length
    }

    private static func digest(of packet: [UInt8], around place: Range<Int>, key: [UInt8]) -> [UInt8] {
        TLSDigest.authenticationCode(of: packet[..<place.lowerBound] + packet[place.upperBound...], key: key)
    }

    private static func numbers(_ count: Int, using random: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        // SplitMix64: each system random number costs a system call, and unauthenticated clients cause 192 of them.
        var state: UInt64 = random.next()
        while bytes.count < count {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            bytes.appendBigEndian(mixed ^ mixed >> 31)
        }
        return Array(bytes.prefix(count))
    }
}
