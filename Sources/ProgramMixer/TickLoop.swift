import Dispatch
import EncodedMedia
import Foundation
import MixModel
import Synchronization

/// The thread that makes the mix's frames: each picture, and each 1024 samples, as soon as possible.
final class TickLoop: Sendable {
    private let shared: MixShared
    private let video: SteadyVideoEncoder?
    private let audio: AudioEncoder
    private let artist: GraphicArtist
    private let report: @Sendable (MixerReport) -> Void
    private let isStopped = Atomic(false)
    private let ended = DispatchSemaphore(value: 0)

    init(
        shared: MixShared, video: SteadyVideoEncoder?, audio: AudioEncoder, artist: GraphicArtist,
        report: @escaping @Sendable (MixerReport) -> Void
    ) {
        self.shared = shared
        self.video = video
        self.audio = audio
        self.artist = artist
        self.report = report
    }

    /// Starts the thread.
    /// - Parameter makeComposer: Called on the loop's thread, which owns the composer.
    func start(makeComposer: @escaping @Sendable () throws -> CanvasComposer) {
        // Weak, because a thread releases its block, and the pictures it holds, only some time after `stop()` has
        // returned.
        let thread = Thread { [weak self, ended] in
            self?.work(makeComposer)
            ended.signal()
        }
        thread.name = "mixer-ticks"
        thread.start()
    }

    /// Ends the thread and waits for it.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        shared.ring()
        ended.wait()
    }

    private func work(_ makeComposer: () throws -> CanvasComposer) {
        do {
            try run(composer: video == nil ? nil : makeComposer())
        } catch {
            report(.failed(reason: "\(error)"))
        }
    }

    private func run(composer: CanvasComposer?) {
        /// A frame that is decided on and waits for a free picture.
        var unpainted: VideoJob?
        while !isStopped.load(ordering: .acquiring) {
            if let failure = video?.failure ?? audio.failure.map({ "\($0)" }) {
                report(.failed(reason: "encoder: \(failure)"))
                return
            }
            let (work, hasOrders) = shared.look {
                [now = shared.now, epoch = shared.epoch, takesPictures = composer != nil && unpainted == nil] state in
                (
                    state.nextWork(now: now, epoch: epoch, takesPictures: takesPictures),
                    state.shelf.hasOrders
                )
            }
            if hasOrders { artist.ring() }
            var wake: MediaTime?
            switch work {
            case .sound(let job):
                audio.push(job.samples, at: job.time)
                if let volumes = job.volumes { report(.volumes(volumes)) }
                continue
            case .picture(let job): unpainted = job
            case .wait(let until): wake = until
            }
            if let composer, let video, let job = unpainted {
                if let frame = composer.compose(job.composition) {
                    if let delays = job.delays { report(.delays(delays)) }
                    video.push(frame, tick: job.tick, at: job.time, isIDR: job.isIDR)
                    unpainted = nil
                    continue
                }
                // The encoder's own thread is behind. Check again in 3 ms.
                wake = shared.now + .milliseconds(3)
            }
            shared.waitForRing(until: wake)
        }
    }
}
