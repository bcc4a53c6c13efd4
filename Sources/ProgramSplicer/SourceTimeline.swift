import EncodedMedia
import LayoutEngine
import MediaFormats

/// A source's state in the relay: its frames in program time, its configurations and its current GOP.
public struct SourceTimeline: Sendable {
    /// A change caused by one item of the source.
    public enum Event: Hashable, Sendable {
        case configuration(CodecConfiguration)
        /// A frame in program time.
        case frame(EncodedFrame)
        /// Amount by which earlier frames must be moved to fit those that follow.
        case moved(by: MediaTime)
        /// A new mapping of the source's timeline.
        case discontinuity
    }

    public private(set) var clock = SourceClock()
    public private(set) var video: CodecConfiguration?
    public private(set) var audio: CodecConfiguration?
    public private(set) var audioFormat: AudioSpecificConfig?
    public private(set) var sequenceParameters: SequenceParameterSet?
    /// Program time of the last packet.
    public private(set) var lastArrival: MediaTime?
    /// Program time of the last packet of each track.
    public private(set) var lastVideo: MediaTime?
    public private(set) var lastAudio: MediaTime?

    /// Whether the source has sent recovery points but no keyframe for longer than `longestGroup`.
    public private(set) var refreshesGradually = false

    /// Arrival of the last IDR, or of the first picture after the configuration.
    private var lastKeyframe: MediaTime?
    private var pictures: VideoConfiguration?
    private var firstAudio: MediaTime?
    private var newestAudio: MediaTime?
    private var samples: AudioSampleClock?
    /// The cached GOP, in program time without slewing.
    private var gop = GOPCache()
    private var decodingTimes: [MediaTime] = []
    private var order = PictureOrder()
    /// Whether a frame has been decoded earlier than it is shown.
    private var reorders = false

    public init() {}

    /// Accepts an item of the source. `arrival` is program time.
    package mutating func accept(
        _ item: MediaItem, arrival: MediaTime, as role: SourceClock.Role = SourceClock.Role()
    ) -> [Event] {
        switch item {
        case .metadata:
            return []
        case .discontinuity:
            clock.breakTimeline()
            return []
        case .configuration(let configuration):
            guard accept(configuration) else { return [] }
            return [.configuration(configuration)]
        case .frame(let frame):
            guard (frame.track == .video ? video : audio) != nil else { return [] }
            return accept(frame, arrival: arrival, as: role)
        }
    }

    /// Returns whether a decoder can start now.
    ///
    /// Sound alone counts only after `soundAlone`, because servers send audio while they wait for the first keyframe. Pictures
    /// that have stopped for as long, so that none are kept, are those of a camera that is off. Where no video is expected, it
    /// counts at once.
    public func isDecodable(at now: MediaTime, expectsVideo: Bool = true) -> Bool {
        if gop.isDecodable { return true }
        guard expectsVideo, let firstAudio else { return firstAudio != nil }
        guard video != nil else { return now - firstAudio > SourceTimeline.soundAlone }
        return lastAudio.map { $0 - (lastVideo ?? firstAudio) > SourceTimeline.soundAlone } ?? false
    }

    /// Whether the cached pictures begin with a keyframe and not with the I picture of an open group, with which a
    /// decoder can start but a bypass cannot.
    public var hasKeyframe: Bool { gop.hasIDR }

    /// Returns the time since the last keyframe if that is longer than `longestGroup`.
    public func withoutKeyframe(at now: MediaTime) -> MediaTime? {
        guard video != nil, let lastKeyframe, now - lastKeyframe > SourceTimeline.longestGroup else { return nil }
        return now - lastKeyframe
    }

    /// Time without a keyframe after which that is reported: groups of pictures should not be longer.
    static let longestGroup = MediaTime.seconds(10)
    static let soundAlone = MediaTime.seconds(4)
    /// Bounds of `frameInterval`: timestamps that are constant, go back or jump give no rate.
    static let shortestInterval = MediaTime.milliseconds(1)
    static let longestInterval = MediaTime.seconds(10)

    /// Size of the pictures, from the SPS.
    public var pictureSize: LayoutParticipant.Size? {
        sequenceParameters.map { LayoutParticipant.Size(width: $0.width, height: $0.height) }
    }

    /// The current GOP, in program time.
    public var currentGOP: [EncodedFrame] { gop.frames.map { $0.shifted(by: clock.slewed) } }

