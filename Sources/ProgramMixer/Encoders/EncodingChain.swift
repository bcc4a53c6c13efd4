import Dispatch
import GStreamerKit

/// The elements of an encoder, and the way in which pictures are pushed into them. One thread pushes; times are in ns.
protocol EncodingChain: Sendable {
    /// Opens the codec. Blocks, so it must not be called on the cooperative pool.
    func start() throws
    /// Asks for an IDR at the first picture at or after `runningTime`.
    func requestKeyframe(at runningTime: UInt64)
    func encode(_ picture: VideoFrame, at runningTime: UInt64, duration: UInt64)
    /// Ends the chain and frees its elements. Blocks until that is done.
    func tearDown()
    /// Tears down without waiting: a failed encoder may never end.
    func abandon()
    /// The first error that an element reported.
    var firstError: BusFailure? { get }
}

/// Encodes on the pushing thread. For software encoders, which never wait for a device.
extension DirectPipeline: EncodingChain {
    func requestKeyframe(at runningTime: UInt64) { pushForceKeyUnit(runningTime: runningTime) }

    func encode(_ picture: VideoFrame, at runningTime: UInt64, duration: UInt64) {
        push(picture, pts: runningTime, duration: duration)
    }

    func abandon() { DispatchQueue.global(qos: .utility).async { self.tearDown() } }
}

/// Encodes on its own thread, so that a hanging driver blocks nothing else.
final class QueuedChain: EncodingChain {
    private let pipeline: Pipeline
    private let source: AppSource

    /// - Parameters:
    ///   - elements: The elements in pipeline syntax.
    ///   - onSample: Called on the chain's thread.
    init(
        _ elements: [String], format: VideoFormat, name: String,
        onSample: @escaping @Sendable (borrowing Sample) -> Void
    ) throws(GStreamerError) {
        let description =
            ["appsrc name=in format=time is-live=true block=false max-bytes=0"] + elements
            + ["appsink name=out sync=false async=false"]
        pipeline = try Pipeline(description.joined(separator: " ! "), name: name)
        source = try pipeline.appSource("in")
        try source.setCaps(format)
        try pipeline.appSink("out", onSample: onSample)
    }

    func start() throws { try waiting { [pipeline] in try await pipeline.play() } }
    func requestKeyframe(at runningTime: UInt64) { source.pushForceKeyUnit(runningTime: runningTime) }
    func encode(_ picture: VideoFrame, at runningTime: UInt64, duration: UInt64) {
        source.push(picture, pts: runningTime, duration: duration)
    }
    func tearDown() { try? waiting { [pipeline] in await pipeline.tearDown() } }
    func abandon() { pipeline.tearDownInBackground() }
    var firstError: BusFailure? { pipeline.firstError }
}
