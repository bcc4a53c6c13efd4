import NIOCore

/// Puts the tags of successive connections onto one timeline. Pure.
///
/// Timestamps stay those of the program for as long as its relay lives. A new connection to the same relay repeats the
/// newest group of pictures; tags that viewers already have are left out. A relay that replaces a killed one continues
/// its timestamps. If a new relay does not, because it starts at 0, its program is moved to the present of the
/// timeline, so that players see a pause and not a step back.
struct ProgramStitcher: Sendable {
    /// Process of the relay; 0 = unknown.
    private var process: Int32?
    private var lastPicture: UInt32?
    private var lastSound: UInt32?
    /// Timestamp of the newest frame in ms, with its arrival in ns.
    private var newest: (timestamp: UInt32, at: Int64)?
    /// Offset in ms, which is added to the relay's timestamps.
    private var offset: UInt32 = 0
    /// Whether the next tag sets the offset.
    private var isNewProgram = false
    /// Whether pictures are dropped until an IDR, because they cannot be decoded without it.
    private var awaitsIDR = true
    private var skipsPictures = false
    private var skipsSounds = false

    /// Maximum lead of a continuing relay's timestamps over the elapsed time, in ms.
    private static let mostAhead = 5000

    /// Records a new connection.
    mutating func connected(to process: Int32) {
        awaitsIDR = true
        guard newest != nil else {
            self.process = process
            return
        }
        isNewProgram = process != self.process
        skipsPictures = !isNewProgram
        skipsSounds = !isNewProgram
        self.process = process
    }

    /// Moves a tag onto the timeline.
    ///
    /// - Parameter now: Arrival of the tag, in ns.
    /// - Returns: The tag as sent to viewers; `nil` when it is left out.
    mutating func accept(_ tag: ViewedTag, now: Int64) -> ViewedTag? {
        if isNewProgram, let newest {
            let elapsed = max((now - newest.at) / 1_000_000, 1)
            let step = (tag.timestamp &+ offset).milliseconds(since: newest.timestamp)
            if step <= 0 || Int64(step) > elapsed + Int64(Self.mostAhead) {
                offset = newest.timestamp &+ UInt32(truncatingIfNeeded: elapsed) &- tag.timestamp
            }
            isNewProgram = false
        }
        var tag = tag
        tag.timestamp &+= offset
        switch tag.role {
        case .metadata, .layout, .videoHeader, .audioHeader: return tag
        case .picture(let isIDR):
            if awaitsIDR && !isIDR { return nil }
            awaitsIDR = false
            if skipsPictures, let lastPicture, tag.timestamp.milliseconds(since: lastPicture) <= 0 { return nil }
            skipsPictures = false
            lastPicture = tag.timestamp
        case .sound:
            if skipsSounds, let lastSound, tag.timestamp.milliseconds(since: lastSound) <= 0 { return nil }
            skipsSounds = false
            lastSound = tag.timestamp
        }
        if newest.map({ tag.timestamp.milliseconds(since: $0.timestamp) > 0 }) ?? true {
            newest = (tag.timestamp, now)
        }
        return tag
    }
}
