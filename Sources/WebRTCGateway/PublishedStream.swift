import EncodedMedia
import MediaFormats

/// Turns the frames of a publisher's stream into tags for a server. Pure.
///
/// A newly connected server gets the configurations and then the frames since the last keyframe, if there are few;
/// otherwise it waits for the next one.
package struct PublishedStream: Sendable {
    /// A frame as it leaves the pipeline.
    package struct Frame: Hashable, Sendable {
        package var track: Track
        /// Times on the pipeline's timeline.
        package var pts: MediaTime
        /// Decoding time; `nil` if the transport has none. RTP has none: its receiver gives each packet its arrival.
        package var dts: MediaTime?
        package var isIDR = false
        package var payload: [UInt8]
        /// AVCDecoderConfigurationRecord or AudioSpecificConfig.
        package var configuration: [UInt8]?

        package init(
            track: Track, pts: MediaTime, dts: MediaTime?, isIDR: Bool = false, payload: [UInt8],
            configuration: [UInt8]? = nil
        ) {
            self.track = track
            self.pts = pts
            self.dts = dts
            self.isIDR = isIDR
            self.payload = payload
            self.configuration = configuration
        }
    }

    /// Limits of the frames kept while no server is connected.
    static let mostHeldBytes = 4 << 20
    static let longestHeld = MediaTime.seconds(2)
    /// Offset added to all times, so that none is negative.
    private static let shift = MediaTime.milliseconds(500)
    /// Time by which the encoder's audio frames precede the samples to which they decode: one frame of priming.
    private static let runUp = MediaTime.units(1024, rate: 48_000)

    private var configurations: [Track: CodecConfiguration] = [:]
    private var times = PictureTimes()
    private var lastSound: MediaTime?
    /// Decoding time of the newest frame.
    private var newest = MediaTime.zero
    /// Frames since a keyframe, while no server is connected.
    private var held: [FLVTag] = []
    private var heldBytes = 0
    private var heldSince = MediaTime.zero
    private var isOpen = false
    /// Whether video is dropped until the next keyframe.
    private var waitsForKeyframe = true

    package init() {}

    /// Whether a connected server needs a keyframe to continue.
    package var needsKeyframe: Bool { waitsForKeyframe }

    /// Begins with a server that has accepted the stream. Returns the tags for it.
    package mutating func open() -> [FLVTag] {
        isOpen = true
        let tags = headers(at: held.first?.timestamp ?? 0) + held
        dropHeld()
        return tags
    }

    /// Records that the server is gone.
    package mutating func close() {
        isOpen = false
        waitsForKeyframe = true
        dropHeld()
    }

    /// The tag that tells a server that nothing is shown until the next picture, and that the publisher is still there.
    package var pause: FLVTag { metadata(at: milliseconds(newest), isPaused: true) }

    /// Returns the tags to send; none while no server is connected.
    package mutating func take(_ frame: Frame) -> [FLVTag] {
        var pts = frame.pts + Self.shift
        let dts: MediaTime
        switch frame.track {
        case .audio:
            pts -= Self.runUp
            if let last = lastSound { pts = max(pts, last) }
            lastSound = pts
            dts = pts
        case .video:
            if let bytes = frame.configuration, configurations[.video]?.bytes != bytes {
                times.begin(CodecConfiguration(track: .video, bytes: bytes))
            }
            if let own = frame.dts { dts = min(own + Self.shift, pts) } else { (pts, dts) = times.next(pts: pts) }
        }
        guard dts >= .zero else { return [] }
        newest = max(newest, dts)
        var tags: [FLVTag] = []
        if let bytes = frame.configuration, configurations[frame.track]?.bytes != bytes {
            configurations[frame.track] = CodecConfiguration(track: frame.track, bytes: bytes)
            // All headers: the metadata has changed, too.
            tags = headers(at: milliseconds(dts))
        }
        guard configurations[frame.track] != nil else { return [] }
        if frame.track == .video {
            if frame.isIDR { waitsForKeyframe = false }
            guard !waitsForKeyframe else { return isOpen ? tags : [] }
        }
        let encoded = EncodedFrame(
            track: frame.track, pts: pts, dts: dts, isIDR: frame.isIDR, payload: frame.payload)
        tags.append(FLVTag(encoded, origin: .zero))
        guard !isOpen else { return tags }
        hold(tags, from: dts, isIDR: frame.isIDR)
        return []
    }

    private mutating func hold(_ tags: [FLVTag], from time: MediaTime, isIDR: Bool) {
        if isIDR {
            dropHeld()
            heldSince = time
        }
        // Audio without video is not kept: a server begins with a keyframe.
        guard isIDR || !held.isEmpty else { return }
        held += tags.filter { if case .frame = $0.role { true } else { false } }
        heldBytes += tags.reduce(0) { $0 + $1.footprint }
        if heldBytes > Self.mostHeldBytes || time - heldSince > Self.longestHeld {
            dropHeld()
            waitsForKeyframe = true
        }
    }

    private mutating func dropHeld() {
        held = []
        heldBytes = 0
    }

    private func headers(at time: UInt32) -> [FLVTag] {
        guard !configurations.isEmpty else { return [] }
        var tags = [metadata(at: time)]
        for track in [Track.video, .audio] {
            guard let configuration = configurations[track] else { continue }
            var tag = FLVTag(configuration, at: .zero, origin: .zero)
            tag.timestamp = time
            tags.append(tag)
        }
        return tags
    }

    private func metadata(at time: UInt32, isPaused: Bool = false) -> FLVTag {
        var metadata = FLVMetadata(
            video: configurations[.video], audio: configurations[.audio], framesPerSecond: nil)
        metadata.isPaused = isPaused
        return FLVTag(role: .metadata, timestamp: time, body: metadata.body)
    }

    private func milliseconds(_ time: MediaTime) -> UInt32 { UInt32(truncatingIfNeeded: time.roundedMilliseconds) }
}
