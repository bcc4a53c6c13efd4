import EncodedMedia
import MixModel

/// Measures how long a program waits for the keyframe with which it can return to a bypass, so that operators are told
/// once. Pure.
package struct KeyframeWait: Sendable {
    /// Wait after which operators are told: the longest GOP in use (`SourceTimeline.longestGroup`), and time for the
    /// recovery point after it, which explains why no keyframe comes.
    package static let patience = MediaTime.seconds(12)

    private var waiting: (source: SourceID, since: MediaTime, isTold: Bool)?

    package init() {}

    /// Returns the message that is due, once for each wait.
    ///
    /// - Parameters:
    ///   - source: The source to copy, while a mix is on air and the source delivers; `nil` if there is none.
    ///   - refreshesGradually: Whether the source has recovery points and no keyframes.
    package mutating func news(of source: SourceID?, refreshesGradually: Bool, now: MediaTime) -> String? {
        guard let source else {
            waiting = nil
            return nil
        }
        guard let wait = waiting, wait.source == source else {
            waiting = (source, now, false)
            return nil
        }
        guard !wait.isTold, now - wait.since >= Self.patience else { return nil }
        waiting?.isTold = true
        let reason =
            refreshesGradually
            ? "\(source) sends no keyframes (intra refresh or open GOPs)"
            : "no keyframe of \(source) has come for \(Int((now - wait.since).inSeconds)) s"
        return "\(reason): the mix of one goes on until a keyframe comes"
    }
}
