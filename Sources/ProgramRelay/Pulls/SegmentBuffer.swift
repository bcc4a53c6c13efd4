import EncodedMedia
import Synchronization

/// Pieces that were fetched and not yet pushed to a pipeline.
final class SegmentBuffer: Sendable {
    private struct State {
        var pieces: [HLSReader.Piece] = []
        var isOver = false
        var ending: PullEnd?
        var trouble: (since: Int64, end: PullEnd)?
    }

    /// Number of buffered bytes above which no further segment is fetched.
    private static let most = 32 << 20
    private let state = Mutex(State())

    var isFull: Bool {
        state.withLock { $0.pieces.reduce(0) { $0 + $1.bytes.count } > Self.most || $0.pieces.count > 8 }
    }
    var isOver: Bool { state.withLock { $0.isOver } }
    /// The reason why the buffer is empty and no more pieces follow, unless the playlist has ended.
    var finalFault: PullEnd? { state.withLock { $0.pieces.isEmpty && $0.isOver ? $0.ending : nil } }
    /// The current fault, and its beginning in ns of CLOCK_MONOTONIC.
    var trouble: (since: Int64, end: PullEnd)? { state.withLock { $0.trouble } }
    /// Whether the next piece needs a new demuxer; `nil` if there is none.
    var next: Bool? { state.withLock { $0.pieces.first?.beginsAnew } }

    func append(_ piece: HLSReader.Piece) { state.withLock { $0.pieces.append(piece) } }
    func take() -> HLSReader.Piece? { state.withLock { $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() } }

    func end(_ end: PullEnd?) { state.withLock { ($0.isOver, $0.ending) = (true, end) } }

    func note(_ trouble: PullEnd?) {
        state.withLock { state in
            state.trouble = trouble.map { (state.trouble?.since ?? MonotonicClock.now(), $0) }
        }
    }
}
