import NIOCore

/// The current metadata, sequence headers and layout, which a player needs before the first frame.
struct StreamHeaders: Sendable {
    private var metadata: ViewedTag?
    private var layout: ViewedTag?
    private(set) var video: ViewedTag?
    private(set) var audio: ViewedTag?
    /// The video header of a program that has become audio-only. Pictures may come back without another one.
    private var aside: ViewedTag?
    /// Revision of the headers, which grows with every change.
    private(set) var revision = 0

    /// Takes a tag. Frames change nothing.
    ///
    /// - Returns: False when the same header is already in force.
    mutating func take(_ tag: ViewedTag) -> Bool {
        let old: ViewedTag?
        switch tag.role {
        case .metadata: old = metadata
        case .layout: old = layout
        case .videoHeader: old = video
        case .audioHeader: old = audio
        case .picture, .sound: return true
        }
        if let old, old.body.elementsEqual(tag.body) { return false }
        // Copied, because the tag's bytes are a part of a larger buffer.
        var own = tag
        own.bytes = ByteBuffer(bytes: tag.bytes.readableBytesView)
        switch tag.role {
        case .metadata: metadata = own
        case .layout: layout = own
        case .videoHeader:
            video = own
            aside = nil
        default: audio = own
        }
        revision += 1
        return true
    }

    /// Drops the video header of a program that has become audio-only.
    mutating func forgetVideo() {
        guard let video else { return }
        aside = video
        self.video = nil
        revision += 1
    }

    /// Returns to the dropped video header, because there are pictures again.
    mutating func restoreVideo() {
        guard let aside else { return }
        video = aside
        self.aside = nil
        revision += 1
    }

    /// Returns an entry point with the headers in force.
    ///
    /// - Parameters:
    ///   - timestamp: Timestamp of the headers, in ms.
    ///   - tracks: Track flags as the relay announced them; see `FLVTagScanner.tracks`.
    func entry(at timestamp: UInt32, tracks: UInt8) -> FLVBatch.Entry {
        let tags = [metadata, video, audio, layout].compactMap(\.self)
        let size = tags.reduce(FLVTagScanner.fileHeaderLength) { $0 + $1.bytes.readableBytes }
        var opening = HTTPChunk(capacity: size)
        opening.write([0x46, 0x4C, 0x56, 1, tracks, 0, 0, 0, 9, 0, 0, 0, 0])
        var headers = HTTPChunk(capacity: size)
        for tag in tags {
            opening.write(tag, timestamp: timestamp)
            headers.write(tag, timestamp: timestamp)
        }
        return FLVBatch.Entry(opening: opening.finish() ?? ByteBuffer(), headers: headers.finish(), revision: revision)
    }
}
