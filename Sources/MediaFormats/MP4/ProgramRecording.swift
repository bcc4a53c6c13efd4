import EncodedMedia

/// Turns a program into the parts of a recording: MP4 files, cut into fragments of about a second. Pure.
///
/// Time 0 of a part is the decoding time of its first picture, so that nothing has to be shifted and no player needs an
/// edit list to keep video and audio in sync. Both keep the program's times, gaps included; audio lies on its sample
/// grid. A part continues through every change of the pictures' parameters, which are in band. It ends where the video
/// codec, the audio configuration or the tracks really change, and the next part begins with a keyframe.
public struct ProgramRecording: Sendable {
    /// The limits at which a recording and its parts end automatically.
    public struct Limits: Hashable, Sendable {
        /// Seconds after which the first keyframe begins the next part, or the next frame in a part without video.
        public var partSeconds: Double?
        /// Seconds of media after which the whole recording ends.
        public var seconds: Double?
        /// Bytes of fragments after which the whole recording ends.
        public var bytes: Int64?

        public init(partSeconds: Double? = nil, seconds: Double? = nil, bytes: Int64? = nil) {
            self.partSeconds = partSeconds
            self.seconds = seconds
            self.bytes = bytes
        }
    }

    public enum Action: Hashable, Sendable {
        /// The beginning of a part. `at` is the part's time 0 on the stream's timeline.
        case begin(MP4Movie, at: MediaTime)
        /// The next complete fragment of the part. `duration` is the duration of the part so far, in seconds.
        case write([UInt8], duration: Double)
        case end(EndReason)
        /// The end of the recording: no part follows.
        case finished(EndReason)
    }

    /// The reason that a part ended.
    public enum EndReason: String, Hashable, Codable, Sendable {
        /// The recording was stopped, or the program has ended.
        case stopped
        case maxSeconds
        case maxBytes
        /// This part was long enough; the next one follows.
        case partSeconds
        /// The tracks, the video codec or the audio configuration changed; the next part follows.
        case tracksChanged
    }

    /// The state in which another recorder stopped, from which a recording continues.
    public struct Continuation: Hashable, Sendable {
        public var movie: MP4Movie
        /// The part's time 0 on this stream's timeline; may be negative.
        public var origin: MediaTime
        /// Duration of the part so far, in seconds.
        public var duration: Double
        /// Whether the time between the two recorders is omitted, so that the part continues where it ended.
        public var leavesOutGap: Bool

        public init(movie: MP4Movie, origin: MediaTime, duration: Double, leavesOutGap: Bool = false) {
            self.movie = movie
            self.origin = origin
            self.duration = duration
            self.leavesOutGap = leavesOutGap
        }
    }

    /// Target duration of a fragment.
    public static let fragmentDuration = MediaTime.seconds(1)
    /// Shortest fragment that a keyframe ends.
    private static let shortestFragment = MediaTime.milliseconds(500)
    /// Longest wait for the other track before a recording begins with a single track.
    private static let patience = MediaTime.seconds(2)
    /// Sound without any picture with which a recording begins although pictures were announced: the camera is off.
    private static let soundAlone = MediaTime.seconds(4)
    /// Time after a keyframe within which a change of the sound belongs to the keyframe.
    private static let vicinity = MediaTime.milliseconds(600)

    private let limits: Limits
    private let continuation: Continuation?
    private var video: CodecConfiguration?
    private var audio: CodecConfiguration?
    /// Frames that arrived before a part has begun.
    private var waiting = WaitingFrames()
    private var part: RecordingPart?
    /// Whether the next part begins with the next keyframe.
    private var isCutDue = false
    private var secondsBefore = 0.0
    private var bytes: Int64 = 0
    private var isFinished = false

    public init(limits: Limits = Limits(), continuation: Continuation? = nil) {
        self.limits = limits
        self.continuation = continuation
    }

    /// Time 0 of the current part on the stream's timeline; `nil` while there is none.
    public var origin: MediaTime? { part?.origin }

    /// Duration of all parts so far, in seconds.
    public var duration: Double { secondsBefore + (part?.duration ?? 0) }

    package mutating func take(_ item: MediaItem) -> [Action] {
        guard !isFinished else { return [] }
        switch item {
        case .metadata, .discontinuity: return []
        case .configuration(let configuration): return configure(configuration)
        case .frame(let frame): return take(frame)
        }
    }

    /// Returns the remaining actions. No item may be added afterwards.
    public mutating func finish() -> [Action] {
        guard !isFinished else { return [] }
        var actions: [Action] = []
        // At the end, even a part whose beginning is incomplete is worth keeping.
        if part == nil, canBegin(atEnd: true) { actions += begin() }
        return actions + end(.stopped) + finished(.stopped)
    }

    // MARK: - Configurations

    private mutating func configure(_ configuration: CodecConfiguration) -> [Action] {
        switch configuration.track {
        case .video:
            let isOther = part.map { $0.movie.video?.videoCodec != configuration.videoCodec } ?? false
            video = configuration
            part?.configure(configuration)
            if isOther { isCutDue = true }
            return []
        case .audio:
            guard configuration != audio else { return [] }
            audio = configuration
            guard let part else { return [] }
            guard part.movie.audio != configuration.bytes else {
                isCutDue = part.movie.video == nil && video != nil
                return []
            }
            guard let age = part.fragmentAge, part.beginsWithIDR, age <= Self.vicinity else {
                isCutDue = true
                // Without pictures there is no keyframe to wait for.
                return part.movie.video == nil ? end(.tracksChanged) : []
            }
            waiting = WaitingFrames(self.part?.takeBackPictures() ?? [])
            return end(.tracksChanged)
        }
    }