    /// The mean distance of recent video frames, otherwise the interval from the SPS, otherwise 40 ms. The range is 1
    /// ms to 10 s.
    public var frameInterval: MediaTime {
        if let first = decodingTimes.first, let last = decodingTimes.last, decodingTimes.count > 4 {
            let mean = (last - first) / Int64(decodingTimes.count - 1)
            return min(max(mean, SourceTimeline.shortestInterval), SourceTimeline.longestInterval)
        }
        if let rate = sequenceParameters?.frameRate, rate >= 1, rate <= 240 { return .seconds(1 / rate) }
        return .milliseconds(40)
    }

    /// Time of the newest audio frame, and the audio format: the grid that a mix of this source follows.
    public var audioGrid: (newest: MediaTime, format: AudioSpecificConfig)? {
        guard let newestAudio, let audioFormat else { return nil }
        return (clock.map(newestAudio, of: .audio), audioFormat)
    }

    /// Moves the source on the program's timeline; the cached GOP moves with it.
    public mutating func shift(by amount: MediaTime) {
        clock.shift(by: amount)
        gop.shift(by: amount)
        order.shift(by: amount)
    }

    private mutating func note(_ frame: EncodedFrame, at arrival: MediaTime) {
        if frame.isIDR || lastKeyframe == nil {
            lastKeyframe = arrival
            refreshesGradually = false
        } else if !refreshesGradually, let pictures, withoutKeyframe(at: arrival) != nil {
            refreshesGradually = frame.hasRecoveryPoint(lengthSize: pictures.lengthSize, codec: pictures.codec)
        }
    }

    private mutating func accept(_ configuration: CodecConfiguration) -> Bool {
        switch configuration.track {
        case .video:
            guard configuration != video else { return false }
            video = configuration
            pictures = VideoConfiguration(configuration)
            sequenceParameters = pictures?.sequenceParameters
            lastKeyframe = nil
            refreshesGradually = false
            gop.removeAll()
            gop.pictures = pictures
            decodingTimes = []
            reorders = false
        case .audio:
            guard configuration != audio else { return false }
            audio = configuration
            // A decoder that starts with the group gets only the newest configuration.
            gop.removeAudio()
            audioFormat = AudioSpecificConfig(configuration.bytes)
            samples = audioFormat.map {
                AudioSampleClock(sampleRate: $0.sampleRate, samplesPerFrame: $0.samplesPerFrame)
            }
        }
        return true
    }

    private mutating func accept(
        _ frame: EncodedFrame, arrival: MediaTime, as role: SourceClock.Role
    ) -> [Event] {
        var frame = frame
        var events: [Event] = []
        if frame.pts != frame.dts { reorders = true }
        var role = role
        // A mix that is past the time of a source without B-frames waits for it; see `Splicer.takeOverLater`.
        role.isLeaving = role.isLeaving && reorders
        switch clock.observe(frame.track, dts: frame.dts, arrival: arrival, as: role) {
        case .steady: break
        case .moved(let amount):
            gop.shift(by: amount)
            // Pictures that viewers have already received stay in place.
            if !role.isCopied { order.shift(by: amount) }
            events.append(.moved(by: amount))
        case .mappedAnew:
            // A decoder needs the earlier frames; only if they would come after this one are they useless.
            if let newest = gop.newestDecoding.map({ $0 + clock.slewed }),
                clock.map(frame.dts, of: frame.track) < newest
            {
                gop.removeAll()
            }
            decodingTimes = []
            samples = samples.map {
                AudioSampleClock(sampleRate: $0.sampleRate, samplesPerFrame: $0.samplesPerFrame)
            }
            events.append(.discontinuity)
        }
        lastArrival = arrival
        switch frame.track {
        case .video:
            lastVideo = arrival
            note(frame, at: arrival)
            decodingTimes.append(frame.dts)
            if decodingTimes.count > 17 { decodingTimes.removeFirst() }
        case .audio:
            lastAudio = arrival
            firstAudio = firstAudio ?? arrival
            if let exact = samples?.next(rounded: frame.pts) {
                frame.pts = exact
                frame.dts = exact
            }
            newestAudio = frame.pts
        }
        let (pts, dts) = (frame.pts, frame.dts)
        frame.pts = clock.map(pts, of: frame.track)
        frame.dts = clock.map(dts, of: frame.track)
        if frame.track == .video { order.place(&frame, pts: pts, dts: dts) }
        // A decoder that starts with the group needs it on the timeline of the frames that follow, because audio is
        // laid out by samples.
        gop.append(frame.shifted(by: -clock.slewed))
        events.append(.frame(frame))
        return events
    }
}
