import EncodedMedia
import MediaFormats

/// Decides which tags a player gets: all of them while it keeps up; once too many wait, none until it has read most of
/// them and the next keyframe arrives. Pure.
struct PlayerFlow: Sendable {
    struct Limits: Hashable, Sendable {
        /// Bytes that may wait for a player before tags are dropped.
        var bytes = 4 << 20
        /// Time in ns for which tags are dropped before the player is disconnected.
        var patience: Int64 = 10_000_000_000
    }

    enum Decision: Hashable, Sendable {
        case send
        /// The current headers have to be sent before the tag.
        case sendWithHeaders
        case leaveOut
        case disconnect
    }

    let limits: Limits
    /// Whether frames wait for a keyframe.
    private var waitsForKeyframe: Bool
    private var fullSince: Int64?
    private var owesHeaders = false
    /// Number of dropped tags.
    private(set) var leftOut = 0

    /// - Parameter waitsForKeyframe: Whether the player started without a group of pictures.
    init(limits: Limits = Limits(), waitsForKeyframe: Bool) {
        self.limits = limits
        self.waitsForKeyframe = waitsForKeyframe
    }

    /// Whether every tag is sent, without headers before it.
    var isPlain: Bool { !waitsForKeyframe && fullSince == nil && !owesHeaders }

    /// Prepares for another publisher's stream, whose first frames may need a keyframe that is gone.
    mutating func restart() { waitsForKeyframe = true }

    /// - Parameters:
    ///   - queued: Bytes that wait for the player.
    ///   - hasVideo: Whether the stream has pictures at present; without them, every frame is one to begin with.
    mutating func decide(_ tag: OutputTag, queued: Int, hasVideo: Bool, now: Int64) -> Decision {
        if let since = fullSince {
            if queued <= limits.bytes / 8 {
                fullSince = nil
            } else if now.saturatingDifference(since) > limits.patience {
                return .disconnect
            }
        } else if queued > limits.bytes {
            fullSince = now
            waitsForKeyframe = true
            owesHeaders = true
        }
        if fullSince == nil, tag.isIDR || (tag.isFrame && !hasVideo) { waitsForKeyframe = false }
        guard fullSince == nil, !(waitsForKeyframe && tag.isFrame) else {
            // The current headers follow later.
            leftOut += 1
            return .leaveOut
        }
        guard owesHeaders, tag.isFrame else { return .send }
        owesHeaders = false
        return .sendWithHeaders
    }
}