    // MARK: - Frames

    private mutating func take(_ frame: EncodedFrame) -> [Action] {
        guard part != nil else {
            waiting.append(frame)
            return canBegin(atEnd: false) ? begin() : []
        }
        if frame.isIDR, isCutDue {
            let actions = end(.tracksChanged)
            return actions + take(frame)
        }
        if frame.isIDR, isPartLong(at: frame.dts) {
            let actions = end(.partSeconds)
            return actions + take(frame)
        }
        // Sound alone has no keyframes: every frame can begin a part. It begins at once, because sound that waits is
        // dropped when a keyframe comes.
        if frame.track == .audio, let movie = part?.movie, movie.video == nil, movie.audio == audio?.bytes,
            isPartLong(at: frame.dts)
        {
            let actions = end(.partSeconds)
            waiting.append(frame)
            return actions + begin()
        }
        // Audio of another configuration cannot be in this part.
        if frame.track == .audio, part?.movie.audio != audio?.bytes { return [] }
        if frame.track == .video, part?.movie.video == nil { return [] }
        var actions: [Action] = []
        if part?.isComplete(before: frame) ?? false {
            actions += write(next: frame.track == .video ? frame.dts : nil)
            if let limit = limit { return actions + end(limit) + finished(limit) }
        }
        part?.append(frame)
        return actions
    }

    private func isPartLong(at time: MediaTime) -> Bool {
        guard let seconds = limits.partSeconds, let part else { return false }
        return (time - part.origin).inSeconds >= seconds
    }

    private var limit: EndReason? {
        if let seconds = limits.seconds, duration >= seconds { return .maxSeconds }
        if let most = limits.bytes, bytes >= most { return .maxBytes }
        return nil
    }

    /// Drops frames that cannot begin a part, and returns whether the rest can.
    private mutating func canBegin(atEnd: Bool) -> Bool {
        if video != nil {
            // Audio just before the keyframe does not belong to it.
            guard let first = waiting.frames.firstIndex(where: \.isIDR) else {
                if isSoundAlone(atEnd: atEnd) { return true }
                if waiting.frames.count > 2_000 { waiting.removeFirst(1_000) }
                return false
            }
            waiting.removeFirst(first)
            if audio != nil || atEnd { return true }
        } else if audio == nil {
            waiting = WaitingFrames()
            return false
        } else if atEnd {
            return !waiting.frames.isEmpty
        }
        guard let first = waiting.frames.first, let last = waiting.frames.last else { return false }
        return last.dts - first.dts >= Self.patience
    }

    /// Returns whether sound has come, and no picture, for so long that none is expected.
    private func isSoundAlone(atEnd: Bool) -> Bool {
        guard audio != nil, let first = waiting.frames.first, let last = waiting.frames.last,
            !waiting.frames.contains(where: { $0.track == .video })
        else { return false }
        return atEnd || last.dts - first.dts >= Self.soundAlone
    }

    private mutating func begin() -> [Action] {
        let hasPictures = waiting.frames.contains { $0.track == .video }
        let movie = MP4Movie(video: hasPictures ? video : nil, audio: audio?.bytes)
        var part = RecordingPart(movie: movie, origin: waiting.frames.first?.dts ?? .zero)
        var actions = [Action.begin(movie, at: part.origin)]
        if let continuation, secondsBefore == 0, bytes == 0, continuation.fits(movie) {
            part = RecordingPart(continuing: continuation, at: part.origin)
            actions = []
        }
        if let video { part.configure(video) }
        self.part = part
        // The pictures that were announced may still come.
        isCutDue = !hasPictures && video != nil
        let frames = waiting.frames
        waiting = WaitingFrames()
        for frame in frames { actions += take(frame) }
        return actions
    }

    private mutating func write(next: MediaTime?) -> [Action] {
        guard let bytes = part?.encodeFragment(next: next) else { return [] }
        self.bytes += Int64(bytes.count)
        return [.write(bytes, duration: part?.duration ?? 0)]
    }

    private mutating func end(_ reason: EndReason) -> [Action] {
        guard part != nil else { return [] }
        let last = write(next: nil)
        secondsBefore += part?.duration ?? 0
        part = nil
        isCutDue = false
        return last + [.end(reason)]
    }

    private mutating func finished(_ reason: EndReason) -> [Action] {
        isFinished = true
        waiting = WaitingFrames()
        return [.finished(reason)]
    }
}

/// Frames that wait for a part to begin.
private struct WaitingFrames: Sendable {
    private(set) var frames: [EncodedFrame] = []
    private var bytes = 0

    /// Limit in bytes, above which all frames are dropped: there could be any number of frames whose times do not
    /// advance.
    private static let byteLimit = 32 << 20

    init(_ frames: [EncodedFrame] = []) {
        self.frames = frames
        bytes = frames.reduce(0) { $0 + $1.footprint }
    }

    mutating func append(_ frame: EncodedFrame) {
        if bytes > Self.byteLimit { self = WaitingFrames() }
        frames.append(frame)
        bytes += frame.footprint
    }

    mutating func removeFirst(_ count: Int) {
        bytes -= frames.prefix(count).reduce(0) { $0 + $1.footprint }
        frames.removeFirst(count)
    }
}

extension ProgramRecording.Continuation {
    fileprivate func fits(_ movie: MP4Movie) -> Bool {
        self.movie.audio == movie.audio && self.movie.video?.videoCodec == movie.video?.videoCodec
    }
}
