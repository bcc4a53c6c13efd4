import Dispatch
import EncodedMedia
import GStreamerKit
import LayoutEngine
import MixModel
import Synchronization

/// Finds out which encoders work on this machine: their elements are installed and, used as in a mixer, encode a
/// picture before the second one is pushed.
package enum VideoEncoderProbe {
    /// The result for a kind of encoder.
    package enum Finding: Hashable, Sendable {
        case works
        /// The element of this name is not installed. Elements of hardware are also missing if their driver is.
        case missing(element: String)
        case fails(reason: String)
    }

    /// Tries a kind.
    ///
    /// - Parameter patience: Time limit for the first picture, in which drivers are loaded.
    package static func finding(
        of kind: any VideoEncoderKind.Type, patience: Duration = .seconds(5)
    ) async -> Finding {
        do {
            try GStreamerRuntime.start()
            guard GStreamerRuntime.missingElements([kind.element]).isEmpty else {
                return .missing(element: kind.element)
            }
            let canvas = Canvas(width: 640, height: 360, fps: 20)
            let setup = MixerSetup(
                canvas: canvas, videoOrigin: .zero, audioOrigin: .zero, programStart: 0, sampleRate: 48_000,
                channels: 2, colour: .unsignalled, videoBitrate: 500_000, audioBitrate: 128_000, host: nil)
            let colour = CanvasColour(signal: .unsignalled, canvas: canvas)
            let format = CanvasComposer.format(of: canvas, colour: colour)
            let made = AsyncStream.makeStream(of: Bool.self)
            let encoder = try VideoEncoder(
                kind, format: format, setup: setup, colour: colour, tuning: EncoderTuning()
            ) { report in
                if case .frame(let frame) = report { made.continuation.yield(frame.isIDR) }
            }
            let result = await tried(encoder, format: format, made: made.stream, patience: patience)
            // A driver that hangs must not hold up the caller.
            encoder.abandon()
            return result
        } catch {
            return .fails(reason: "\(error)")
        }
    }

    private static func tried(
        _ encoder: VideoEncoder, format: VideoFormat, made: AsyncStream<Bool>, patience: Duration
    ) async -> Finding {
        do {
            try await withCheckedThrowingContinuation { (started: CheckedContinuation<Void, any Error>) in
                // Opening a driver blocks.
                DispatchQueue.global().async { started.resume(with: Result { try encoder.start() }) }
            }
            guard let picture = try CanvasPool(format: format).acquire() else {
                return .fails(reason: "no memory for a picture")
            }
            picture.fill(y: 128, u: 128, v: 128)
            encoder.push(picture, tick: 0, at: .zero, isIDR: true)
        } catch {
            return .fails(reason: "\(error)")
        }
        let isIDR = await withTaskGroup(of: Bool?.self) { group in
            group.addTask { await made.first { _ in true } }
            group.addTask {
                // Ends early once the picture has arrived, by cancellation, or when the pipeline has failed.
                let end = ContinuousClock.now + patience
                while !Task.isCancelled, encoder.failure == nil, ContinuousClock.now < end {
                    try? await Task.sleep(for: .milliseconds(10))
                }
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        if let failure = encoder.failure { return .fails(reason: "\(failure)") }
        switch isIDR {
        case true?: return .works
        case false?: return .fails(reason: "its first picture is no IDR")
        case nil: return .fails(reason: "it holds pictures back, or hangs")
        }
    }
}
