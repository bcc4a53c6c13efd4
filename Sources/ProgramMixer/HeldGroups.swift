import EncodedMedia
import MixModel

/// The encoded pictures of participants whom no scene shows, from each one's last keyframe. They are decoded only when
/// a scene shows their source. Pure.
///
/// Held pictures must be decodable within the time for which a new scene waits for its pictures. A group that is too
/// long for that, or too large, is decoded as it arrives, as if it were shown.
struct HeldGroups: Sendable {
    /// Largest number of bytes held per source.
    static let mostBytes = 8 << 20
    /// Longest time that decoding the group of one source, and of all sources, may take.
    static let longest = MediaTime.milliseconds(150)
    static let longestOfAll = MediaTime.milliseconds(300)

    private struct Group {
        var frames: [EncodedFrame] = []
        var bytes = 0
        var time = MediaTime.zero
    }

    enum Verdict: Equatable, Sendable {
        case held
        /// These frames must be decoded.
        case decode([EncodedFrame])
    }

    private var groups: [SourceID: Group] = [:]

    /// The sources with held frames.
    var sources: Set<SourceID> { Set(groups.keys) }

    /// Accepts the next picture of a source.
    /// - Parameters:
    ///   - isUnseen: Whether no scene has shown the source for a while. Takes effect at a keyframe, because held
    ///     pictures begin with one.
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

    /// Returns the pictures to decode before the source's next one. Holds none of that source until the next keyframe.
    mutating func release(_ id: SourceID) -> [EncodedFrame] { groups.removeValue(forKey: id)?.frames ?? [] }
}
