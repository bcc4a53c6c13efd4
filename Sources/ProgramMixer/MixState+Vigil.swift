import EncodedMedia
import MixModel

/// The conditions for which the next video or audio frame of a mix waits.
struct AwaitedFrame: Sendable {
    /// The frame's own time, at which it is made if no source is live.
    var time: MediaTime
    /// Whether a source has delivered its contribution. The frame may then be made up to `Patience.early` before its
    /// time.
    var isLive = false
    /// Time before which the frame is never made; `nil` if there is none.
    var floor: MediaTime?
    /// The sources that have not delivered, each with the time until which the frame waits for it.
    var sources: [SourceID: MediaTime] = [:]

    init(time: MediaTime) { self.time = time }

    /// The time at which the frame can be made if nothing more arrives.
    var due: MediaTime {
        var due = isLive ? time - MixState.Patience.early : time
        if let floor, floor > due { due = floor }
        for until in sources.values where until > due { due = until }
        return due
    }
}

/// The conditions that wake the tick thread.
struct Vigil: Sendable {
    /// Time at which it wakes by itself; `nil` means never.
    var until: MediaTime?
    var picture: AwaitedFrame?
    var sound: AwaitedFrame?
}

/// The next step of the tick thread.
enum TickWork: Sendable {
    case sound(SoundJob)
    case picture(VideoJob)
    /// No frame can be made before this time unless media arrives; `nil` means without limit.
    case wait(until: MediaTime?)
}

extension MixState {
    /// Returns the next frame that can be made, audio first. It then counts as made.
    ///
    /// - Parameters:
    ///   - epoch: Seconds since 1970 at program time 0, for clocks.
    ///   - takesPictures: Whether a frame of the canvas can be painted.
    mutating func nextWork(now: MediaTime, epoch: Double, takesPictures: Bool) -> TickWork {
        vigil = nil
        var until: MediaTime?
        awaitedSound = nil
        awaitedPicture = nil
        switch nextSoundFrame(now: now) {
        case .make(let job): return .sound(job)
        case .wait(let time): until = time
        }
        if takesPictures {
            switch nextVideo(now: now, epoch: epoch) {
            case .make(let job): return .picture(job)
            case .wait(let time): until = [until, time].compactMap { $0 }.min()
            }
        }
        vigil = Vigil(until: until, picture: awaitedPicture, sound: awaitedSound)
        return .wait(until: until)
    }

    /// Returns whether a picture that has just arrived allows a frame to be made before the tick thread wakes by
    /// itself.
    mutating func wakes(pictureOf id: SourceID, isFirst: Bool) -> Bool {
        guard let awaited = vigil?.picture else { return false }
        guard awaited.sources[id] != nil else { return isFirst }
        guard case .frame = sources[id]?.sampler.choice(tick: awaited.time) else { return false }
        vigil?.picture?.sources[id] = nil
        if id != .idle { vigil?.picture?.isLive = true }
        return isEarlier(vigil?.picture)
    }

    /// Returns whether audio that has just arrived allows a frame to be made before the tick thread wakes by itself.
    mutating func wakes(soundOf id: SourceID, isFirst: Bool) -> Bool {
        guard let awaited = vigil?.sound else { return false }
        guard awaited.sources[id] != nil else { return isFirst }
        guard hasSound(of: id, until: nextSound + 1) else { return false }
        vigil?.sound?.sources[id] = nil
        if id != .idle { vigil?.sound?.isLive = true }
        return isEarlier(vigil?.sound)
    }

    private func isEarlier(_ awaited: AwaitedFrame?) -> Bool {
        guard let awaited, let until = vigil?.until else { return awaited != nil }
        return awaited.due < until
    }
}
