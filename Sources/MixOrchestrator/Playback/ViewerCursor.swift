import NIOCore

/// What one viewer gets next. Pure.
///
/// A viewer has nothing of his own but this place in the program. One who is further behind than the latency cap goes on
/// with the newest keyframe, if that is ahead of him; within a group of pictures there is no way but through.
struct ViewerCursor: Sendable {
    /// `nil`: waits for a keyframe.
    private var position: Int?
    /// Of the headers that he has.
    private var revision: Int?
    /// How often he was too far behind.
    private(set) var skips = 0

    /// - Returns: What is to be written; `nil` when he has everything.
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
