import EncodedMedia

/// Decides where to cut a program into segments.
///
/// A segment begins with an IDR, and the program is cut immediately if the codec configuration changes. A group of
/// pictures longer than the target duration is cut at the limit: no segment's rounded duration may exceed the target
/// (RFC 8216 §4.3.3.1), and the target must not change. The target is fixed once the first segment is complete, which
/// shows how long the publisher's groups of pictures are.
public struct ProgramSegmenter: Sendable {
    /// Value of `EXT-X-TARGETDURATION` in seconds; `nil` until the first segment is complete.
    public private(set) var targetDuration: Int?

    /// The longest target that a first group of pictures may cause, in seconds.
    public static let longestTarget = 12
    /// Time without frames after which a track counts as absent.
    package static let absence = MediaTime.seconds(3)
    /// Step of decoding times above which frames count as missing.
    private static let hole = MediaTime.seconds(1)
    /// Time for which the next group of pictures is assumed to become as long as an earlier one.
    private static let memory = MediaTime.seconds(60)
    /// Size in bytes above which a segment is cut at any frame.
    private static let mostBytes = 64 << 20

    private let wanted: Int
    private var interleaver = FrameInterleaver()
    private var announced: [Track: CodecConfiguration] = [:]
    private var open: OpenSegment?
    private var isDiscontinuity = false
    private var firstTime: MediaTime?
    private var lastTime: [Track: MediaTime] = [:]
    private var lastDecoding: MediaTime?
    private var lastIDR: MediaTime?
    /// The longest group of pictures of the last minute, and its end. Groups in which viewers asked for keyframes are
    /// shorter than the next one may be.
    private var longestGroup: (length: MediaTime, end: MediaTime)?
    private var frameInterval = MediaTime.milliseconds(40)
    /// Audio that belongs to the next segment.
    private var held: [FrameInterleaver.Entry] = []
    private var clock: AudioSampleClock?
    private var clockConfiguration: CodecConfiguration?
    /// Wall clock at program time 0, in ms since 1970.
    private var epoch: Int64?

    /// - Parameters:
    ///   - segmentSeconds: Wanted duration of a segment in seconds.
    ///   - targetDuration: Target duration in seconds of a playlist that is continued, after a discontinuity.
    public init(segmentSeconds: Int, targetDuration: Int? = nil) {
        wanted = segmentSeconds
        self.targetDuration = targetDuration
        isDiscontinuity = targetDuration != nil
    }

    /// Adds `item`, which arrived at `wallClock` (ms since 1970), and returns the segments that are now complete.
    package mutating func push(_ item: MediaItem, wallClock: Int64) -> [ProgramSegment] {
        switch item {
        case .metadata, .discontinuity: return []
        case .configuration(let configuration):
            announced[configuration.track] = configuration
            return []
        case .frame(var frame):
            guard let configuration = announced[frame.track] else { return [] }
            if frame.track == .audio {
                frame.pts = exact(frame.pts, configuration)
                frame.dts = frame.pts
            }
            // Until a segment is out, the earliest estimate counts: frames of the initial burst, on joining the
            // program, are late.
            if targetDuration == nil || epoch == nil {
                let candidate = wallClock - frame.dts.roundedMilliseconds
                epoch = min(epoch ?? candidate, candidate)
            }
            interleaver.push(frame, configuration)
            var segments: [ProgramSegment] = []
            while let entry = interleaver.next() { handle(entry, &segments) }
            return segments
        }
    }

    /// Returns the remaining segments when the program has ended.
    public mutating func finish() -> [ProgramSegment] {
        var segments: [ProgramSegment] = []
        while let entry = interleaver.next(isEnding: true) { handle(entry, &segments) }
        close(at: nil, &segments)
        return segments
    }

    private mutating func exact(_ time: MediaTime, _ configuration: CodecConfiguration) -> MediaTime {
        if clockConfiguration != configuration {
            clockConfiguration = configuration
            clock = AudioSpecificConfig(configuration.bytes).map {
                AudioSampleClock(sampleRate: $0.sampleRate, samplesPerFrame: $0.samplesPerFrame)
            }
        }
        return clock?.next(rounded: time) ?? time
    }

