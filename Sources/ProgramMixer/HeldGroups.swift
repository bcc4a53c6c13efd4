import EncodedMedia
import MixModel

/// The pictures of people whom no scene shows, compressed, from each one's last keyframe on. They are decoded only when
/// a scene shows their source. Pure.
///
/// What is held must be decoded within the time that a new scene waits for its pictures. A group that is too long for
/// that, or too large, is decoded as it comes, as if it were seen.
struct HeldGroups: Sendable {
    /// Bytes held of one source.
    static let mostBytes = 8 << 20
    /// Longest time that decoding the group of one source, and of all, may take.
    static let longest = MediaTime.milliseconds(150)
    static let longestOfAll = MediaTime.milliseconds(300)

    private struct Group {
        var frames: [EncodedFrame] = []
        var bytes = 0
        var time = MediaTime.zero
    }

    enum Verdict: Equatable, Sendable {
        case held
        /// These frames are to be decoded.
        case decode([EncodedFrame])
    }

    private var groups: [SourceID: Group] = [:]

    /// The sources of which frames are held.
    var sources: Set<SourceID> { Set(groups.keys) }

    /// Takes the next picture of a source.
    /// - Parameters:
    ///   - isUnseen: Whether nobody has seen the source for a while. Counts at a keyframe, because what is held begins
    ///     with one.
    ///   - pace: Mean time that decoding a picture of the source takes.
    mutating func take(_ frame: EncodedFrame, of id: SourceID, isUnseen: Bool, pace: MediaTime) -> Verdict {
        if frame.isIDR { groups[id] = isUnseen ? Group() : nil }
        guard var group = groups[id] else { return .decode([frame]) }
        group.frames.append(frame)
        group.bytes += frame.footprint
        group.time += pace
        groups[id] = group
        let all = groups.values.reduce(MediaTime.zero) { $0 + $1.time }
        guard group.bytes <= Self.mostBytes, group.time <= Self.longest, all <= Self.longestOfAll else {
            return .decode(release(id))
        }
        return .held
    }

    /// Returns the pictures to be decoded before the next one of the source, and holds none of it until the next
    /// keyframe.
    mutating func release(_ id: SourceID) -> [EncodedFrame] { groups.removeValue(forKey: id)?.frames ?? [] }
}
