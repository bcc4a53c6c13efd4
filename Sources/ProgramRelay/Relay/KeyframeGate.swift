import EncodedMedia
import MediaFormats

/// Holds back the pictures of a connection that follows an earlier one, until a decoder can begin with one of them.
/// Pure.
///
/// Many servers begin in the middle of a group of pictures. Viewers of a copy and decoders of a mix, which have the
/// earlier connection's pictures, would show damage until the next keyframe. Without these pictures the source stalls,
/// and a mix shows its last good one.
struct KeyframeGate: Sendable {
    /// Time after the first held picture from which all pass: their sender may send neither keyframes nor recovery
    /// points.
    static let patience = MediaTime.seconds(10)

    private var isClosed: Bool
    private var pictures: VideoConfiguration?
    private var heldSince: MediaTime?
    /// Arrival of the latest picture that was held back.
    private(set) var heldAt: MediaTime?

    /// - Parameter isClosed: Whether the connection follows one whose pictures are in use.
    init(isClosed: Bool = false) { self.isClosed = isClosed }

    /// Whether pictures are arriving and being held back.
    var isHolding: Bool { isClosed && heldSince != nil }

    /// Returns whether the connection's next item may pass.
    mutating func admits(_ item: MediaItem, now: MediaTime) -> Bool {
        guard isClosed else { return true }
        switch item {
        case .configuration(let configuration):
            if configuration.track == .video { pictures = VideoConfiguration(configuration) }
            return true
        case .frame(let frame) where frame.track == .video:
            let since = heldSince ?? now
            isClosed = !canBegin(with: frame) && now - since < Self.patience
            if isClosed { (heldSince, heldAt) = (since, now) }
            return !isClosed
        case .frame, .discontinuity, .metadata:
            return true
        }
    }

    /// Returns whether pictures become complete from this one on. With a recovery point that may take a while.
    private func canBegin(with frame: EncodedFrame) -> Bool {
        frame.isIDR
            || frame.hasRecoveryPoint(lengthSize: pictures?.lengthSize ?? 4, codec: pictures?.codec ?? .h264)
    }
}
