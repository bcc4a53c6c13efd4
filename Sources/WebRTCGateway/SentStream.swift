import EncodedMedia
import MediaFormats

/// A stream prepared for its viewers: pictures as byte streams, audio, and the group of pictures for viewers who join.
/// Pure; `now` is in ns of a monotonic clock.
///
/// Its times continue through interruptions: meanwhile they advance with the clock. A connection begins with past
/// pictures, which are kept for viewers who join and not sent to others.
struct SentStream: Sendable {
    enum Output: Hashable, Sendable {
        case picture(WebRTCPicture)
        /// A configuration, or an AAC frame with a time on the viewers' timeline.
        case sound(MediaItem)
    }

    /// A description of why the stream cannot be watched.
    struct Failure: Error, Hashable, Sendable {
        var words: String
    }

    /// Time after the first tag of a connection within which tags count as past.
    static let settling: Int64 = 100_000_000
    /// Time span of the group for viewers who join, and the longest step in it.
    private static let burst = MediaTime.milliseconds(8)
    private static let longestStep = MediaTime.milliseconds(1)
    /// Jumps of the stream's times above which a new timeline begins.
    private static let farthest = (back: MediaTime.seconds(5), ahead: MediaTime.seconds(60))

    /// Profile of the pictures; `nil` if unknown.
    private(set) var profile: WebRTCOffer.H264Profile?
    private var kept = PictureGroup()
    /// The pictures since the last IDR; empty if there is none, or there are too many.
    var group: [WebRTCPicture] { kept.pictures }
    /// The last audio configuration.
    private(set) var sound: CodecConfiguration?
    private var reader = FLVReader(videoCodecs: [.h264], setsAside: true)
    private var maker: WebRTCPicture.Maker?
    /// Offset added to the stream's times; `nil` until the next frame determines it.
    private var shift: MediaTime?
    /// The last time given to viewers, and the moment at which that happened.
    private var last: (time: MediaTime, at: Int64)?
    private var lastPicture: MediaTime?
    /// Highest presentation time of the stream so far.
    private var highest: MediaTime?
    private var settlesAt: Int64?

    /// Records that a new connection begins.
    mutating func begin() {
        reader = FLVReader(videoCodecs: [.h264], setsAside: true)
        (shift, settlesAt, highest) = (nil, nil, nil)
    }

    /// Returns whether tags that arrive now are live.
    func isLive(now: Int64) -> Bool { settlesAt.map { now >= $0 } ?? false }

    /// Reads a tag, and returns the output for viewers.
    ///
    /// - Throws: `Failure` if the stream cannot be watched, because the pictures are not H.264.
    mutating func take(_ tag: OriginClient.Tag, now: Int64) throws(Failure) -> [Output] {
        settlesAt = settlesAt ?? now.saturatingSum(Self.settling)
        var items: [MediaItem] = []
        do throws(FLVReader.Failure) {
            try reader.read(tag.kind, timestamp: tag.timestamp, body: tag.body[...], into: &items)
        } catch {
            throw Failure(words: "the stream cannot be read: \(error)")
        }
        // Foreign audio is dropped.
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

    /// Returns the picture to send; `nil` if it is dropped. Clients show pictures in decoding order, so pictures that
    /// should be shown earlier are dropped if no other picture references them.
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

    /// Returns the pictures since the last IDR for a viewer who joins now or has lost pictures: with times after the
    /// last picture and before the next one, so that the client shows the last of them at once.
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
