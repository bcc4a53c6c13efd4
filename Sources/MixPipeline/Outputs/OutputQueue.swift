import ProgramSplicer

/// What one destination has still to get. Pure.
///
/// It always gives out a stream that a player can decode: after a loss it goes on with the headers that hold there
/// and an IDR. What does not fit is dropped in whole groups of pictures, the oldest first, with their sound.
struct OutputQueue: Sendable {
    /// Of media that may wait, in ms, and in bytes.
    struct Limits: Hashable, Sendable {
        var milliseconds: UInt32 = 8_000
        var bytes = 32 << 20
    }

    /// About the bytes of memory that a tag takes beside its own.
    private static let overhead = 128

    private let limits: Limits
    private var tags: [OutputTag] = []
    private var head = 0
    private(set) var bytes = 0
    /// Headers in force at the front of the queue: given out or dropped before it.
    private var current: [FLVTag.Role: OutputTag] = [:]
    /// Headers of the stream so far, also those still in the queue.
    private var hasVideo = false
    /// Of the newest frame with a picture.
    private var lastPicture: UInt32?
    /// Frames are thrown away until the next IDR.
    private var waitsForIDR = false
    /// The headers in force have to be given out before the next frame.
    private var owesHeaders = false
    /// Given out since the last restart, but for repeated headers, as long as nobody has said that it arrives; no more than
    /// may wait.
    private(set) var unconfirmed: [OutputTag]? = []
    private var unconfirmedBytes = 0
    /// Frames that were never given out.
    private(set) var droppedFrames = 0

    /// - Parameter preamble: What precedes the next tag of a program that is already on: headers, and perhaps the
    ///   current group of pictures. Headers alone make the destination begin with the next IDR.
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
        bytes += tag.bytes.count
        if isTooLong { shorten() }
    }

    /// A program has pictures all the time or not at all: where none come for so long as may wait here, there is nothing
    /// to wait for, and a new connection is not told of any.
    private mutating func notePictures(_ tag: OutputTag) {
        if case .frame(.video, _) = tag.role { lastPicture = tag.timestamp }
        guard hasVideo, case .frame(.audio, _) = tag.role, let lastPicture,
            Int32(bitPattern: tag.timestamp &- lastPicture) > Int32(limits.milliseconds)
        else { return }
        hasVideo = false
        waitsForIDR = false
        current[.sequenceHeader(.video)] = nil
    }

    /// The next tags in order, at least one if there is any, about `budget` bytes.
    mutating func take(_ budget: Int) -> [OutputTag] {
        var taken: [OutputTag] = []
        var size = 0
        while head < tags.count, taken.isEmpty || size < budget {
            let tag = removeFirst()
            // Nobody begins with anything older.
            if tag.isIDR || unconfirmedBytes > limits.bytes {
                unconfirmed?.removeAll(keepingCapacity: true)
                unconfirmedBytes = 0
            }
            unconfirmed?.append(tag)
            unconfirmedBytes += tag.bytes.count + Self.overhead
            if tag.isFrame {
                if owesHeaders {
                    taken += headers(at: tag.timestamp)
                    owesHeaders = false
                }
            } else {
                current[tag.role] = tag
                if owesHeaders { continue }
            }
            taken.append(tag)
            size += tag.bytes.count
        }
        return taken
    }

    /// What is given out arrives: it is not wanted again.
    mutating func confirm() { unconfirmed = nil }

    /// For a new connection after another: what waits begins with the newest group of pictures, headers first. What went
    /// into a connection that never began belongs to what waits.
    mutating func restart() {
        if let unconfirmed, !unconfirmed.isEmpty {
            tags = unconfirmed + tags[head...]
            head = 0
            bytes += unconfirmed.reduce(0) { $0 + $1.bytes.count }
        }
        unconfirmed = []
        unconfirmedBytes = 0
        owesHeaders = true
        keepFromNewestIDR()
        if isTooLong { shorten() }
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
    }

    private mutating func keepFromNewestIDR() {
        guard hasVideo else { return dropAll() }
        guard let index = tags[head...].lastIndex(where: \.isIDR) else {
            dropAll()
            waitsForIDR = true
            return
        }
        // The newest group may be what is too long: then there is no way but to wait for the next.
        if index == tags[head...].firstIndex(where: \.isFrame), isTooLong {
            dropAll()
            waitsForIDR = true
            return
        }
        // Counted: dropping may move the storage.
        for _ in head..<index { drop() }
    }

    private mutating func dropAll() {
        for _ in 0..<count { drop() }
    }

    private mutating func drop() {
        let tag = removeFirst()
        if tag.isFrame { droppedFrames += 1 } else { current[tag.role] = tag }
    }

    private mutating func removeFirst() -> OutputTag {
        let tag = tags[head]
        head += 1
        bytes -= tag.bytes.count
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
        [.metadata, .sequenceHeader(.video), .sequenceHeader(.audio)].compactMap { current[$0]?.at(timestamp) }
    }
}
