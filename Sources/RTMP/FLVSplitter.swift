import MediaFormats

/// Cuts the FLV stream of a relay into the tags that players get. Pure.
package struct FLVSplitter: Sendable {
    /// The bytes are not FLV.
    package struct Fault: Error {}

    private var buffer: [UInt8] = []
    private var position = 0
    private var hasHeader = false

    package init() {}

    /// Returns the tags that these bytes complete. A tag has at most 16 MiB, and so do the buffered bytes.
    ///
    /// - Throws: `Fault`; the splitter must not be used again afterwards.
    package mutating func push(_ bytes: [UInt8]) throws(Fault) -> [FLVTag] {
        buffer += bytes
        if !hasHeader {
            guard buffer.count >= FLVTag.fileHeader.count else { return [] }
            guard buffer.starts(with: [0x46, 0x4C, 0x56]) else { throw Fault() }
            hasHeader = true
            position = FLVTag.fileHeader.count
        }
        var tags: [FLVTag] = []
        while let header = FLVTagHeader(buffer, at: position), buffer.count - position >= header.tagLength {
            guard let kind = FLVTag.Kind(rawValue: header.kind) else { throw Fault() }
            let start = position + FLVTag.headerLength
            let body = Array(buffer[start..<start + header.size])
            if kind == .script {
                // Players of RTMP and WebRTC would take a layout for metadata.
                if !FLVCue.isLayout(body) {
                    tags.append(FLVTag(role: .metadata, timestamp: header.timestamp, body: body))
                }
            } else if case .tag(let tag) = PublishedTag(kind, timestamp: header.timestamp, body: body) {
                tags.append(tag)
            }
            position += header.tagLength
        }
        buffer.removeFirst(position)
        position = 0
        return tags
    }
}
