import EncodedMedia
import MediaFormats
import Synchronization

/// Puts video and audio that two demuxers have read from two playlists onto one clock.
///
/// An MPEG-TS demuxer counts from its first byte, so the difference between two of them is only in the bytes. An fMP4
/// demuxer returns the times of the stream.
final class TrackAlignment: Sendable {
    private struct State {
        var starts: [Track: Int64] = [:]
        var shifts: [Track: MediaTime] = [:]
        /// Start of the track that arrived first, in ticks.
        var base: Int64?
    }

    private static let rate = 90_000
    private let state = Mutex(State())

    /// Records the first bytes for a track's demuxer.
    func begins(_ track: Track, with bytes: [UInt8]) {
        let start = SegmentStart.ticks(of: track, in: bytes)
        state.withLock { $0.starts[track] = start }
    }

    /// Returns the offset to add to a track's times.
    ///
    /// - Parameter time: Presentation time of the track's frame; the first frame decides.
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
