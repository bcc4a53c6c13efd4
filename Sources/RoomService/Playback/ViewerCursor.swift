import NIOCore

/// The position of one viewer in a program. Pure.
///
/// It is the only state kept for a viewer. A viewer that lags behind by more than the latency cap skips to the newest
/// keyframe if that is ahead. Within a group of pictures nothing can be skipped.
struct ViewerCursor: Sendable {
    /// Number of the next batch; `nil` while waiting for a keyframe.
    private var position: Int?
    /// Revision of the headers that the viewer has.
    private var revision: Int?
    /// Number of times that the viewer lagged too far behind.
    private(set) var skips = 0

    /// Returns the bytes to write next; `nil` when the viewer has everything.
    mutating func next(in window: ProgramWindow) -> ByteBuffer? {
        if let place = position, place < window.end {
            if place < window.first {
                position = nil
                skips += 1
            } else if let entry = window.newestEntry, entry > place, window.lag(at: place) > window.latencyCap {
                position = entry
                skips += 1
            }
        }
        if position == nil { position = window.newestEntry }
        guard let place = position, place < window.end else { return nil }
        let batch = window[place]
        if let entry = batch.entry, entry.revision != revision {
            let isFirst = revision == nil
            revision = entry.revision
            if let bytes = isFirst ? entry.opening : entry.headers { return bytes }
        }
        position = place + 1
        revision = batch.revision
        return batch.bytes
    }
}
