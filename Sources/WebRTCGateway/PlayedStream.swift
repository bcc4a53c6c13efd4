import EncodedMedia
import MediaFormats

/// A stream as its viewers get it: pictures as byte streams, sound, and the group of pictures that those who join begin
/// with. Pure; `now` is in ns of a monotonic clock.
///
/// Its times go on through breaks of the stream: while it is away they pass with the clock. A connection begins with what is
/// past already, which is kept for those who join and not given out.
struct PlayedStream: Sendable {
    enum Output: Hashable, Sendable {
        case picture(WebRTCPicture)
        /// A configuration, or a frame of AAC with a time of the viewers' timeline.
        case sound(MediaItem)
    }

    /// The reason why nobody can watch the stream, in words.
    struct Failure: Error, Hashable, Sendable {
        var words: String
    }

    /// Time after the first tag of a connection for which others count as past.
    static let settling: Int64 = 100_000_000
    /// Time within which those who join get the group, and the longest step in it.
    private static let burst = MediaTime.milliseconds(8)
    private static let longestStep = MediaTime.milliseconds(1)
    /// Jumps of the stream's times beyond which they count as another timeline.
    private static let farthest = (back: MediaTime.seconds(5), ahead: MediaTime.seconds(60))

    /// Profile of the pictures; `nil` if it is not known.
    private(set) var profile: WebRTCOffer.H264Profile?
    private var kept = PictureGroup()
    /// The pictures since the last IDR; empty if there is none, or they are too many.
    var group: [WebRTCPicture] { kept.pictures }
    /// The last configuration of sound.
    private(set) var sound: CodecConfiguration?
    private var reader = FLVReader(videoCodecs: [.h264], setsAside: true)
    private var maker: WebRTCPicture.Maker?
    /// What is added to the stream's times; `nil` until the next frame decides.
    private var shift: MediaTime?
    /// The last time that was given out, and when.
    private var last: (time: MediaTime, at: Int64)?
    private var lastPicture: MediaTime?
    /// Highest presentation time of the stream so far.
    private var highest: MediaTime?
    private var settlesAt: Int64?

    /// Notes that another connection begins.
    mutating func begin() {
        reader = FLVReader(videoCodecs: [.h264], setsAside: true)
        (shift, settlesAt, highest) = (nil, nil, nil)
    }

    /// Whether what comes now is live.
    func isLive(now: Int64) -> Bool { settlesAt.map { now >= $0 } ?? false }

    /// Reads a tag, and returns what viewers are sent of it.
    ///
    /// - Throws: Why nobody can watch: the pictures are not H.264.
    mutating func take(_ tag: PlayedFeed.Tag, now: Int64) throws(Failure) -> [Output] {
        settlesAt = settlesAt ?? now.saturatingSum(Self.settling)
        var items: [MediaItem] = []
        do throws(FLVReader.Failure) {
            try reader.read(tag.kind, timestamp: tag.timestamp, body: tag.body[...], into: &items)
        } catch {
            throw Failure(words: "the stream cannot be read: \(error)")
        }
        // Foreign sound is left out.
        if let foreign = reader.takeAside().lazy.compactMap({ aside in
            aside.tag.kind == .video ? ForeignCodec(.video, body: aside.tag.body) : nil
        }).first {
            throw Failure(words: "the pictures are \(foreign.rawValue): viewers over WebRTC can be sent H.264 only")
        }
        return items.compactMap { take($0, now: now) }
    }

    private mutating func take(_ item: MediaItem, now: Int64) -> Output? {
        switch item {
        case .discontinuity: (shift, highest) = (nil, nil)
        case .metadata: break
        case .configuration(let configuration) where configuration.track == .audio:
            sound = configuration
            return .sound(item)
        case .configuration(let configuration):
            maker = WebRTCPicture.Maker(configuration)
            profile = WebRTCOffer.H264Profile(configuration)
        case .frame(let frame):
            let time = time(of: frame, now: now)
            if frame.track == .audio {
                var frame = frame
                (frame.pts, frame.dts) = (time, time)
                return isLive(now: now) ? .sound(.frame(frame)) : nil
            }
            guard let picture = picture(frame, at: time) else { break }
            kept.append(picture)
            return isLive(now: now) ? .picture(picture) : nil
        }
        return nil
    }

    private mutating func time(of frame: EncodedFrame, now: Int64) -> MediaTime {
        if let shift, let last, frame.track == .video {
            let step = frame.pts + shift - last.time
            if step < .zero - Self.farthest.back || step > Self.farthest.ahead { (self.shift, highest) = (nil, nil) }
        }
        if shift == nil {
            let next = last.map { last in
                last.time + max(MediaTime(nanoseconds: now.saturatingDifference(last.at)), Self.longestStep)
            }
            shift = (next ?? .zero) - frame.pts
        }
        let time = frame.pts + (shift ?? .zero)
        last = (max(last?.time ?? time, time), now)
        return time
    }

    /// Returns the picture as it is sent; `nil` for one that is left out. Clients show pictures as they are decoded, so that
    /// those which are shown earlier are left out if no other needs them.
    private mutating func picture(_ frame: EncodedFrame, at time: MediaTime) -> WebRTCPicture? {
        guard let maker else { return nil }
        if frame.isIDR { highest = nil }
        if let highest, frame.pts < highest, maker.isDisposable(frame) { return nil }
        highest = max(highest ?? frame.pts, frame.pts)
        var time = time
        if let lastPicture { time = max(time, lastPicture + MediaTime(nanoseconds: 100_000)) }
        lastPicture = time
        return maker.picture(frame, at: time)
    }

    /// The pictures since the last IDR for one who joins now, or has lost some: after the last picture and before the next
    /// one, so that a client shows the last of them at once.
    mutating func groupForJoining() -> [WebRTCPicture] {
        guard let edge = group.last?.time else { return [] }
        let step = min(Self.longestStep, Self.burst / Int64(group.count + 1))
        lastPicture = max(lastPicture ?? edge, edge + step * Int64(group.count))
        return group.enumerated().map { index, picture in
            var picture = picture
            picture.time = edge + step * Int64(index + 1)
            return picture
        }
    }
}
