import EncodedMedia
import GStreamerKit
import RTMP
import Synchronization

extension PullProgram {
    /// Delay of the first frame, so that a segment that comes a little late does not make it wait again.
    private static let lead = MediaTime.milliseconds(300)

    /// Plays the segments of a playlist to its end. Where a demuxer cannot go on, the next pipeline does.
    func playSegments(_ head: PullHead, _ address: PullAddress) async throws(PullEnd) -> PullEnd {
        let buffer = SegmentBuffer()
        let limits = settings.reach.map { Destination.Limits(reach: $0, setting: "sources.allow") }
        let reader = HLSReader(address.text, limits: limits) { buffer.note($0) }
        let fetching = Task { await Self.fetch(reader, into: buffer) }
        defer { fetching.cancel() }
        var lead = Self.lead
        while try await hasPiece(in: buffer) {
            muxer.beginRound()
            let round = SegmentRound(buffer)
            let end = try await play(head, address, pace: PullPace(SegmentPacer(lead: lead))) { [self] source in
                round.feed(source)
                return failure(of: buffer)
            }
            guard end == .ended else { return end }
            lead = .zero
        }
        return .ended
    }

    private static func fetch(_ reader: HLSReader, into buffer: SegmentBuffer) async {
        var reader = reader
        var isEmpty = true
        do throws(PullEnd) {
            while let piece = try await reader.next() {
                isEmpty = false
                buffer.append(piece)
                while buffer.isFull, !Task.isCancelled { try? await Task.sleep(for: watchInterval) }
            }
            buffer.end(isEmpty ? buffer.trouble?.end : nil)
        } catch {
            buffer.end(error)
        }
    }

    /// Waits until there is a piece.
    ///
    /// - Returns: Whether there is one; if not, the stream is over.
    /// - Throws: The reason why there will be none.
    private func hasPiece(in buffer: SegmentBuffer) async throws(PullEnd) -> Bool {
        let start = MonotonicClock.now()
        while !Task.isCancelled {
            if buffer.next != nil { return true }
            if buffer.isOver {
                if let end = buffer.ending { throw end }
                return false
            }
            if let end = failure(of: buffer) { throw end }
            if muxer.lastMedia == nil, MonotonicClock.now() - start > Int64(Self.patience) * 1_000_000_000 {
                throw .noMedia
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    /// The trouble of fetching, once it has lasted as long as nothing was played.
    private func failure(of buffer: SegmentBuffer) -> PullEnd? {
        let limit = Int64(settings.idleTimeout) * 1_000_000_000
        let now = MonotonicClock.now()
        guard let (since, end) = buffer.trouble, now - since >= limit, now - (muxer.lastMedia ?? 0) >= limit else {
            return nil
        }
        return end
    }
}

/// Gives one pipeline the pieces that it can read.
private final class SegmentRound: Sendable {
    /// Bytes that wait in the pipeline, after which it gets no more.
    private static let most = 4 << 20

    private let buffer: SegmentBuffer
    private let state = Mutex((hasBegun: false, isOver: false))

    init(_ buffer: SegmentBuffer) { self.buffer = buffer }

    func feed(_ source: AppSource) {
        state.withLock { state in
            while !state.isOver, source.queuedBytes < Self.most {
                guard let beginsAnew = buffer.next else {
                    guard buffer.isOver else { return }
                    state.isOver = true
                    source.endOfStream()
                    return
                }
                guard !state.hasBegun || !beginsAnew else {
                    state.isOver = true
                    source.endOfStream()
                    return
                }
                state.hasBegun = true
                if let piece = buffer.take() { source.push(bytes: piece.bytes) }
            }
        }
    }
}
