import EncodedMedia
import RTMP

extension PullProgram {
    /// Delay of the first frame, so that a slightly late segment does not cause another wait.
    private static let lead = MediaTime.milliseconds(300)

    /// Plays the segments of a playlist to its end. If a demuxer cannot continue, the next pipeline does.
    func playSegments(_ head: PullHead, _ address: PullAddress) async throws(PullEnd) -> PullEnd {
        let limits = settings.reach.map { Destination.Limits(reach: $0, setting: "sources.allow") }
        var buffers = [SegmentBuffer()]
        var reader = HLSReader(address.text, limits: limits) { [buffer = buffers[0]] in buffer.note($0) }
        let sound = try await reader.begin()
        var fetching = [Task { [reader, buffer = buffers[0]] in await Self.fetch(reader, into: buffer) }]
        defer { for task in fetching { task.cancel() } }
        if let sound {
            let buffer = SegmentBuffer()
            let reader = HLSReader(sound, limits: limits) { buffer.note($0) }
            fetching.append(Task { await Self.fetch(reader, into: buffer) })
            buffers.append(buffer)
        }
        var lead = Self.lead
        while try await hasPieces(in: buffers) {
            muxer.beginRound()
            // One of two playlists may end before the other.
            let rest = buffers.filter { $0.next != nil }
            let round = SegmentRound(rest)
            let head = rest.count > 1 ? HLSPull.headWithSound : head
            let pace = PullPace(SegmentPacer(lead: lead))
            let end = try await play(head, address, pace: pace, alignment: round.alignment) { [self, buffers] sources in
                round.feed(sources)
                return failure(of: buffers)
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

    /// Waits until a piece of each unfinished playlist is available.
    ///
    /// - Returns: Whether there is a piece; if not, the stream is over.
    /// - Throws: The reason why there will be none.
    private func hasPieces(in buffers: [SegmentBuffer]) async throws(PullEnd) -> Bool {
        let start = MonotonicClock.now()
        while !Task.isCancelled {
            if let end = buffers.lazy.compactMap(\.finalFault).first { throw end }
            if buffers.allSatisfy({ $0.next != nil || $0.isOver }) { return buffers.contains { $0.next != nil } }
            if let end = failure(of: buffers) { throw end }
            if muxer.lastMedia == nil, MonotonicClock.now() - start > Int64(Self.patience) * 1_000_000_000 {
                throw .noMedia
            }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    /// Returns the fault of one of several playlists that has ended with it, or the fault of fetching, once it has
    /// lasted as long as nothing was played.
    private func failure(of buffers: [SegmentBuffer]) -> PullEnd? {
        if buffers.count > 1, let end = buffers.lazy.compactMap(\.finalFault).first { return end }
        let limit = Int64(settings.idleTimeout) * 1_000_000_000
        let now = MonotonicClock.now()
        guard now - (muxer.lastMedia ?? 0) >= limit else { return nil }
        return buffers.lazy.compactMap(\.trouble).first { now - $0.since >= limit }?.end
    }
}
