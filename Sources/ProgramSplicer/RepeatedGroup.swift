import EncodedMedia

/// A group of pictures that is sent repeatedly, instead of running a mixer whose picture does not change. Pure.
///
/// The pictures keep their distances, and the audio is one silent frame, repeated on the program's own grid.
public struct RepeatedGroup: Sendable {
    /// The pictures in decoding order, from an IDR on, with their own times.
    private let pictures: [EncodedFrame]
    /// Time from the group's IDR to the next one.
    private let length: MediaTime
    /// Silent frame; `nil` if the program has no audio.
    private let silence: [UInt8]?
    /// Time of the IDR of the current repetition. `next`: index of its next picture.
    private var begin: MediaTime
    private var next = 0
    /// Time of the next regular IDR, which an extra one does not move.
    private var regular: MediaTime
    /// Whether a viewer needs an IDR before the next regular one.
    private var isAsked = false
    /// Time of the next audio frame; `nil` before the first one.
    private var nextSound: MediaTime?
    /// Time from which nothing is sent, because another feed begins there; `nil` if there is none.
    public var end: MediaTime?

    /// Largest number of frames returned at once. Further ones follow with the next call.
    static let mostFrames = 256

    /// - Parameters:
    ///   - pictures: At least an IDR, the first of them, without reordering.
    ///   - begin: Time of the first repetition's IDR.
    init(pictures: [EncodedFrame], length: MediaTime, begin: MediaTime, silence: [UInt8]?) {
        self.pictures = pictures
        self.length = max(length, .milliseconds(1))
        self.begin = begin
        regular = begin + self.length
        self.silence = silence
    }

    /// Time of the next picture.
    public var nextPicture: MediaTime { time(of: next) }

    /// Sends the group's IDR instead of the next picture, which looks the same.
    ///
    /// Two IDRs in a row would have the same number, which H.264 does not allow (§7.4.3): after an IDR the request
    /// takes effect with the picture after next; if the next regular IDR is as near, that one serves.
    public mutating func requestKeyframe() { isAsked = true }

    private mutating func beginAnewIfAsked() {
        guard isAsked, next > 1, let step = pictures.dropFirst().first.map({ $0.pts - pictures[0].pts }) else { return }
        isAsked = false
        guard nextPicture + step * 2 <= regular else { return }
        begin = nextPicture
        next = 0
    }

    private func time(of index: Int) -> MediaTime { begin + (pictures[index].pts - pictures[0].pts) }

    /// Returns the frames that are due, in the order of their times.
    ///
    /// - Parameter sound: Time of the program's next audio frame when the group begins, and the length of a frame;
    ///   `nil` if there is no audio.
    public mutating func take(
        until now: MediaTime, sound: (next: MediaTime, frame: MediaTime)?
    ) -> [EncodedFrame] {
        let limit = end.map { min(now, $0 - MediaTime(nanoseconds: 1)) } ?? now
        nextSound = nextSound ?? sound?.next
        var frames: [EncodedFrame] = []
        while frames.count < Self.mostFrames {
            beginAnewIfAsked()
            let picture = nextPicture
            if let silence, let time = nextSound, let length = sound?.frame, length > .zero, time < picture {
                guard time <= limit else { break }
                frames.append(EncodedFrame(track: .audio, pts: time, dts: time, payload: silence))
                nextSound = time + length
                continue
            }
            guard picture <= limit else { break }
            var frame = pictures[next]
            (frame.pts, frame.dts) = (picture, picture)
            frames.append(frame)
            next += 1
            guard next == pictures.count || nextPicture > regular - Splicer.step else { continue }
            next = 0
            isAsked = false
            begin = regular
            regular += length
        }
        return frames
    }
}

/// Records a mixer's group of pictures for repetition. Pure.
public struct GroupRecorder: Sendable {
    private var pictures: [EncodedFrame] = []
    private var bytes = 0

    /// Largest recorded group, in bytes as counted by `EncodedFrame.footprint`. A picture that does not change takes
    /// much less.
    static let byteLimit = 8 << 20
    /// Shortest recorded group. An IDR that comes earlier, because a viewer requested it, becomes one of its pictures.
    static let shortest = MediaTime.seconds(1)

    public init() {}

    /// Accepts the next picture.
    ///
    /// - Parameter silence: Silent audio frame for the repetitions.
    /// - Returns: The group, which replaces this picture and those that follow; `nil` while it is not complete.
    public mutating func take(_ picture: EncodedFrame, silence: [UInt8]?) -> RepeatedGroup? {
        guard picture.track == .video, picture.pts == picture.dts else {
            if picture.track == .video { pictures = [] }
            return nil
        }
        // Two IDRs in a row would have the same number, which H.264 does not allow (§7.4.3).
        if picture.isIDR, pictures.count > 1, picture.pts - pictures[0].pts >= Self.shortest {
            return RepeatedGroup(
                pictures: pictures, length: picture.pts - pictures[0].pts, begin: picture.pts, silence: silence)
        }
        if picture.isIDR, pictures.count < 2 {
            pictures = [picture]
            bytes = picture.footprint
        } else if !pictures.isEmpty {
            pictures.append(picture)
            bytes += picture.footprint
            if bytes > Self.byteLimit { pictures = [] }
        }
        return nil
    }
}
