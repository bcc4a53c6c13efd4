import ProgramSplicer

/// An FLV tag as it goes to destinations: encoded once, shared by all of them.
public struct OutputTag: Hashable, Sendable {
    public let role: FLVTag.Role
    /// In ms, as in the bytes.
    public let timestamp: UInt32
    /// Tag header, body and back pointer.
    public let bytes: [UInt8]

    public init(_ tag: FLVTag) {
        role = tag.role
        timestamp = tag.timestamp
        bytes = tag.encoded
    }

    private init(role: FLVTag.Role, timestamp: UInt32, bytes: [UInt8]) {
        self.role = role
        self.timestamp = timestamp
        self.bytes = bytes
    }

    var isIDR: Bool { role == .frame(.video, isIDR: true) }

    var isFrame: Bool {
        if case .frame = role { true } else { false }
    }

    /// The same tag at another time: a header repeated for a new connection.
    func at(_ timestamp: UInt32) -> OutputTag {
        guard bytes.count >= FLVTag.headerLength else { return self }
        var bytes = bytes
        for (index, shift) in [(4, 16), (5, 8), (6, 0), (7, 24)] as [(Int, UInt32)] {
            bytes[index] = UInt8(truncatingIfNeeded: timestamp >> shift)
        }
        return OutputTag(role: role, timestamp: timestamp, bytes: bytes)
    }
}
