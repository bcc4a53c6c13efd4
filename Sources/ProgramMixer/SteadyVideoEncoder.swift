import EncodedMedia
import GStreamerKit
import MixModel
import Synchronization

/// The encoder of a mix, which continues in software when hardware fails.
///
/// The pictures that a failing encoder has not delivered are encoded again, beginning with an IDR, and keep their
/// program times. Output of a replaced encoder is no longer delivered. `push`, `failure` and `tearDown` belong to one
/// thread at a time.
final class SteadyVideoEncoder: Sendable {
    private let format: VideoFormat
    private let setup: MixerSetup
    private let colour: CanvasColour
    private let tuning: EncoderTuning
    private let output: @Sendable (MixerReport) -> Void
    private let state: Mutex<State>

    /// Time that a hardware encoder may take for a picture. It must deliver each one before the next is pushed.
    private static let patience = MediaTime.milliseconds(500)

    private struct State {
        /// Kinds that have not been tried. The last one is software.
        var kinds: ArraySlice<any VideoEncoderKind.Type>
        var encoder: VideoEncoder?
        var isHardware = false
        /// Number of encoders created; distinguishes their output.
        var generation = 0
        /// Pictures pushed to hardware and not yet delivered, oldest first.
        var pending: [Picture] = []
        var failure: String?
    }

    private struct Picture {
        var frame: VideoFrame
        var tick: Int64
        var time: MediaTime
        var isIDR: Bool
        /// Time of the push, in CLOCK_MONOTONIC.
        var pushed: MediaTime
    }

    /// Creates an encoder that is not running yet.
    /// - Parameters:
    ///   - kinds: Kinds to try, in order; not empty.
    ///   - output: Called on the encoding threads, with the configuration before the first frame.
    init(
        kinds: [any VideoEncoderKind.Type], format: VideoFormat, setup: MixerSetup, colour: CanvasColour,
        tuning: EncoderTuning, output: @escaping @Sendable (MixerReport) -> Void
    ) {
        self.format = format
        self.setup = setup
        self.colour = colour
        self.tuning = tuning
        self.output = output
        state = Mutex(State(kinds: kinds[...]))
    }

    /// Starts the first kind that can be started. Blocks, so it must not be called on the cooperative pool.
    func start() throws {
        while true {
            do {
                return try startNext()
            } catch {
                guard state.withLock({ !$0.kinds.isEmpty }) else { throw error }
                note("\(error)")
            }
        }
    }

    func tearDown() {
        let encoder = state.withLock { state in
            state.pending = []
            return state.encoder
        }
        encoder?.tearDown()
    }

    /// The reason why no encoder works any more; `nil` while one does. Reading it replaces a failed encoder: read it
    /// before each push.
    var failure: String? {
        while let reason = currentFailure {
            let isLast = state.withLock { state in
                if state.kinds.isEmpty { state.failure = reason }
                return state.kinds.isEmpty
            }
            guard !isLast else { return reason }
            note(reason)
            replace()
        }
        return state.withLock { $0.failure }
    }

    /// Encodes the picture of tick `tick`, which is shown at program time `time`.
    func push(_ frame: VideoFrame, tick: Int64, at time: MediaTime, isIDR: Bool) {
        let encoder = state.withLock { state in
            if state.isHardware {
                let picture = Picture(frame: frame, tick: tick, time: time, isIDR: isIDR, pushed: Self.now)
                state.pending.append(picture)
            }
            return state.encoder
        }
        encoder?.push(frame, tick: tick, at: time, isIDR: isIDR)
    }

    private static var now: MediaTime { MediaTime(nanoseconds: MonotonicClock.now()) }

    private var currentFailure: String? {
        let (encoder, oldest) = state.withLock { ($0.encoder, $0.pending.first?.pushed) }
        if let failure = encoder?.failure { return "\(failure)" }
        guard let oldest, Self.now - oldest > Self.patience else { return nil }
        return "no picture for \(Int(Self.patience.inMilliseconds)) ms"
    }

    /// Replaces the current encoder with the next kind, and pushes the undelivered pictures to it.
    private func replace() {
        let (failed, pictures) = state.withLock { state in
            defer { state.encoder = nil }
            // From here on, the failed encoder's output is ignored.
            state.generation += 1
            defer { state.pending = [] }
            return (state.encoder, state.pending)
        }
        failed?.abandon()
        do {
            try start()
        } catch {
            return state.withLock { $0.failure = "\(error)" }
        }
        for (index, picture) in pictures.enumerated() {
            push(picture.frame, tick: picture.tick, at: picture.time, isIDR: picture.isIDR || index == 0)
        }
    }

    private func startNext() throws {
        let next = state.withLock { state -> (kind: any VideoEncoderKind.Type, generation: Int)? in
            state.generation += 1
            return state.kinds.popFirst().map { ($0, state.generation) }
        }
        guard let next else { throw GStreamerError(.missingElement, "no encoder is left") }
        let (kind, generation) = next
        var deliver = output
        if kind.isHardware {
            deliver = { [weak self] report in self?.deliver(report, of: generation) }
        }
        let encoder = try VideoEncoder(
            kind, format: format, setup: setup, colour: colour, tuning: tuning, output: deliver)
        try encoder.start()
        state.withLock { state in
            state.encoder = encoder
            state.isHardware = kind.isHardware
        }
    }

    /// Forwards the output of hardware in order. Holds the lock, so that no output of a failed encoder follows that of
    /// its successor.
    private func deliver(_ report: MixerReport, of generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            if case .frame(let frame) = report { state.pending.removeAll { $0.time == frame.pts } }
            output(report)
        }
    }

    private func note(_ reason: String) {
        output(.note(code: "encoderReplaced", message: "the video encoder failed and another one goes on: \(reason)"))
    }
}
