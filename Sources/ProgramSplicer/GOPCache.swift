import EncodedMedia

/// A source's frames since its last IDR, kept so that a decoder or a viewer can begin at once.
///
/// Times are its owner's. Audio is kept from one second before the IDR, because a splice needs the audio around
/// the IDR, which may have arrived first.
public struct GOPCache: Sendable {
    public private(set) var frames: [EncodedFrame] = []
    public private(set) var hasIDR = false
    private var bytes = 0
    private var newestVideo: MediaTime?

    /// Largest GOP that is kept, in bytes as `EncodedFrame.footprint` counts. A larger one is dropped, and the source
    /// is decodable again at its next IDR.
    static let byteLimit = 32 << 20
    static let audioBefore = MediaTime.milliseconds(1000)
    /// Age at which pictures followed by sound alone are no beginning any more: the camera is off.
    static let pictureAge = MediaTime.seconds(10)

    public init() {}

    /// Takes the source's next frame, in decoding order. Video before the first IDR is not kept.
    public mutating func append(_ frame: EncodedFrame) {
        if frame.isIDR {
            let horizon = frame.pts - GOPCache.audioBefore
            frames.removeAll { $0.track == .video || $0.pts < horizon }
            bytes = frames.reduce(0) { $0 + $1.footprint }
            hasIDR = true
        } else if frame.track == .video, !hasIDR {
            return
        }
        if frame.track == .video {
            newestVideo = frame.pts
        } else if hasIDR, let newestVideo, frame.pts - newestVideo > GOPCache.pictureAge {
            frames.removeAll { $0.track == .video }
            hasIDR = false
        }
        frames.append(frame)
        bytes += frame.footprint
        if bytes > GOPCache.byteLimit { removeAll() }
        if !hasIDR { trimAudio(to: frame.pts) }
    }

    /// Latest decoding time of the pictures that are kept.
    var newestDecoding: MediaTime? { hasIDR ? frames.last { $0.track == .video }?.dts : nil }

    /// Moves all frames by `amount`.
    mutating func shift(by amount: MediaTime) {
        guard amount != .zero else { return }
        for index in frames.indices {
            frames[index].pts += amount
            frames[index].dts += amount
        }
        newestVideo = newestVideo.map { $0 + amount }
    }

    /// Forgets everything. The source is decodable again from the next IDR.
    public mutating func removeAll() {
        frames = []
        bytes = 0
        hasIDR = false
        newestVideo = nil
    }

    private mutating func trimAudio(to newest: MediaTime) {
        let horizon = newest - GOPCache.audioBefore
        guard let first = frames.first, first.pts < horizon - GOPCache.audioBefore else { return }
        frames.removeAll { $0.pts < horizon }
        bytes = frames.reduce(0) { $0 + $1.footprint }
    }
}
