import EncodedMedia
import Synchronization

/// An FLV tag for destinations: encoded once, as a tag and as an RTMP message, and shared by all of them.
public struct OutputTag: Hashable, Sendable {
    public let role: FLVTag.Role
    /// Timestamp in ms, as encoded in `bytes`.
    public let timestamp: UInt32
    /// Tag header, body and back pointer.
    public let bytes: [UInt8]
    private let message = SharedMessage()

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

    public static func == (one: OutputTag, other: OutputTag) -> Bool {
        one.role == other.role && one.timestamp == other.timestamp && one.bytes == other.bytes
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(role)
        hasher.combine(timestamp)
    }

    /// Returns the tag as RTMP carries it to most servers. The first caller encodes it, later ones share the result.
    package func message(_ make: () -> [UInt8]) -> [UInt8] { message.bytes(make) }

    private final class SharedMessage: Sendable {
        private let encoded = Mutex<[UInt8]?>(nil)

        func bytes(_ make: () -> [UInt8]) -> [UInt8] {
            encoded.withLock { encoded in
                if let encoded { return encoded }
                let made = make()
                encoded = made
                return made
            }
        }
    }

    package var isIDR: Bool { role == .frame(.video, isIDR: true) }

    package var isFrame: Bool {
        if case .frame = role { true } else { false }
    }

    /// Returns the same tag at another time, for a header that is repeated on a new connection.
    package func at(_ timestamp: UInt32) -> OutputTag {
        guard bytes.count >= FLVTag.headerLength else { return self }
        var bytes = bytes
        bytes.setBigEndian(FLVTagHeader.timeField(timestamp), at: FLVTagHeader.timeIndex)
        return OutputTag(role: role, timestamp: timestamp, bytes: bytes)
    }
}
