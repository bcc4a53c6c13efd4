import EncodedMedia
import Synchronization

/// What was fetched and not given to a pipeline yet.
final class SegmentBuffer: Sendable {
    private struct State {
        var pieces: [HLSReader.Piece] = []
        var isOver = false
        var ending: PullEnd?
        var trouble: (since: Int64, end: PullEnd)?
    }

    /// Most bytes after which no further segment is fetched.
    private static let most = 32 << 20
    private let state = Mutex(State())

    var isFull: Bool {
        state.withLock { $0.pieces.reduce(0) { $0 + $1.bytes.count } > Self.most || $0.pieces.count > 8 }
    }
    var isOver: Bool { state.withLock { $0.isOver } }
    /// The reason why nothing is left and no more comes, unless the playlist has ended.
    var finalFault: PullEnd? { state.withLock { $0.pieces.isEmpty && $0.isOver ? $0.ending : nil } }
    /// What goes wrong, and since when in ns of CLOCK_MONOTONIC.
    var trouble: (since: Int64, end: PullEnd)? { state.withLock { $0.trouble } }
    /// Whether the next piece begins anew; `nil` if there is none.
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
