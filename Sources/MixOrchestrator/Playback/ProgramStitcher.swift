import NIOCore

/// Puts what comes of several connections, one after another, onto one timeline. Pure.
///
/// Timestamps stay those of the program for as long as its relay lives. A connection to the same relay repeats its newest
/// group of pictures: what viewers have is left out. Another relay's program begins at 0: it is moved to where the
/// timeline is now, so that players see a pause and not a step back.
struct ProgramStitcher: Sendable {
    /// Process of the relay; 0 = not known.
    private var process: Int32?
    private var lastPicture: UInt32?
    private var lastSound: UInt32?
    /// Of the newest frame, with its arrival in ns.
    private var newest: (timestamp: UInt32, at: Int64)?
    /// Is added to what the relay says.
    private var offset: UInt32 = 0
    /// The next tag decides about the offset.
    private var isNewProgram = false
    /// Pictures without their keyframe cannot be shown.
    private var awaitsIDR = true
    private var skipsPictures = false
    private var skipsSounds = false

    /// A connection begins.
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

    /// - Parameter now: In ns.
    /// - Returns: The tag as viewers get it; `nil` when they do not.
    mutating func accept(_ tag: ViewedTag, now: Int64) -> ViewedTag? {
        if isNewProgram, let newest {
            let elapsed = max((now - newest.at) / 1_000_000, 1)
            offset = newest.timestamp &+ UInt32(truncatingIfNeeded: elapsed) &- tag.timestamp
            isNewProgram = false
        }
        var tag = tag
        tag.timestamp &+= offset
        switch tag.role {
        case .metadata, .videoHeader, .audioHeader: return tag
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
