import EncodedMedia

/// A message that travels over a byte stream: length of the rest (4 bytes, big-endian) · kind (1 byte) · body.
public protocol WireMessage: Sendable {
    /// Returns length, kind and body.
    func wireBytes() throws(WireError) -> [UInt8]
    init(kind: UInt8, body: ArraySlice<UInt8>) throws(WireError)
}

/// An error in the bytes of a message.
public enum WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The length is 0, or exceeds `MessageReader.maximumLength`.
    case badLength(Int)
    case unknownKind(UInt8)
    /// The body of this kind ends too early or lacks required content.
    case malformed(kind: UInt8, reason: String)

    public var description: String {
        switch self {
        case .badLength(let length):
            "message length \(length) is outside 1…\(MessageReader<MixerReport>.maximumLength)"
        case .unknownKind(let kind): "unknown message kind \(kind)"
        case .malformed(let kind, let reason): "malformed message of kind \(kind): \(reason)"
        }
    }
}

/// Cuts a byte stream into messages. Bytes may arrive in pieces of any size.
///
/// After an error the stream is out of step: close it.
public struct MessageReader<Message: WireMessage>: Sendable {
    /// Maximum length of kind and body together, in bytes.
    public static var maximumLength: Int { 16 << 20 }

    private var bytes: [UInt8] = []
    /// Index before which everything has been returned.
    private var start = 0

    public init() {}

    /// Number of bytes held that have not been returned as messages yet.
    public var pendingBytes: Int { bytes.count - start }

    /// Adds bytes that arrived, cut anywhere.
    public mutating func push(_ more: some Sequence<UInt8>) {
        // Moving the rest to the front only here makes reading a burst of messages linear.
        if start > 0 {
            bytes.removeSubrange(..<start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// Returns the next whole message; `nil` if more bytes are needed.
    public mutating func next() throws(WireError) -> Message? {
        guard let length = bytes.bigEndian(Int.self, at: start, bytes: 4) else { return nil }
        guard (1...Self.maximumLength).contains(length) else { throw .badLength(length) }
        guard pendingBytes >= 4 + length else { return nil }
        let body = start + 5..<start + 4 + length
        let kind = bytes[start + 4]
        start = body.upperBound
        return try Message(kind: kind, body: bytes[body])
    }
}
