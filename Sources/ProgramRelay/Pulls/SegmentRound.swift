import EncodedMedia
import GStreamerKit
import Synchronization

/// Pushes to a pipeline the pieces that it can read: from one playlist, or from one with video and one with audio.
final class SegmentRound: Sendable {
    /// Number of bytes waiting in an element of the pipeline above which it gets no more.
    private static let most = 4 << 20
    private static let tracks = [Track.video, .audio]

    /// The alignment of two playlists; `nil` if one playlist contains all tracks.
    let alignment: TrackAlignment?
    private let buffers: [SegmentBuffer]
    private let state: Mutex<[(hasBegun: Bool, isOver: Bool)]>

    init(_ buffers: [SegmentBuffer]) {
        self.buffers = buffers
        alignment = buffers.count > 1 ? TrackAlignment() : nil
        state = Mutex(buffers.map { _ in (false, false) })
    }

    /// - Parameter sources: An element for each playlist.
    func feed(_ sources: [AppSource]) {
        state.withLock { state in
            for (index, source) in sources.enumerated() where !state[index].isOver {
                switch feed(source, from: index, hasBegun: &state[index].hasBegun) {
                case .later: break
                case .over: end(index, source, &state)
                // The next pieces need new demuxers, for all tracks at once.
                case .anew: for (index, source) in sources.enumerated() { end(index, source, &state) }
                }
            }
        }
    }

    private enum Next {
        case later, over, anew
    }

    private func feed(_ source: AppSource, from index: Int, hasBegun: inout Bool) -> Next {
        let buffer = buffers[index]
        while source.queuedBytes < Self.most {
            guard let beginsAnew = buffer.next else { return buffer.isOver ? .over : .later }
            guard !hasBegun || !beginsAnew, let piece = buffer.take() else { return .anew }
            push(piece, to: source, from: index, isFirst: !hasBegun)
            hasBegun = true
        }
        return .later
    }

    private func push(_ piece: HLSReader.Piece, to source: AppSource, from index: Int, isFirst: Bool) {
        if isFirst { alignment?.begins(Self.tracks[index], with: piece.bytes) }
        source.push(bytes: isFirst ? piece.map + piece.bytes : piece.bytes)
    }

    private func end(_ index: Int, _ source: AppSource, _ state: inout [(hasBegun: Bool, isOver: Bool)]) {
        guard !state[index].isOver else { return }
        state[index].isOver = true
        // A demuxer without any data reports an error.
        if !state[index].hasBegun, let piece = buffers[index].take() {
            push(piece, to: source, from: index, isFirst: true)
        }
        source.endOfStream()
    }
}
