import EncodedMedia

/// Turns an FLV stream, pushed as bytes in pieces of any size or read tag by tag, into media items.
///
/// Times are the stream's own, in ms as FLV has them, unwrapped beyond 2³² ms. A stream whose times leave `span`
/// restarts at its written timestamp, after a discontinuity. Payloads are copied untouched.
public struct FLVReader: Sendable {
    /// The reason that a stream cannot be read any further; its description is worded for operators.
    public enum Failure: Error, Hashable, Sendable, CustomStringConvertible {
        case notFLV
        /// A tag of a kind that FLV does not have: the reader has lost the tag boundaries.
        case brokenTag(UInt8)
        /// A codec that is not supported; `codec` is FLV's number for it, or the FourCC of Enhanced RTMP.
        case unsupportedCodec(Track, codec: String)

        public var description: String {
            switch self {
            case .notFLV: "the stream does not begin with an FLV header"
            case .brokenTag(let kind): "the stream is out of step: no FLV tag has type \(kind)"
            case .unsupportedCodec(.video, let codec):
                "video codec \(Self.videoNames[codec] ?? codec) is not supported: publish H.264 or H.265"
            case .unsupportedCodec(.audio, let codec):
                "audio codec \(Self.audioNames[codec] ?? codec) is not supported: publish AAC"
            }
        }

        // Numbers of the FLV specification (§E.4.2.1, §E.4.3.1), and others in use.
        private static let videoNames = [
            "2": "Sorenson H.263", "3": "Screen Video", "4": "VP6", "5": "VP6 with alpha", "6": "Screen Video 2",
            "12": "H.265", "hvc1": "H.265", "av01": "AV1", "vp08": "VP8", "vp09": "VP9", "vvc1": "VVC",
        ]
        private static let audioNames = [
            "0": "PCM", "1": "ADPCM", "2": "MP3", "3": "PCM", "4": "Nellymoser", "5": "Nellymoser", "6": "Nellymoser",
            "7": "G.711", "8": "G.711", "11": "Speex", "14": "MP3",
            ".mp3": "MP3", "Opus": "Opus", "fLaC": "FLAC", "ac-3": "AC-3", "ec-3": "E-AC-3",
        ]
    }

    /// Range of a stream's unwrapped times in ms: 35 years either way. No stream runs for that long, but one whose
    /// timestamps are far apart reaches it in an hour.
    package static let span: ClosedRange<Int64> = -(1 << 40)...1 << 40

    private var buffer: [UInt8] = []
    private var position = 0
    private var hasHeader = false
    private let videoCodecs: Set<VideoCodec>
    private let setsAside: Bool
    private var aside: [SetAside] = []
    private var lengthSize = 4
    private var lastTimestamp: (raw: UInt32, unwrapped: Int64)?

    /// A tag of a `ForeignCodec`, with its unwrapped decoding time.
    package struct SetAside: Hashable, Sendable {
        package var tag: FLVTag
        package var dts: MediaTime
    }

    /// - Parameter videoCodecs: The video codecs that are read; any other is a `Failure`.
    public init(videoCodecs: Set<VideoCodec> = Set(VideoCodec.allCases)) {
        self.init(videoCodecs: videoCodecs, setsAside: false)
    }

    /// - Parameter setsAside: Whether tags of a `ForeignCodec` are kept for `takeAside()` instead of causing a
    ///   `Failure`.
    package init(videoCodecs: Set<VideoCodec>, setsAside: Bool) {
        self.videoCodecs = videoCodecs
        self.setsAside = setsAside
    }

    /// Creates a reader for a stream that was made from tags of `other`'s stream, so that both unwrap timestamps alike.
    package init(continuing other: FLVReader) {
        self.init()
        lastTimestamp = other.lastTimestamp
    }

    /// Returns the tags that have been set aside since the last call.
    package mutating func takeAside() -> [SetAside] {
        guard !aside.isEmpty else { return [] }
        defer { aside = [] }
        return aside
    }

    /// Adds `bytes` and returns every item that is now complete, in order.
    ///
    /// - Throws: `Failure`; the reader must not be used again afterwards.
    package mutating func push(_ bytes: some Collection<UInt8>) throws(Failure) -> [MediaItem] {
        buffer.append(contentsOf: bytes)
        var items: [MediaItem] = []
        if !hasHeader {
            guard buffer.count >= FLVTag.fileHeader.count else { return [] }
            guard buffer.starts(with: [0x46, 0x4C, 0x56]) else { throw .notFLV }
            hasHeader = true
            position = FLVTag.fileHeader.count
        }
        while let header = FLVTagHeader(buffer, at: position), buffer.count - position >= header.tagLength {
            try readTag(header, into: &items)
            position += header.tagLength
        }
        compact()
        return items
    }

