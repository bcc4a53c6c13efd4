import NIOCore

/// The newest part of a program, for viewers who begin and for those who are a little behind. Pure.
///
/// It holds everything from the last keyframe on, so that a player can begin at once, and what came before it for as
/// long as somebody may still be behind. A group of pictures beyond the byte limit loses its beginning: who is in it goes
/// on, who comes then waits for the next keyframe.
struct ProgramWindow: Sendable {
    private var batches = CircularBuffer<FLVBatch>()
    /// Batches are numbered for ever.
    private(set) var first = 0
    private(set) var newestEntry: Int?
    private(set) var bytes = 0
    /// In ms of media.
    let latencyCap: Int
    private let byteLimit: Int

    /// As much as a relay keeps.
    static let byteLimit = 32 << 20

    init(latencyCap: Int, byteLimit: Int = ProgramWindow.byteLimit) {
        self.latencyCap = latencyCap
        self.byteLimit = byteLimit
    }

    /// The number that the next batch will get.
    var end: Int { first + batches.count }

    subscript(number: Int) -> FLVBatch { batches[batches.index(batches.startIndex, offsetBy: number - first)] }

    /// - Returns: False when the beginning of the current group of pictures had to be let go.
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

    /// How far a viewer is behind whose next batch is this one, in ms.
    func lag(at number: Int) -> Int {
        guard let newest = batches.last, number < end else { return 0 }
        return newest.lastTimestamp.milliseconds(since: self[number].timestamp)
    }
}
