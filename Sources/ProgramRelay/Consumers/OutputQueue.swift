import MediaFormats

/// The tags that have not yet been sent to one destination. Pure.
///
/// The tags taken from it always form a stream that a player can decode: after a loss, the stream continues with the
/// current headers and an IDR. Tags that do not fit are dropped in whole groups of pictures with their audio, oldest
/// first.
struct OutputQueue: Sendable {
    /// Largest amount of waiting media, in ms and in bytes.
    struct Limits: Hashable, Sendable {
        var milliseconds: UInt32 = 8_000
        var bytes = 32 << 20

        /// The limits for a local process, which may hang for `ConsumerMachine.Policy.patience` and be absent for
        /// `longestDelay`.
        static let ofConsumers = Limits(milliseconds: 20_000)
    }

    /// Approximate memory that a tag takes besides its own bytes, in bytes.
    private static let overhead = 128
    private static let mostCues = 100

    private let limits: Limits
    private var tags: [OutputTag] = []
    private var head = 0
    private(set) var bytes = 0
    /// The current headers at the front of the queue: those taken or dropped before it.
    private var current: [FLVTag.Role: OutputTag] = [:]
    /// Whether the stream has video, by all headers so far, including those still in the queue.
    private var hasVideo = false
    /// The video header while there have been no pictures for long. They may come back without another one.
    private var aside: OutputTag?
    /// Whether frames were dropped, or a connection began without the video header, since there were pictures.
    private var hasLostPictures = false
    /// Timestamp of the newest video frame, in ms.
    private var lastPicture: UInt32?
    /// Whether frames are dropped until the next IDR.
    private var waitsForIDR = false
    /// Whether the current headers must precede the next frame that is taken.
    private var owesHeaders = false
    /// Cues that others have followed while headers are owed, oldest first. Unlike a header, a cue does not replace the
    /// one before it.
    private var cues: [OutputTag] = []
    /// Tags taken since the last restart, without repeated headers, until the connection confirms that they arrive.
    /// Limited like the waiting tags.
    private(set) var unconfirmed: [OutputTag]? = []
    private var unconfirmedBytes = 0
    /// The headers that were current before the first of them.
    private var unconfirmedHeaders: [FLVTag.Role: OutputTag] = [:]
    /// Frames dropped before they were taken.
    private(set) var droppedFrames = 0

    /// Creates a queue.
    /// - Parameter preamble: Tags that precede the next one of a program that is already on air: headers, and possibly
    ///   the current group of pictures. With headers alone, the destination starts with the next IDR.
    init(limits: Limits = Limits(), preamble: [OutputTag] = []) {
        self.limits = limits
        for tag in preamble { append(tag) }
        waitsForIDR = hasVideo && !preamble.contains(where: \.isFrame)
    }

    var isEmpty: Bool { head == tags.count }
    var count: Int { tags.count - head }

    mutating func append(_ tag: OutputTag) {
        if tag.role == .sequenceHeader(.video) {
            hasVideo = true
            aside = nil
            lastPicture = tag.timestamp
        }
        notePictures(tag)
        if waitsForIDR && tag.isFrame {
            guard tag.isIDR else {
                droppedFrames += 1
                return
            }
            waitsForIDR = false
        }
        tags.append(tag)
        bytes += tag.size
        if isTooLong { shorten() }
    }

    /// Records the time of the newest picture, and whether the program has pictures at all.
    ///
    /// A program usually has pictures all the time or not at all. If there was none for as long as media may wait here,
    /// the queue stops waiting for an IDR, and a new connection does not get the video header before the next picture.
    private mutating func notePictures(_ tag: OutputTag) {
        if case .frame(.video, _) = tag.role {
            lastPicture = tag.timestamp
            if let header = aside { bringBackPictures(header.at(tag.timestamp)) }
        }
        guard hasVideo, case .frame(.audio, _) = tag.role, let lastPicture,
            Int32(bitPattern: tag.timestamp &- lastPicture) > Int32(limits.milliseconds)
        else { return }
        hasVideo = false
        hasLostPictures = waitsForIDR
        waitsForIDR = false
        aside = tags[head...].last { $0.role == .sequenceHeader(.video) } ?? current[.sequenceHeader(.video)]
        current[.sequenceHeader(.video)] = nil
        unconfirmedHeaders[.sequenceHeader(.video)] = nil
    }

