import EncodedMedia

/// Assembles the segments of a transcoded rendition, which is cut where the program is. A pure value.
///
/// The transcoder delivers one picture for each picture of the program, in presentation order and with the same times.
/// A segment whose pictures do not arrive in time becomes a gap, so that both playlists advance together.
public struct RenditionAssembler: Sendable {
    private struct Picture: Sendable {
        var frame: EncodedFrame
        var configuration: CodecConfiguration
    }

    private var waiting: [(number: Int, segment: ProgramSegment)] = []
    private var pictures: [Picture] = []
    private var configuration: CodecConfiguration?
    private var newest: MediaTime?
    /// Latest presentation time in the last segment that was made.
    private var shownUntil: MediaTime?

    /// Number of segments that may wait for the transcoder.
    private static let patience = 3
    /// Period in ns of FLV timestamps, which are truncated to 32 bits of ms.
    private static let wrap: Int64 = (1 << 32) * 1_000_000

    public init() {}

    /// Adds a segment of the program.
    public mutating func push(_ segment: ProgramSegment, number: Int) { waiting.append((number, segment)) }

    public mutating func push(_ configuration: CodecConfiguration) { self.configuration = configuration }

    /// Adds a transcoded picture.
    public mutating func push(_ frame: EncodedFrame) {
        guard let configuration else { return }
        var frame = frame
        if let reference = waiting.first?.segment.start ?? newest {
            let wraps = (Double((reference - frame.pts).nanoseconds) / Double(Self.wrap)).rounded()
            let shift = MediaTime(nanoseconds: Self.wrap) * Int64(wraps)
            frame.pts += shift
            frame.dts += shift
        }
        // A transcoder that has restarted must not repeat pictures.
        if let newest, frame.pts <= newest, newest - frame.pts < .seconds(60) { return }
        newest = frame.pts
        pictures.append(Picture(frame: frame, configuration: configuration))
        // With no segment waiting, keep as many pictures as the longest segment may have; otherwise as many as all
        // waiting segments may have.
        if pictures.count > (waiting.isEmpty ? 4096 : 16_384) { pictures.removeFirst(2048) }
    }

    /// Returns the next segment that is complete or no longer waited for; `nil` while there is none. A gap has no
    /// `made`.
    public mutating func next(isEnding: Bool = false) -> (number: Int, source: ProgramSegment, made: ProgramSegment?)? {
        guard let (number, segment) = waiting.first else { return nil }
        guard segment.video != nil else {
            waiting.removeFirst()
            return (number, segment, segment)
        }
        let times = segment.frames.filter { $0.track == .video }.map(\.pts)
        guard let first = times.min(), let last = times.max() else {
            waiting.removeFirst()
            return (number, segment, withoutPictures(segment))
        }
        guard isEnding || waiting.count > Self.patience || newest.map({ $0 >= last }) ?? false else { return nil }
        waiting.removeFirst()
        pictures.removeAll { $0.frame.pts < first && last - $0.frame.pts < .seconds(3600) }
        let count = pictures.prefix { $0.frame.pts <= last }.count
        let taken = Array(pictures.prefix(count))
        pictures.removeFirst(count)
        // Within a group, pictures shown before the end of the previous segment belong to that one, whenever they are
        // decoded.
        let expected = times.count { time in shownUntil.map { time > $0 || $0 - time > .seconds(60) } ?? true }
        shownUntil = last
        if expected == 0 { return (number, segment, withoutPictures(segment)) }
        guard let head = taken.first, taken.count * 10 >= expected * 9,
            head.frame.isIDR || !segment.isIndependent
        else { return (number, segment, nil) }
        var made = segment
        made.video = head.configuration
        made.frames = Self.merged(
            taken.filter { $0.configuration == head.configuration }.map(\.frame),
            segment.frames.filter { $0.track == .audio })
        return (number, segment, made)
    }

    /// Returns the segment with audio only: it is from the end of a program, or between two pictures that are far
    /// apart.
    private func withoutPictures(_ segment: ProgramSegment) -> ProgramSegment? {
        guard let configuration else { return nil }
        var made = segment
        made.video = configuration
        made.frames.removeAll { $0.track == .video }
        return made
    }

    private static func merged(_ video: [EncodedFrame], _ audio: [EncodedFrame]) -> [EncodedFrame] {
        var frames: [EncodedFrame] = []
        frames.reserveCapacity(video.count + audio.count)
        var sound = audio[...]
        for picture in video {
            while let next = sound.first, next.pts < picture.dts {
                frames.append(next)
                sound.removeFirst()
            }
            frames.append(picture)
        }
        return frames + sound
    }
}
