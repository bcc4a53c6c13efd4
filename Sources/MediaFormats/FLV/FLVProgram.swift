import EncodedMedia

/// Writes a program as FLV tags and keeps the tags that a new connection needs to begin.
///
/// Timestamp 0 is the program's first frame, unless an earlier writer began the stream. Afterwards, timestamps follow
/// the program's clock, regardless of which feed is on air.
public struct FLVProgram: Sendable {
    /// The point from which a stream of an earlier writer continues.
    public struct Continuation: Hashable, Sendable {
        /// Program time of stream time 0.
        public var origin: MediaTime
        /// Stream time up to which the earlier writer may have sent frames.
        public var earliest: MediaTime

        public init(origin: MediaTime, earliest: MediaTime) {
            self.origin = origin
            self.earliest = earliest
        }
    }

    /// The tags since the last IDR, without headers.
    public private(set) var currentGOP: [FLVTag] = []

    private var origin: MediaTime?
    private var lastTime = MediaTime.zero
    private var video: CodecConfiguration?
    private var audio: CodecConfiguration?
    private var written: FLVMetadata?
    private var gopBytes = 0
    private let continuation: Continuation?
    /// Program time before which no further picture is sent, while the writer catches up with pictures of an earlier
    /// time.
    private var earliestPicture: MediaTime?

    /// Largest GOP that is kept, in bytes as counted by `FLVTag.footprint`. Beyond it, late viewers wait for the next
    /// IDR.
    package static let byteLimit = 32 << 20

    /// - Parameter continuation: The point to continue from; `nil` for a new stream.
    public init(continuing continuation: Continuation? = nil) {
        self.continuation = continuation
        earliestPicture = continuation.map { $0.origin + $0.earliest }
    }

    /// Sets the tracks that the program has from now on. Returns metadata that withdraws the announcement of other
    /// tracks.
    public mutating func setTracks(_ tracks: TrackSelection) -> [FLVTag] {
        switch tracks {
        case .all: return []
        case .audio:
            guard video != nil else { return [] }
            video = nil
            currentGOP = []
            gopBytes = 0
        case .video:
            guard audio != nil else { return [] }
            audio = nil
        }
        return metadataIfChanged()
    }

    /// Announces `configuration`: returns its sequence header, and metadata if its content has changed.
    public mutating func configure(_ configuration: CodecConfiguration) -> [FLVTag] {
        switch configuration.track {
        case .video: video = configuration
        case .audio:
            if configuration != audio { forgetSound() }
            audio = configuration
        }
        guard let origin else { return [] }
        // Headers that come between two GOPs belong to the preamble, not to the GOP that ends.
        return metadataIfChanged() + [FLVTag(configuration, at: lastTime, origin: origin)]
    }

    /// Returns the tags of `frame`; the first frame is preceded by metadata and all headers.
    ///
    /// If an earlier writer's stream continues, audio that the earlier writer may have sent is dropped. Pictures of
    /// that time are needed to decode later ones: their timestamps advance in the smallest steps until their own times
    /// are reached.
    ///
    /// The sequence header is repeated before each IDR of H.265: servers that do not support Enhanced RTMP keep no
    /// header for viewers who join later (nginx-rtmp 1.2.2).
    public mutating func write(_ frame: EncodedFrame) -> [FLVTag] {
        guard let frame = place(frame) else { return [] }
        return write(placed: frame)
    }

    private mutating func place(_ frame: EncodedFrame) -> EncodedFrame? {
        guard let continuation, let earliestPicture else { return frame }
        switch frame.track {
        case .audio: return frame.dts < continuation.origin + continuation.earliest ? nil : frame
        case .video:
            guard frame.dts < earliestPicture else { return frame }
            var frame = frame
            frame.dts = earliestPicture
            frame.pts = max(frame.pts, frame.dts)
            self.earliestPicture = earliestPicture + .milliseconds(1)
            return frame
        }
    }

    private mutating func write(placed frame: EncodedFrame) -> [FLVTag] {
        guard let origin else {
            origin = continuation?.origin ?? frame.dts
            lastTime = frame.dts
            written = FLVMetadata(video: video, audio: audio, framesPerSecond: nil)
            return preamble + write(placed: frame)
        }
        lastTime = max(lastTime, frame.dts)
        if frame.isIDR {
            currentGOP = []
            gopBytes = 0
        }
        let tag = FLVTag(frame, videoCodec: video?.videoCodec ?? .h264, origin: origin)
        guard frame.isIDR || !currentGOP.isEmpty else { return [tag] }
        remember(tag)
        guard frame.isIDR, let video, video.videoCodec == .h265 else { return [tag] }
        return [FLVTag(video, at: frame.dts, origin: origin), tag]
    }

    /// Current metadata and sequence headers, with the timestamp of the current GOP.
    public var preamble: [FLVTag] {
        guard let origin else { return [] }
        let timestamp = currentGOP.first?.timestamp
        let headers = [video, audio].compactMap { $0 }.map { configuration in
            FLVTag(configuration, at: lastTime, origin: origin)
        }
        let metadata = FLVTag(
            role: .metadata, timestamp: 0,
            body: FLVMetadata(video: video, audio: audio, framesPerSecond: nil).body)
        return ([metadata] + headers).map { tag in
            var tag = tag
            tag.timestamp = timestamp ?? UInt32(truncatingIfNeeded: (lastTime - origin).roundedMilliseconds)
            return tag
        }
    }

    /// Returns the stream time of a program time; `nil` before the first frame of a new stream.
    public func streamTime(of time: MediaTime) -> MediaTime? { (origin ?? continuation?.origin).map { time - $0 } }

    /// Stream time of the latest frame; `nil` before the first.
    public var lastSent: MediaTime? { origin.map { lastTime - $0 } }

    /// Forgets the tags since the last IDR: viewers who join start with the next IDR.
    public mutating func forgetGroup() {
        currentGOP = []
        gopBytes = 0
    }

    /// Forgets the audio of the current GOP: viewers who join get only the header of the audio that follows.
    private mutating func forgetSound() {
        currentGOP.removeAll { $0.kind == .audio }
        gopBytes = currentGOP.reduce(0) { $0 + $1.footprint }
    }

    private mutating func metadataIfChanged() -> [FLVTag] {
        let metadata = FLVMetadata(video: video, audio: audio, framesPerSecond: nil)
        guard let origin, metadata != written else { return [] }
        written = metadata
        let timestamp = UInt32(truncatingIfNeeded: (lastTime - origin).roundedMilliseconds)
        return [FLVTag(role: .metadata, timestamp: timestamp, body: metadata.body)]
    }

    private mutating func remember(_ frame: FLVTag) {
        currentGOP.append(frame)
        gopBytes += frame.footprint
        if gopBytes > FLVProgram.byteLimit {
            currentGOP = []
            gopBytes = 0
        }
    }
}