    private mutating func handle(_ entry: FrameInterleaver.Entry, _ segments: inout [ProgramSegment]) {
        firstTime = firstTime ?? entry.time
        switch entry.frame.track {
        case .video: picture(entry, &segments)
        case .audio: sound(entry, &segments)
        }
    }

    // MARK: - Pictures

    private mutating func picture(_ entry: FrameInterleaver.Entry, _ segments: inout [ProgramSegment]) {
        let frame = entry.frame
        let step = lastDecoding.map { frame.dts - $0 }
        defer {
            if let step, step > .zero, step < Self.hole { frameInterval = step }
            lastDecoding = frame.dts
            lastTime[.video] = entry.time
        }
        if frame.isIDR {
            if let lastIDR, entry.time > lastIDR {
                let length = entry.time - lastIDR
                if longestGroup.map({ length >= $0.length || entry.time - $0.end > Self.memory }) ?? true {
                    longestGroup = (length, entry.time)
                }
            }
            lastIDR = entry.time
        }
        let isBroken = step.map { $0 > Self.hole || $0 < -Self.hole } ?? false
        if isBroken {
            close(at: nil, &segments)
            // Audio is missing together with the video.
            if let last = lastTime[.video], !isAbsent(.audio, at: last) { lastTime[.audio] = entry.time }
        }
        guard let current = open, current.video == entry.configuration else {
            guard frame.isIDR else { return }
            close(at: entry.time, &segments)
            begin(entry, isDiscontinuity: !segments.isEmpty || lastTime[.video] != nil || isDiscontinuity)
            return
        }
        if frame.isIDR, audioChanged(from: current, at: entry.time) {
            close(at: entry.time, &segments)
            begin(entry, isDiscontinuity: true)
        } else if isDue(entry, after: step, in: current) {
            close(at: entry.time, &segments)
            begin(entry, isDiscontinuity: false)
        } else {
            open?.append(entry)
        }
    }

    private func isDue(_ entry: FrameInterleaver.Entry, after step: MediaTime?, in current: OpenSegment) -> Bool {
        let elapsed = entry.time - current.start
        // The next frame may last as long as this one: another source's frame rate may be lower.
        let interval = step.map { $0 < Self.hole ? max($0, frameInterval) : frameInterval } ?? frameInterval
        if entry.frame.isIDR {
            // Half a frame is allowed: a publisher's groups of pictures are rarely a whole multiple of its frame
            // interval.
            if elapsed + frameInterval / 2 >= .seconds(Double(wanted)) { return true }
            if exceeds(elapsed + (longestGroup?.length ?? .zero), targetDuration ?? wanted) { return true }
        }
        // A frame lasts until the next one, or for its usual time.
        return exceeds(elapsed + interval, targetDuration ?? Self.longestTarget)
            || current.bytes + entry.frame.footprint > Self.mostBytes
    }

    /// Returns whether `duration`, rounded as players round it, exceeds `seconds`.
    private func exceeds(_ duration: MediaTime, _ seconds: Int) -> Bool { duration >= Self.limit(seconds) }

    private static func limit(_ seconds: Int) -> MediaTime { .milliseconds(seconds * 1000 + 490) }

    /// Returns whether the audio configuration changes, audio appears, or audio disappears.
    private func audioChanged(from current: OpenSegment, at time: MediaTime) -> Bool {
        if let next = held.last { return next.configuration != current.audio }
        return current.audio != nil && isAbsent(.audio, at: time)
    }

    private func isAbsent(_ track: Track, at time: MediaTime) -> Bool {
        guard announced[track] != nil, let since = lastTime[track] ?? firstTime else { return true }
        return time - since > Self.absence
    }

    // MARK: - Sound

