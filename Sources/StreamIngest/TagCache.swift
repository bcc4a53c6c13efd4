import EncodedMedia
import MediaFormats

/// The tags with which a player can start in the middle of a stream: metadata, sequence headers and the current group
/// of pictures. Pure.
struct TagCache: Sendable {
    /// Largest amount of cached media, in bytes and in ms. A longer group of pictures is not kept: players then start
    /// with the next keyframe.
    struct Limits: Hashable, Sendable {
        var bytes = 8 << 20
        var milliseconds: UInt32 = 20_000

        /// Largest number of bytes for all streams together.
        private static let all = 256 * (8 << 20)

        /// Returns the bytes for each stream, given the number of streams.
        static func bytes(ofEachOf streams: Int) -> Int { min(8 << 20, all / max(streams, 1)) }
    }

    /// Memory of a tag in addition to its body, in bytes.
    private static let overhead = 160

    var limits: Limits
    private(set) var metadata: FLVTag?
    private(set) var video: FLVTag?
    private(set) var audio: FLVTag?
    private(set) var group: [FLVTag] = []
    private(set) var bytes = 0
    /// Whether the stream has pictures that a player can wait for: not while the camera is off and sound alone comes.
    private(set) var hasPictures = false
    /// Timestamp of the newest picture; before the first one, of the first sound.
    private var newestPicture: UInt32?

    /// Sound without pictures after which the camera counts as off, in ms.
    static let pictureAge: Int32 = 10_000

    init(limits: Limits = Limits()) { self.limits = limits }

    mutating func append(_ tag: FLVTag) {
        switch tag.role {
        case .metadata:
            metadata = tag
            // A relay that connects during a pause must not take earlier pictures for its end.
            if FLVMetadata.isPaused(tag.body) { forgetGroup() }
        case .sequenceHeader(.video):
            video = tag
            newestPicture = nil
            hasPictures = true
        case .sequenceHeader(.audio): audio = tag
        case .frame(let track, _):
            note(track, at: tag.timestamp)
            if tag.isIDR {
                forgetGroup()
            } else if group.isEmpty {
                return
            }
            group.append(tag)
            bytes += tag.encodedSize + Self.overhead
            let age = tag.timestamp &- (group.first?.timestamp ?? tag.timestamp)
            // A timestamp that goes back gives no age.
            if bytes > limits.bytes || (age > limits.milliseconds && age < 1 << 31) { forgetGroup() }
        }
    }

    private mutating func note(_ track: Track, at timestamp: UInt32) {
        guard track == .audio else {
            newestPicture = timestamp
            hasPictures = video != nil
            return
        }
        let last = newestPicture ?? timestamp
        newestPicture = last
        // A time that goes back is no age.
        if Int32(bitPattern: timestamp &- last) > Self.pictureAge { hasPictures = false }
    }

    private mutating func forgetGroup() {
        group = []
        bytes = 0
    }

    /// Returns the current headers with a timestamp.
    func headers(at timestamp: UInt32) -> [OutputTag] {
        [metadata, video, audio].compactMap { tag in
            guard var tag else { return nil }
            tag.timestamp = timestamp
            return OutputTag(tag)
        }
    }

    /// Returns the tags that a new player gets before the following ones.
    ///
    /// - Parameter now: Timestamp of the stream, for headers without a group of pictures.
    func preamble(at now: UInt32) -> [OutputTag] {
        headers(at: group.first?.timestamp ?? now) + group.map { OutputTag($0) }
    }
}