    /// Repeats the video header before the next picture.
    private mutating func bringBackPictures(_ header: OutputTag) {
        aside = nil
        hasVideo = true
        waitsForIDR = hasLostPictures
        tags.append(header)
        bytes += header.size
    }

    /// Returns and removes the next tags in order: at least one if there is any, about `budget` bytes.
    mutating func take(_ budget: Int) -> [OutputTag] {
        var taken: [OutputTag] = []
        var size = 0
        while head < tags.count, taken.isEmpty || size < budget {
            let tag = removeFirst()
            // No connection starts with anything older.
            if tag.isIDR || unconfirmedBytes > limits.bytes { forgetTaken() }
            unconfirmed?.append(tag)
            unconfirmedBytes += tag.size + Self.overhead
            if tag.isFrame {
                if owesHeaders {
                    taken += headers(at: tag.timestamp)
                    owesHeaders = false
                    cues = []
                }
            } else if owesHeaders {
                hold(tag)
                continue
            } else {
                current[tag.role] = tag
            }
            taken.append(tag)
            size += tag.size
        }
        return taken
    }

    /// Forgets the tags already taken, because the connection delivers them.
    mutating func confirm() { unconfirmed = nil }

    /// Forgets the tags already taken, because no connection starts with them.
    private mutating func forgetTaken() {
        unconfirmed?.removeAll(keepingCapacity: true)
        unconfirmedBytes = 0
        unconfirmedHeaders = current
    }

    /// Prepares for a new connection: the queue then starts with the newest group of pictures, headers first. Tags sent
    /// to a connection that never began are queued again.
    mutating func restart() {
        if let unconfirmed, !unconfirmed.isEmpty {
            tags = unconfirmed + tags[head...]
            head = 0
            bytes += unconfirmed.reduce(0) { $0 + $1.size }
            current = unconfirmedHeaders
        }
        unconfirmed = []
        owesHeaders = true
        keepFromNewestIDR()
        if isTooLong { shorten() }
        forgetTaken()
    }

    private var isTooLong: Bool {
        guard bytes <= limits.bytes, let last = tags.last, last.isFrame else { return bytes > limits.bytes }
        guard let first = tags[head...].first(where: \.isFrame) else { return false }
        // Signed: B-frames and two tracks make timestamps that step back a little.
        return Int32(bitPattern: last.timestamp &- first.timestamp) > Int32(limits.milliseconds)
    }

    private mutating func shorten() {
        owesHeaders = true
        keepFromNewestIDR()
        // They are older than those that were dropped, headers among them.
        forgetTaken()
    }

    private mutating func keepFromNewestIDR() {
        guard hasVideo else {
            hasLostPictures = true
            return dropAll()
        }
        guard let index = tags[head...].lastIndex(where: \.isIDR) else {
            dropAll()
            waitsForIDR = true
            return
        }
        // The newest group may itself be too long: then the queue has to wait for the next one.
        if index == tags[head...].firstIndex(where: \.isFrame), isTooLong {
            dropAll()
            waitsForIDR = true
            return
        }
        // By count, because dropping may move the storage.
        for _ in head..<index { drop() }
    }

    private mutating func dropAll() {
        for _ in 0..<count { drop() }
    }

    private mutating func drop() {
        let tag = removeFirst()
        if tag.isFrame { droppedFrames += 1 } else { hold(tag) }
    }

    /// Keeps a header or a cue that is sent before the next frame.
    private mutating func hold(_ tag: OutputTag) {
        if tag.role == .metadata, let old = current[.metadata], FLVCue(body: old.tag.body) != nil {
            cues.append(old)
            if cues.count > Self.mostCues { cues.removeFirst() }
        }
        current[tag.role] = tag
    }

    private mutating func removeFirst() -> OutputTag {
        let tag = tags[head]
        head += 1
        bytes -= tag.size
        if head == tags.count {
            tags.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 256, head * 2 > tags.count {
            tags.removeFirst(head)
            head = 0
        }
        return tag
    }

    private func headers(at timestamp: UInt32) -> [OutputTag] {
        let roles: [FLVTag.Role] = [.metadata, .sequenceHeader(.video), .sequenceHeader(.audio)]
        return (cues + roles.compactMap { current[$0] }).map { $0.at(timestamp) }
    }
}
