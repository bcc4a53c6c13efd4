import NIOCore

/// Gathers a program's tags into what viewers get in one write. Pure.
///
/// A viewer costs a system call for each write, whatever is in it; frames of sound alone come 47 times a second. What
/// comes within 40 ms therefore goes together, later than it came by that much at most. The first tag after a pause
/// goes at once, and a keyframe always begins a batch.
struct FLVBatcher: Sendable {
    /// ns between two batches, unless one is full or a keyframe comes.
    static let interval: Int64 = 40_000_000
    /// Bytes that go together at most, if there is more than one tag. What a relay sends first is a whole group of pictures.
    static let mostBytes = 64 << 10
    /// A program of sound alone can be begun at so many ms.
    static let soundEntry = 500
    /// Sound without pictures for longer, in ms: there are none any more.
    static let pictureAge = 10_000

    private struct Pending {
        var chunk: HTTPChunk
        var timestamp: UInt32
        var lastTimestamp: UInt32
        var entry: FLVBatch.Entry?
    }
    private var pending: Pending?
    private var headers = StreamHeaders()
    /// As the relay announced them.
    private var tracks: UInt8 = 0b101
    private var takenAt: Int64?
    private var lastPicture: UInt32?
    private var lastSoundEntry: UInt32?

    private static let video: UInt8 = 0b001
    private static let audio: UInt8 = 0b100

    /// - Parameter tracks: Of the relay's file header.
    mutating func begin(tracks: UInt8) { self.tracks = tracks }

    /// When what waits is due, in ns; `nil` when nothing waits.
    var dueAt: Int64? { pending == nil ? nil : takenAt.map { $0 + Self.interval } ?? 0 }

    /// - Parameter now: In ns, never less than before.
    /// - Returns: What is complete now. Headers that are in force already are left out.
    mutating func add(_ tag: ViewedTag, now: Int64) -> [FLVBatch] {
        guard headers.take(tag) else { return [] }
        var complete: [FLVBatch] = []
        let isEntry = noteTracks(tag)
        let size = tag.bytes.readableBytes
        if let pending, isEntry || pending.chunk.count + size > Self.mostBytes {
            if let batch = take(now: now) { complete.append(batch) }
        }
        var current =
            pending
            ?? Pending(
                chunk: HTTPChunk(capacity: size), timestamp: tag.timestamp, lastTimestamp: tag.timestamp,
                entry: isEntry ? headers.entry(at: tag.timestamp, tracks: tracks) : nil)
        pending = nil
        current.chunk.write(tag, timestamp: tag.timestamp)
        if tag.timestamp.milliseconds(since: current.lastTimestamp) > 0 { current.lastTimestamp = tag.timestamp }
        pending = current
        // A keyframe that interrupts the interval is not held back either.
        if let dueAt, now >= dueAt || !complete.isEmpty && isEntry, let batch = take(now: now) {
            complete.append(batch)
        }
        return complete
    }

    /// What waits.
    mutating func take(now: Int64) -> FLVBatch? {
        // In place: a second owner of the bytes would have them copied.
        guard let bytes = pending?.chunk.finish(), let batch = pending else { return nil }
        pending = nil
        takenAt = now
        return FLVBatch(
            bytes: bytes, timestamp: batch.timestamp, lastTimestamp: batch.lastTimestamp, entry: batch.entry,
            revision: headers.revision)
    }

    /// - Returns: Whether a player can begin with this tag.
    private mutating func noteTracks(_ tag: ViewedTag) -> Bool {
        switch tag.role {
        case .metadata: return false
        case .videoHeader:
            tracks |= Self.video
            lastPicture = tag.timestamp
            return false
        case .audioHeader:
            tracks |= Self.audio
            return false
        case .picture(let isIDR):
            lastPicture = tag.timestamp
            return isIDR
        case .sound:
            if let lastPicture {
                guard tag.timestamp.milliseconds(since: lastPicture) > Self.pictureAge else { return false }
                self.lastPicture = nil
                headers.forgetVideo()
                tracks &= ~Self.video
            }
            if let lastSoundEntry, 0..<Self.soundEntry ~= tag.timestamp.milliseconds(since: lastSoundEntry) {
                return false
            }
            lastSoundEntry = tag.timestamp
            return true
        }
    }
}