    private mutating func readTag(_ header: FLVTagHeader, into items: inout [MediaItem]) throws(Failure) {
        guard let kind = FLVTag.Kind(rawValue: header.kind & 0x1F) else { throw .brokenTag(header.kind) }
        let start = position + FLVTag.headerLength
        try read(kind, timestamp: header.timestamp, body: buffer[start..<start + header.size], into: &items)
    }

    /// Reads one tag whose header was transmitted separately, as in RTMP, and appends its items. Not to be mixed with
    /// `push`.
    ///
    /// - Parameter timestamp: Decoding time in ms, as written; wraps at 2³².
    /// - Throws: `Failure`; the reader must not be used again afterwards.
    package mutating func read(
        _ kind: FLVTag.Kind, timestamp: UInt32, body: ArraySlice<UInt8>, into items: inout [MediaItem]
    ) throws(Failure) {
        if kind != .script, unwrap(timestamp) { items.append(.discontinuity) }
        if kind != .script, hasExtensions(kind, body) {
            // Of several tracks, the first one is used, as at the ingest.
            switch PublishedTag(kind, timestamp: timestamp, body: Array(body)) {
            case .tag(let tag): return try readMedia(kind, timestamp: timestamp, body: tag.body[...], into: &items)
            case .nothing: return
            case .unsupported(let failure): throw failure
            }
        }
        try readMedia(kind, timestamp: timestamp, body: body, into: &items)
    }

    /// Returns whether a tag of Enhanced RTMP v2 has modifiers, or several tracks.
    private func hasExtensions(_ kind: FLVTag.Kind, _ body: ArraySlice<UInt8>) -> Bool {
        guard let first = body.first else { return false }
        return kind == .video
            ? first & 0x80 != 0 && (first & 0x0F == 6 || first & 0x0F == 7) : first == 0x95 || first == 0x97
    }

    private mutating func readMedia(
        _ kind: FLVTag.Kind, timestamp: UInt32, body: ArraySlice<UInt8>, into items: inout [MediaItem]
    ) throws(Failure) {
        if setsAside, let track = Track(rawValue: kind.rawValue), let codec = ForeignCodec(track, body: body),
            codec != .h265 || !videoCodecs.contains(.h265)
        {
            aside.append(
                SetAside(
                    tag: FLVTag(role: .frame(track, isIDR: false), timestamp: timestamp, body: Array(body)), dts: time))
            return
        }
        let item: MediaItem? =
            switch kind {
            case .script: .metadata(Array(body))
            case .video: try readVideo(body, dts: time)
            case .audio: try readAudio(body, pts: time)
            }
        if let item { items.append(item) }
    }

    /// FLV's number for H.265 by common usage of CDNs; Adobe's specification has none.
    private static let hevcNumber: UInt8 = 12

    private mutating func readVideo(_ body: ArraySlice<UInt8>, dts: MediaTime) throws(Failure) -> MediaItem? {
        guard let first = body.first else { return nil }
        guard first & 0x80 == 0 else { return try readEnhancedVideo(body, dts: dts) }
        // Frame type 5 is a command to the player, not a picture (§E.4.3.1).
        guard first >> 4 != 5 else { return nil }
        let number: VideoCodec? = first & 0x0F == 7 ? .h264 : first & 0x0F == Self.hevcNumber ? .h265 : nil
        guard let codec = number, videoCodecs.contains(codec) else {
            throw .unsupportedCodec(.video, codec: String(first & 0x0F))
        }
        guard let offset = body.bigEndian(UInt32.self, at: body.startIndex + 2, bytes: 3) else { return nil }
        let data = Array(body.dropFirst(5))
        switch body[body.startIndex + 1] {
        case 0:
            return configure(CodecConfiguration(codec, bytes: data))
        case 1:
            return .frame(picture(data, codec, dts: dts, offset: offset))
        default:
            return nil
        }
    }

