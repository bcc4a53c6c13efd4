import EncodedMedia
import MediaFormats
import Synchronization

/// Puts pictures and sound that two demuxers have read from two playlists onto one clock.
///
/// A demuxer of MPEG-TS counts from its first byte, so that the difference between two of them is in the bytes alone. One of
/// fMP4 gives the times of the stream.
final class TrackAlignment: Sendable {
    private struct State {
        var starts: [Track: Int64] = [:]
        var shifts: [Track: MediaTime] = [:]
        /// Start of the track that came first, in ticks.
        var base: Int64?
    }

    private static let rate = 90_000
    private let state = Mutex(State())

    /// Notes the first bytes that a track's demuxer gets.
    func begins(_ track: Track, with bytes: [UInt8]) {
        let start = SegmentStart.ticks(of: track, in: bytes)
        state.withLock { $0.starts[track] = start }
    }

    /// Returns what has to be added to a track's times.
    ///
    /// - Parameter time: Presentation time of the track's frame, whose first one decides.
    func shift(of track: Track, at time: MediaTime) -> MediaTime {
        state.withLock { state in
            if let shift = state.shifts[track] { return shift }
            let start = state.starts[track] ?? time.units(rate: Self.rate)
            let base = state.base ?? start
            state.base = base
            // The shorter way around the clock.
            let period = SegmentStart.period
            let ahead = ((start - base) % period + period) % period
            let distance = ahead > period / 2 ? ahead - period : ahead
            let shift = MediaTime.units(base + distance, rate: Self.rate) - time
            state.shifts[track] = shift
            return shift
        }
    }
}
