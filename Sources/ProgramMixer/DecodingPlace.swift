import EncodedMedia
import MediaFormats
import Synchronization

/// Chooses the thread that decodes the next frame of a track: the reading thread or the decoder's own. Pure.
///
/// Decoding on the reading thread saves two wake-ups a frame, but that thread reads for every source, so it may only do
/// work that is known to be short. A keyframe, and every frame that arrives before it is decoded, goes to the decoder's
/// own thread, because new picture sizes and a relay's replay of a whole group begin with a keyframe. The frames that
/// follow cost about as much as earlier ones.
struct DecodingPlace: Sendable {
    /// Processor time of a frame above which the decoder never uses the reading thread again.
    static let slow = MediaTime.milliseconds(20)
    /// Mean time that all decoders together may take for one frame each on the reading thread. Above it, as with more
    /// participants or on a machine so busy that threads wait for a processor, sources are decoded in parallel.
    static let budget = MediaTime.milliseconds(10)
    /// Largest frame that the reading thread decodes, in bytes.
    static let mostBytes = 128 << 10
    /// Frames whose time must be known before the reading thread is used.
    private static let framesToJudge = 2

    /// Mean time per frame, including waits for a processor.
    private(set) var pace = MediaTime.zero
    private var count = 0
    private var isSlow = false

    /// - Parameters:
    ///   - time: Time from the beginning to the end of the frame.
    ///   - processorTime: The thread's processor time for it.
    mutating func noteDecoded(taking time: MediaTime, processorTime: MediaTime) {
        count = min(count + 1, Self.framesToJudge)
        pace += (time - pace) / 8
        if processorTime > Self.slow { isSlow = true }
    }

    /// Returns whether the reading thread decodes the frame.
    /// - Parameters:
    ///   - waiting: Number of frames that the decoder's own thread has not finished.
    ///   - total: Sum of `pace` over all decoders.
    func isWithReader(_ frame: EncodedFrame, waiting: Int, total: MediaTime) -> Bool {
        waiting == 0 && !isSlow && count >= Self.framesToJudge && total <= Self.budget
            && frame.payload.count <= Self.mostBytes && !frame.isIDR
    }
}

/// Total time that the decoders of a mixer take for one frame each. Safe to use from any thread.
final class DecodingPaces: Sendable {
    private let sum = Atomic<Int64>(0)

    var total: MediaTime { MediaTime(nanoseconds: sum.load(ordering: .relaxed)) }

    func change(by amount: MediaTime) { sum.wrappingAdd(amount.nanoseconds, ordering: .relaxed) }
}
