import NIOCore

/// Gathers a program's tags into batches that viewers receive in one write. Pure.
///
/// Each write costs a viewer's connection one system call, whatever its size, and audio frames alone arrive 47 times a
/// second. A picture is therefore sent with the sound that has arrived since the picture before it: as it arrives, if
/// the last batch with a picture was sent at least 30 ms before, and otherwise after these 30 ms. Sound without a
/// picture waits for at most 55 ms, which is more than a picture's time at 20 pictures per second. A keyframe always
/// starts a batch.
struct FLVBatcher: Sendable {
    /// Minimum time between two batches that have a picture, in ns, unless one is full or a keyframe arrives.
    static let pictureInterval: Int64 = 30_000_000
    /// Time from a batch to the next one if that has no picture, in ns.
    static let soundInterval: Int64 = 55_000_000
    /// Maximum size of a batch with more than one tag, in bytes. The first data of a relay is a whole group of
    /// pictures.
    static let mostBytes = 64 << 10
    /// Time between two entry points in an audio-only program, in ms.
    static let soundEntry = 500
    /// Time without a picture after which a program counts as audio-only, in ms.
    static let pictureAge = 10_000

    private struct Pending {
        var chunk: HTTPChunk
        var timestamp: UInt32
        var lastTimestamp: UInt32
        var hasPicture = false
        var entry: FLVBatch.Entry?
        /// Revision of the headers after the last tag. The next tag may change them before this batch is taken.
        var revision: Int
    }
    private var pending: Pending?
    private var headers = StreamHeaders()
    /// Track flags as the relay announced them: 1 = video, 4 = audio.
    private var tracks: UInt8 = 0b101
    private var takenAt: Int64?
    private var pictureTakenAt: Int64?
    private var lastPicture: UInt32?
    private var lastSoundEntry: UInt32?

    private static let video: UInt8 = 0b001
    private static let audio: UInt8 = 0b100

    /// - Parameter tracks: Track flags of the relay's file header.
    mutating func begin(tracks: UInt8) { self.tracks = tracks }

    /// Time at which the pending batch is due, in ns; `nil` when there is none.
    var dueAt: Int64? {
        guard let pending else { return nil }
        let last = pending.hasPicture ? pictureTakenAt : takenAt
        return last.map { $0 + (pending.hasPicture ? Self.pictureInterval : Self.soundInterval) } ?? 0
    }

    /// Adds a tag.
    ///
    /// - Parameter now: Time in ns, never less than before.
    /// - Returns: The batches that are complete now. Headers that are already in force are left out.
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
                entry: isEntry ? headers.entry(at: tag.timestamp, tracks: tracks) : nil, revision: headers.revision)
        pending = nil
        current.chunk.write(tag, timestamp: tag.timestamp)
        current.revision = headers.revision
        if case .picture = tag.role { current.hasPicture = true }
        if tag.timestamp.milliseconds(since: current.lastTimestamp) > 0 { current.lastTimestamp = tag.timestamp }
        pending = current
        // A keyframe that arrives before the interval has passed is not held back either.
        if let dueAt, now >= dueAt || !complete.isEmpty && isEntry, let batch = take(now: now) {
            complete.append(batch)
        }
        return complete
    }

    /// Removes and returns the pending batch.
    mutating func take(now: Int64) -> FLVBatch? {
        // In place, because a second owner of the bytes would cause a copy.
        guard let bytes = pending?.chunk.finish(), let batch = pending else { return nil }
        pending = nil
        takenAt = now
        if batch.hasPicture { pictureTakenAt = now }
        return FLVBatch(
            bytes: bytes, timestamp: batch.timestamp, lastTimestamp: batch.lastTimestamp, entry: batch.entry,
            revision: batch.revision)
    }

    /// Records which tracks the program has.
    ///
    /// - Returns: Whether a player can start with this tag.
    private mutating func noteTracks(_ tag: ViewedTag) -> Bool {
        switch tag.role {
        case .metadata, .layout: return false
        case .videoHeader:
            tracks |= Self.video
            lastPicture = tag.timestamp
            return false
        case .audioHeader:
            tracks |= Self.audio
            return false
        case .picture(let isIDR):
            lastPicture = tag.timestamp
            // Viewers get the header with an entry point, hence not before a keyframe.
            if isIDR {
                tracks |= Self.video
                headers.restoreVideo()
            }
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
