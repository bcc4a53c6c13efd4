import MediaFormats
import NIOCore

/// One tag of a program as sent to viewers (Adobe Flash Video File Format 10.1, §E.4.1).
struct ViewedTag: Hashable, Sendable {
    enum Role: Hashable, Sendable {
        case metadata
        /// The places of participants in the picture (`FLVCue.layout`).
        case layout
        /// Sequence headers.
        case videoHeader, audioHeader
        case picture(isIDR: Bool)
        case sound

        var isFrame: Bool {
            switch self {
            case .picture, .sound: true
            case .metadata, .layout, .videoHeader, .audioHeader: false
            }
        }
    }

    var role: Role
    /// Decoding time in ms. The timestamp inside `bytes` may differ.
    var timestamp: UInt32
    /// Tag header, body and back pointer.
    var bytes: ByteBuffer

    static let headerLength = 11

    /// The body and the back pointer.
    var body: ByteBufferView { bytes.readableBytesView.dropFirst(Self.headerLength) }
}

extension UInt32 {
    /// Returns the milliseconds from another timestamp to this one. Timestamps wrap at 2³².
    func milliseconds(since other: UInt32) -> Int { Int(Int32(bitPattern: self &- other)) }
}

/// Cuts an FLV stream, in pieces of any size, into tags. Inspects them only as far as needed to find where a player can
/// start.
struct FLVTagScanner: Sendable {
    /// The reason why the stream cannot be read any further.
    enum Failure: Error, Hashable, Sendable {
        case notFLV
        /// A tag of a type that FLV does not define: the stream is out of step.
        case brokenTag(UInt8)
    }

    /// Track flags of the file header: 4 = audio, 1 = video. `nil` until the header has arrived.
    private(set) var tracks: UInt8?
    private var buffer = ByteBuffer()

    /// Length of the file header and the first back pointer, in bytes (§E.2, §E.3).
    static let fileHeaderLength = 13
    /// Bytes already read that may stay in the buffer before they are discarded.
    private static let slack = 64 << 10

    mutating func push(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer.clear()
        } else if buffer.readerIndex > Self.slack {
            buffer.discardReadBytes()
        }
        buffer.writeImmutableBuffer(bytes)
    }

    /// Returns the next complete tag. Its bytes are a part of a larger buffer and must not be kept.
    ///
    /// After a `Failure` the scanner must not be used again.
    mutating func next() throws(Failure) -> ViewedTag? {
        if tracks == nil {
            guard buffer.readableBytes >= Self.fileHeaderLength else { return nil }
            guard let header = buffer.readBytes(length: Self.fileHeaderLength), header.starts(with: "FLV".utf8) else {
                throw .notFLV
            }
            tracks = header[4]
        }
        let start = buffer.readerIndex
        guard buffer.readableBytes >= ViewedTag.headerLength,
            let word = buffer.getInteger(at: start, as: UInt32.self),
            let low = buffer.getInteger(at: start + 4, as: UInt32.self)
        else { return nil }
        let kind = UInt8(truncatingIfNeeded: word >> 24)
        guard [8, 9, 18].contains(kind & 0x1F) else { throw .brokenTag(kind) }
        let size = Int(word & 0xFF_FFFF)
        guard let bytes = buffer.readSlice(length: ViewedTag.headerLength + size + 4) else { return nil }
        // 24 bits, then the 8 highest.
        let timestamp = low >> 8 | low << 24
        return ViewedTag(role: Self.role(kind & 0x1F, bytes, size: size), timestamp: timestamp, bytes: bytes)
    }

    private static func role(_ kind: UInt8, _ bytes: ByteBuffer, size: Int) -> ViewedTag.Role {
        let body = bytes.readerIndex + ViewedTag.headerLength
        let first = size > 0 ? bytes.getInteger(at: body, as: UInt8.self) ?? 0 : 0
        let second = size > 1 ? bytes.getInteger(at: body + 1, as: UInt8.self) : nil
        switch kind {
        case 8: return first >> 4 == 10 && second == 0 ? .audioHeader : .sound
        case 9 where first & 0x80 != 0:
            // Enhanced RTMP v1 ("Defining Additional Video Codecs"): frame type, then packet type.
            return first & 0x0F == 0 ? .videoHeader : .picture(isIDR: first == 0x91 || first == 0x93)
        case 9: return second == 0 ? .videoHeader : .picture(isIDR: first >> 4 == 1 && second == 1)
        default: return FLVCue.isLayout(bytes.readableBytesView.dropFirst(ViewedTag.headerLength)) ? .layout : .metadata
        }
    }
}
