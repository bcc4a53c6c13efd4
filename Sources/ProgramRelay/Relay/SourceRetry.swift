import EncodedMedia
import MixModel
import TextFormats

/// The pause before a source is connected again.
///
/// A source has to be back within a second after its server is, however long that took. Where nobody listens, an attempt
/// costs the server nothing and this machine no process (`ConnectionProbe`): it is made again after a third of a second.
/// Where the stream is missing it costs a request, and half a second passes. Pauses differ, so that the sources of one
/// server do not come at once. An attempt that has waited in silence has been the pause itself. A failure of another kind
/// than before, as of a server that has just come back and has no stream yet, is followed by quick attempts again. What no
/// waiting cures, such as bytes that crash a demuxer, is asked for more and more seldom.
enum SourceRetry {
    /// Pause after the first failure of most kinds, in ms: most connections that fail can be made again.
    static let first = 250
    /// Shortest pause, in ms.
    static let shortest = 50
    /// Pauses where nobody listens, in ms.
    static let away = 250...350
    /// Pauses after other failures that a server recovers from, in ms.
    static let usual = 400...600
    /// Longest pause after failures for which somebody has to change something, in ms.
    static let longest = 5_000
    /// Longest pause where the server is there and never had the stream, in ms.
    static let longestUnseen = 1_000
    /// Pause after what must not be asked for again soon, in ms.
    static let penalty = 10_000

    /// - Parameters:
    ///   - failures: Failures since media came, at least 1.
    ///   - repeats: Those of them that were the last ones and of this kind, at least 1.
    ///   - wasLive: Whether the source has ever delivered media.
    ///   - idle: Time since the attempt began or, if it brought media, since the last of them.
    static func pause(
        after kind: PullEnd.Kind, failures: Int, repeats: Int, wasLive: Bool, idle: MediaTime, of id: SourceID
    ) -> MediaTime {
        let milliseconds =
            switch kind {
            case .unsupportedCodec, .excessive: penalty
            case .crashed, .notAllowed, .tlsFailed, .protocolViolation, .badURL, .notInstalled, .tooMuchPending:
                min(growing(failures), longest)
            case .refused, .noMedia, .publisherLeft:
                wasLive ? quick(usual, failures, repeats, idle, id) : min(growing(repeats), longestUnseen)
            case .ended, .timedOut, .lost: quick(usual, failures, repeats, idle, id)
            case .unreachable: quick(away, failures, repeats, idle, id)
            }
        return .milliseconds(Int64(milliseconds))
    }

    private static func growing(_ count: Int) -> Int { first << min(max(count, 1) - 1, 5) }

    private static func quick(
        _ range: ClosedRange<Int>, _ failures: Int, _ repeats: Int, _ idle: MediaTime, _ id: SourceID
    ) -> Int {
        max(shortest, min(growing(repeats), spread(range, failures, id)) - Int(clamping: idle.roundedMilliseconds))
    }

    /// A number of a range, another one for each source and attempt.
    private static func spread(_ range: ClosedRange<Int>, _ failures: Int, _ id: SourceID) -> Int {
        let hash = FNV1a.hash(of: Array(id.rawValue.utf8) + [UInt8(truncatingIfNeeded: failures)])
        return range.lowerBound + Int((hash >> 16) % UInt64(range.count))
    }
}
