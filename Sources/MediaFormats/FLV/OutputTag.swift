import EncodedMedia
import Synchronization

/// An FLV tag for receivers of a program. Each of its encoded forms is made once, when the first receiver needs it, and
/// shared by all receivers.
public struct OutputTag: Hashable, Sendable {
    package let tag: FLVTag
    private let forms = SharedForms()

    public init(_ tag: FLVTag) { self.tag = tag }

    public var role: FLVTag.Role { tag.role }
    /// Timestamp in ms.
    public var timestamp: UInt32 { tag.timestamp }
    /// Size of `bytes`.
    package var size: Int { tag.encodedSize }

    public static func == (one: OutputTag, other: OutputTag) -> Bool { one.tag == other.tag }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(role)
        hasher.combine(timestamp)
    }

    /// Tag header, body and back pointer.
    public var bytes: [UInt8] { forms.tag { tag.encoded } }

    /// Returns the tag as an RTMP message for most servers. The first caller encodes it; later callers share the
    /// result.
    package func message(_ make: () -> [UInt8]) -> [UInt8] { forms.message(make) }

    private final class SharedForms: Sendable {
        struct Forms {
            var tag: [UInt8]?
            var message: [UInt8]?
        }
        private let forms = Mutex(Forms())

        func tag(_ make: () -> [UInt8]) -> [UInt8] {
            forms.withLock { forms in
                if let known = forms.tag { return known }
                let made = make()
                forms.tag = made
                return made
            }
        }

        // A function of its own, because access through key paths costs more than the rest of it.
        func message(_ make: () -> [UInt8]) -> [UInt8] {
            forms.withLock { forms in
                if let known = forms.message { return known }
                let made = make()
                forms.message = made
                return made
            }
        }
    }

    package var isIDR: Bool { role == .frame(.video, isIDR: true) }

    package var isFrame: Bool {
        if case .frame = role { true } else { false }
    }

    /// Returns the same tag with another timestamp, for a header that is repeated on a new connection.
    package func at(_ timestamp: UInt32) -> OutputTag {
        var tag = tag
        tag.timestamp = timestamp
        return OutputTag(tag)
    }
}
