import EncodedMedia
import MixModel
import TextFormats

/// The delay before a source is connected again.
///
/// A source must be back within a second of its server's return, regardless of how long that took. If the connection is
/// refused, an attempt costs the server nothing and this machine no process (`ConnectionProbe`): it is repeated after a
/// third of a second. If the stream is missing, an attempt costs a request, and is repeated after half a second. Delays
/// vary, so that the sources of one server do not all reconnect at once. For an attempt that has waited in silence,
/// that wait counts as the delay. After a failure of another kind than before, for example of a server that has just
/// returned and has no stream yet, attempts are quick again. After failures that waiting does not cure, such as bytes
/// that crash a demuxer, the delays grow.
enum SourceRetry {
    /// Delay after the first failure of most kinds, in ms: most failed connections can be made again.
    static let first = 250
    /// Shortest delay, in ms.
    static let shortest = 50
    /// Delays if the connection is refused, in ms.
    static let away = 250...350
    /// Delays after other failures from which a server recovers, in ms.
    static let usual = 400...600
    /// Longest delay after failures that need an operator, in ms.
    static let longest = 5_000
    /// Longest delay if the server responds but has never had the stream, in ms.
    static let longestUnseen = 1_000
    /// Delay after failures that must not be repeated soon, in ms.
    static let penalty = 10_000

    /// - Parameters:
    ///   - failures: Number of failures since the last media, at least 1.
    ///   - repeats: Number of the latest of them that were of this kind, at least 1.
    ///   - wasLive: Whether the source has ever delivered media.
    ///   - idle: Time since the attempt began or, if it brought media, since the last media.
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

    /// Returns a number in a range, different for each source and attempt.
    private static func spread(_ range: ClosedRange<Int>, _ failures: Int, _ id: SourceID) -> Int {
        let hash = FNV1a.hash(of: Array(id.rawValue.utf8) + [UInt8(truncatingIfNeeded: failures)])
        return range.lowerBound + Int((hash >> 16) % UInt64(range.count))
    }
}
