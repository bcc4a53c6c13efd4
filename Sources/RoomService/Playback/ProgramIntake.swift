import EncodedMedia
import NIOCore

/// Turns a relay's bytes into batches. Lives on its broadcast's event loop.
final class ProgramIntake {
    private let eventLoop: any EventLoop
    private var scanner = FLVTagScanner()
    private var stitcher = ProgramStitcher()
    private var batcher = FLVBatcher()
    private var timer: Scheduled<Void>?
    /// Time at which `timer` fires, in ns.
    private var timerAt: Int64 = 0
    /// Receives complete batches.
    private let onBatches: ([FLVBatch]) -> Void

    init(on eventLoop: any EventLoop, onBatches: @escaping ([FLVBatch]) -> Void) {
        self.eventLoop = eventLoop
        self.onBatches = onBatches
    }

    /// - Parameter process: Process of the relay; 0 = unknown.
    func connected(to process: Int32) {
        scanner = FLVTagScanner()
        stitcher.connected(to: process)
    }

    /// - Throws: `Failure` when the bytes are not FLV.
    func received(_ bytes: ByteBuffer) throws(FLVTagScanner.Failure) {
        let now = MonotonicClock.now()
        let isNew = scanner.tracks == nil
        scanner.push(bytes)
        var batches: [FLVBatch] = []
        defer {
            if !batches.isEmpty { onBatches(batches) }
            schedule(now)
        }
        while let tag = try scanner.next() {
            guard let tag = stitcher.accept(tag, now: now) else { continue }
            if isNew, let tracks = scanner.tracks { batcher.begin(tracks: tracks) }
            batches += batcher.add(tag, now: now)
        }
    }

    /// Passes on the pending batch.
    func flush() {
        timer?.cancel()
        timer = nil
        if let batch = batcher.take(now: MonotonicClock.now()) { onBatches([batch]) }
    }

    private func schedule(_ now: Int64) {
        guard let dueAt = batcher.dueAt, timer == nil || dueAt < timerAt else { return }
        // A picture is due before the sound that it has joined.
        timer?.cancel()
        timerAt = dueAt
        timer = eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(max(dueAt - now, 0))) { [weak self] in
            guard let self else { return }
            timer = nil
            let now = MonotonicClock.now()
            guard let dueAt = batcher.dueAt else { return }
            if dueAt <= now { flush() } else { schedule(now) }
        }
    }
}
