import EncodedMedia
import MediaFormats

/// A source's frames since its last IDR, kept so that a decoder or a viewer can start at once.
///
/// A source with open groups of pictures sends no further IDR. The cache then begins with the I picture of an open
/// group, once the group of the last IDR has become too large or if there was none: a decoder can start with it.
///
/// The owner defines the timeline. Audio is kept from one second before the first picture, because a splice needs the
/// audio around an IDR, which may have arrived first.
public struct GOPCache: Sendable {
    private enum Beginning: Hashable, Sendable {
        case idr
        /// The I picture of an open group of H.264.
        case openGroup
    }

    public private(set) var frames: [EncodedFrame] = []
    private var beginning: Beginning?
    private var bytes = 0
    private var newestVideo: MediaTime?
    /// Configuration of the pictures that follow; `nil` means that pictures that begin open groups cannot be
    /// recognised.
    package var pictures: VideoConfiguration?

    /// Largest cached GOP, in bytes as counted by `EncodedFrame.footprint`. A larger one is dropped up to the last
    /// picture that begins an open group; if there is none, the source is decodable again at its next IDR.
    static let byteLimit = 32 << 20
    static let audioBefore = MediaTime.milliseconds(1000)
    /// Age at which pictures followed only by audio are no longer a starting point: the camera is off.
    static let pictureAge = MediaTime.seconds(10)

    public init() {}

    /// Whether a decoder can start with the cached frames.
    public var isDecodable: Bool { beginning != nil }
    /// Whether the cached frames begin with an IDR.
    public var hasIDR: Bool { beginning == .idr }

    /// Appends the source's next frame, in decoding order. Video before the first possible starting picture is not
    /// kept.
    public mutating func append(_ frame: EncodedFrame) {
        if frame.isIDR {
            begin(.idr, at: frame.pts)
        } else if frame.track == .video, beginning != .idr {
            if beginsOpenGroup(frame) { begin(.openGroup, at: frame.pts) }
            guard isDecodable else { return }
        }
        if frame.track == .video {
            newestVideo = frame.pts
        } else if isDecodable, let newestVideo, frame.pts - newestVideo > GOPCache.pictureAge {
            frames.removeAll { $0.track == .video }
            beginning = nil
        }
        frames.append(frame)
        bytes += frame.footprint
        if bytes > GOPCache.byteLimit { shorten() }
        if !isDecodable { trimAudio(to: frame.pts) }
    }

    private func beginsOpenGroup(_ frame: EncodedFrame) -> Bool {
        pictures.map { frame.beginsOpenGroup(of: $0) } ?? false
    }

    /// Drops the frames before a picture at `time` with which a decoder can start and which is appended next.
    private mutating func begin(_ beginning: Beginning, at time: MediaTime) {
        let horizon = time - GOPCache.audioBefore
        frames.removeAll { $0.track == .video || $0.pts < horizon }
        bytes = frames.reduce(0) { $0 + $1.footprint }
        self.beginning = beginning
    }

    /// Keeps the frames from the last picture that begins an open group on, or none.
    private mutating func shorten() {
        let rest = frames.lastIndex { beginsOpenGroup($0) }.map { frames[$0...] } ?? []
        guard let first = rest.first, rest.reduce(0, { $0 + $1.footprint }) <= GOPCache.byteLimit / 2 else {
            return removeAll()
        }
        frames.removeLast(rest.count)
        begin(.openGroup, at: first.pts)
        frames += rest
        bytes += rest.reduce(0) { $0 + $1.footprint }
    }

    /// Latest decoding time of the cached pictures.
    var newestDecoding: MediaTime? { isDecodable ? frames.last { $0.track == .video }?.dts : nil }

    /// Moves all frames by `amount`.
    mutating func shift(by amount: MediaTime) {
        guard amount != .zero else { return }
        for index in frames.indices {
            frames[index].pts += amount
            frames[index].dts += amount
        }
        newestVideo = newestVideo.map { $0 + amount }
    }

    /// Removes the audio, because the audio that follows has another format.
    mutating func removeAudio() {
        frames.removeAll { $0.track == .audio }
        bytes = frames.reduce(0) { $0 + $1.footprint }
    }

    /// Removes everything. The source is decodable again from the next picture with which a decoder can start.
    public mutating func removeAll() {
        frames = []
        bytes = 0
        beginning = nil
        newestVideo = nil
    }

    private mutating func trimAudio(to newest: MediaTime) {
        let horizon = newest - GOPCache.audioBefore
        guard let first = frames.first, first.pts < horizon - GOPCache.audioBefore else { return }
        frames.removeAll { $0.pts < horizon }
        bytes = frames.reduce(0) { $0 + $1.footprint }
    }
}