    /// Reads a video tag of Enhanced RTMP ("Defining Additional Video Codecs", and H.264 of v2): one flag bit, three
    /// bits of frame type, four of packet type, then the FourCC.
    private mutating func readEnhancedVideo(_ body: ArraySlice<UInt8>, dts: MediaTime) throws(Failure) -> MediaItem? {
        let fourCC = body.dropFirst().prefix(4)
        let codec: VideoCodec? =
            if fourCC.elementsEqual(FLVTag.hevcFourCC) {
                .h265
            } else {
                fourCC.elementsEqual(FLVTag.avcFourCC) ? .h264 : nil
            }
        guard let codec, videoCodecs.contains(codec) else {
            throw .unsupportedCodec(.video, codec: String(fourCC.map { Character(UnicodeScalar($0)) }))
        }
        let start = body.startIndex + 5
        switch body[body.startIndex] {
        // A command to the player.
        case 0xD0...0xDF: return nil
        case let first where first & 0x0F == 0:
            return configure(CodecConfiguration(codec, bytes: Array(body[start...])))
        case let first where first & 0x0F == 1:
            guard let offset = body.bigEndian(UInt32.self, at: start, bytes: 3) else { return nil }
            return .frame(picture(Array(body.dropFirst(8)), codec, dts: dts, offset: offset))
        // The same without a composition time offset.
        case let first where first & 0x0F == 3:
            return .frame(picture(Array(body[start...]), codec, dts: dts, offset: 0))
        default: return nil
        }
    }

    private mutating func configure(_ configuration: CodecConfiguration) -> MediaItem {
        lengthSize = VideoConfiguration(configuration)?.lengthSize ?? 4
        return .configuration(configuration)
    }

    /// - Parameter offset: Composition time offset as a signed 24-bit number, in ms.
    private func picture(_ data: [UInt8], _ codec: VideoCodec, dts: MediaTime, offset: UInt32) -> EncodedFrame {
        let signed = Int32(bitPattern: offset << 8) >> 8
        return EncodedFrame(
            track: .video, pts: dts + .milliseconds(signed), dts: dts,
            isIDR: NALUnits(data, lengthSize: lengthSize).containsIDR(of: codec), payload: data)
    }

    private func readAudio(_ body: ArraySlice<UInt8>, pts: MediaTime) throws(Failure) -> MediaItem? {
        guard let first = body.first else { return nil }
        if first >> 4 == 9 { return try readEnhancedAudio(body, pts: pts) }
        guard first >> 4 == 10 else { throw .unsupportedCodec(.audio, codec: String(first >> 4)) }
        guard body.count > 2 else { return nil }
        let data = Array(body.dropFirst(2))
        switch body[body.startIndex + 1] {
        case 0: return .configuration(CodecConfiguration(track: .audio, bytes: data))
        case 1: return .frame(EncodedFrame(track: .audio, pts: pts, dts: pts, payload: data))
        default: return nil
        }
    }

    /// Reads an audio tag of Enhanced RTMP v2: sound format 9, four bits of packet type, then the FourCC.
    private func readEnhancedAudio(_ body: ArraySlice<UInt8>, pts: MediaTime) throws(Failure) -> MediaItem? {
        let fourCC = body.dropFirst().prefix(4)
        guard fourCC.elementsEqual(FLVTag.aacFourCC) else {
            throw .unsupportedCodec(.audio, codec: String(fourCC.map { Character(UnicodeScalar($0)) }))
        }
        let data = Array(body.dropFirst(5))
        guard !data.isEmpty else { return nil }
        switch body[body.startIndex] & 0x0F {
        case 0: return .configuration(CodecConfiguration(track: .audio, bytes: data))
        case 1: return .frame(EncodedFrame(track: .audio, pts: pts, dts: pts, payload: data))
        default: return nil
        }
    }

    private var time: MediaTime { .milliseconds(lastTimestamp?.unwrapped ?? 0) }

    /// Unwraps `raw`, which wraps at 2³² ms (49.7 days), to the time nearest to the previous one, within `span`.
    ///
    /// - Returns: Whether the stream has left `span` and restarts.
    private mutating func unwrap(_ raw: UInt32) -> Bool {
        guard let last = lastTimestamp else {
            lastTimestamp = (raw, Int64(raw))
            return false
        }
        let next = last.unwrapped + Int64(Int32(bitPattern: raw &- last.raw))
        let isWithin = Self.span.contains(next)
        lastTimestamp = (raw, isWithin ? next : Int64(raw))
        return !isWithin
    }

    private mutating func compact() {
        guard position > 0 else { return }
        buffer.removeFirst(min(position, buffer.count))
        position = 0
    }
}