    private mutating func sound(_ entry: FrameInterleaver.Entry, _ segments: inout [ProgramSegment]) {
        defer { lastTime[.audio] = entry.time }
        guard let current = open else {
            if isAbsent(.video, at: entry.time) { begin(entry, isDiscontinuity: isDiscontinuity) }
            return
        }
        let isAlone = current.video == nil
        if !isAlone, isAbsent(.video, at: entry.time) {
            // Audio since the last picture is in the segment that ends here.
            close(at: entry.time, &segments)
            begin(entry, isDiscontinuity: true)
        } else if current.audio != entry.configuration {
            if isAlone {
                close(at: entry.time, &segments)
                begin(entry, isDiscontinuity: true)
            } else {
                hold(entry)
            }
        } else if isAlone {
            let elapsed = entry.time - current.start
            if let last = lastTime[.audio], (entry.time - last).magnitude > Self.hole {
                close(at: nil, &segments)
                begin(entry, isDiscontinuity: true)
            } else if elapsed >= .seconds(Double(wanted)) || current.bytes + entry.frame.footprint > Self.mostBytes {
                close(at: entry.time, &segments)
                begin(entry, isDiscontinuity: false)
            } else {
                open?.append(entry)
            }
        } else if exceeds(entry.time - current.start + .milliseconds(50), targetDuration ?? Self.longestTarget)
            || current.bytes + entry.frame.footprint > Self.mostBytes
        {
            close(at: entry.time, &segments)
            begin(entry, isDiscontinuity: false)
        } else {
            open?.append(entry)
        }
    }

    private mutating func hold(_ entry: FrameInterleaver.Entry) {
        held.removeAll { $0.configuration != entry.configuration }
        held.append(entry)
        // Keep as many frames as the longest segment has.
        if held.count > 2048 { held.removeFirst(1024) }
    }

    // MARK: - Segments

    private mutating func begin(_ entry: FrameInterleaver.Entry, isDiscontinuity: Bool) {
        self.isDiscontinuity = false
        let previous = open
        let start = entry.time
        var segment = OpenSegment(start: start, isDiscontinuity: isDiscontinuity)
        if entry.frame.track == .video || previous?.video != nil && !isAbsent(.video, at: start) {
            segment.video = entry.frame.track == .video ? entry.configuration : previous?.video
            segment.isIndependent = entry.frame.isIDR
        }
        switch entry.frame.track {
        case .audio: segment.audio = entry.configuration
        case .video:
            if !isDiscontinuity, let previous {
                segment.audio = previous.audio
            } else if !isAbsent(.audio, at: start) {
                segment.audio = held.last?.configuration ?? announced[.audio]
            }
        }
        segment.append(entry)
        for waiting in held where waiting.configuration == segment.audio && waiting.time > start - .milliseconds(50) {
            segment.append(waiting)
        }
        held = held.filter { $0.configuration != segment.audio }
        open = segment
    }

    /// - Parameter end: Start of the next segment; `nil` if the next segment does not follow directly.
    private mutating func close(at end: MediaTime?, _ segments: inout [ProgramSegment]) {
        guard let segment = open, !segment.frames.isEmpty else { return }
        let last = segment.lastTime + (segment.video == nil ? .milliseconds(21) : frameInterval)
        var duration = max((end ?? last) - segment.start, .milliseconds(1))
        // A short gap before the end is not part of the segment.
        let longest = targetDuration ?? Self.longestTarget
        if exceeds(duration, longest) {
            duration = min(max(last - segment.start, .milliseconds(1)), Self.limit(longest) - .milliseconds(1))
        }
        if targetDuration == nil {
            targetDuration = max(wanted, Int(duration.inSeconds.rounded()))
        }
        segments.append(
            ProgramSegment(
                start: segment.start, duration: duration, frames: segment.frames, video: segment.video,
                audio: segment.audio, isDiscontinuity: segment.isDiscontinuity, isIndependent: segment.isIndependent,
                wallClock: (epoch ?? 0) + segment.start.roundedMilliseconds))
        if end == nil { open = nil }
    }
}

/// The part of a segment received so far.
private struct OpenSegment: Sendable {
    var start: MediaTime
    var isDiscontinuity: Bool
    var isIndependent = true
    var video: CodecConfiguration?
    var audio: CodecConfiguration?
    private(set) var frames: [EncodedFrame] = []
    private(set) var bytes = 0
    private(set) var lastTime = MediaTime.zero

    init(start: MediaTime, isDiscontinuity: Bool) {
        self.start = start
        self.isDiscontinuity = isDiscontinuity
    }

    mutating func append(_ entry: FrameInterleaver.Entry) {
        frames.append(entry.frame)
        bytes += entry.frame.footprint
        lastTime = entry.time
    }
}
