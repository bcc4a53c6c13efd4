import NIOCore

/// The newest part of a program, for new viewers and for viewers who lag slightly. Pure.
///
/// The window holds everything since the last keyframe, so that a player can start at once, and earlier batches while a
/// viewer may still need them. A group of pictures that exceeds the byte limit loses its beginning: viewers within it
/// continue, and new viewers wait for the next keyframe.
struct ProgramWindow: Sendable {
    private var batches = CircularBuffer<FLVBatch>()
    /// Number of the first batch. Numbers are never reused.
    private(set) var first = 0
    private(set) var newestEntry: Int?
    private(set) var bytes = 0
    /// Latency cap, in ms of media.
    let latencyCap: Int
    private let byteLimit: Int

    /// Default limit in bytes, the same amount that a relay keeps.
    static let byteLimit = 32 << 20

    init(latencyCap: Int, byteLimit: Int = ProgramWindow.byteLimit) {
        self.latencyCap = latencyCap
        self.byteLimit = byteLimit
    }

    /// Number of the next batch.
    var end: Int { first + batches.count }

    subscript(number: Int) -> FLVBatch { batches[batches.index(batches.startIndex, offsetBy: number - first)] }

    /// - Returns: False when the beginning of the current group of pictures had to be dropped.
    @discardableResult mutating func append(_ batch: FLVBatch) -> Bool {
        if batch.entry != nil { newestEntry = end }
        batches.append(batch)
        bytes += batch.bytes.readableBytes
        var isWhole = true
        while batches.count > 1, let oldest = batches.first {
            if bytes > byteLimit {
                if first == newestEntry {
                    newestEntry = nil
                    isWhole = false
                }
            } else if let newestEntry, first >= newestEntry {
                break
            } else if batch.lastTimestamp.milliseconds(since: oldest.lastTimestamp) <= latencyCap {
                break
            }
            bytes -= oldest.bytes.readableBytes
            batches.removeFirst()
            first += 1
        }
        return isWhole
    }

    /// Returns the delay of a viewer whose next batch is this one, in ms.
    func lag(at number: Int) -> Int {
        guard let newest = batches.last, number < end else { return 0 }
        return newest.lastTimestamp.milliseconds(since: self[number].timestamp)
    }
}
