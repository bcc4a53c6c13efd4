import EncodedMedia
import MixModel

extension PlannedSource {
    /// Whether no track is left out.
    var takesEverything: Bool { tracks ?? .all == .all }

    /// Returns whether items of a track are used; `nil` = items that belong to no track.
    func takes(_ track: Track?) -> Bool {
        switch tracks {
        case .audio: track != .video
        case .video: track != .audio
        case .all, nil: true
        }
    }
}
