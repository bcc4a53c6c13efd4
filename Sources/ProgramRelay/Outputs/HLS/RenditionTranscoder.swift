import EncodedMedia
import Foundation
import GStreamerKit
import MixModel
import Synchronization

/// Decodes, scales and encodes the pictures of one codec configuration.
///
/// Each picture keeps its time, and each IDR of the program is an IDR of the rendition, so that both can be cut at the
/// same places.
final class RenditionTranscoder: Sendable {
    private let pipeline: Pipeline
    private let source: AppSource
    private let known = Mutex<[UInt8]?>(nil)
    private let hasBegun = Atomic(false)

    /// Offset in ns: pipeline time may not be negative, and decoding times may be slightly so.
    private static let shift: Int64 = 10_000_000_000

    /// Creates a transcoder that is not running yet.
    /// - Parameter output: Called on the encoder's thread.
    /// - Throws: `GStreamerError` with code `.syntax` if the configuration cannot be read.
    init(
        _ configuration: CodecConfiguration, _ rendition: HLSRendition,
        output: @escaping @Sendable (RenditionReport) -> Void
    ) throws(GStreamerError) {
        guard let decoding = VideoDecoding(configuration) else {
            throw GStreamerError(.syntax, "the program's video configuration cannot be read")
        }
        let size = decoding.parameters
        let (width, height) = Self.size(of: rendition, from: size.width, size.height)
        let kilobits = max(1, rendition.videoBitrate / 1000)
        let description = [
            "appsrc name=in format=time is-live=true block=true max-bytes=4000000",
            decoding.element,
            "videoconvertscale",
            "video/x-raw,format=I420,width=\(width),height=\(height),pixel-aspect-ratio=1/1",
            """
            x264enc tune=zerolatency speed-preset=veryfast threads=1 bitrate=\(kilobits) vbv-buf-capacity=1000 \
            key-int-max=100000 bframes=0 byte-stream=false aud=false option-string="scenecut=0"
            """,
            "video/x-h264,stream-format=avc,alignment=au,profile=main",
            "appsink name=out sync=false async=false",
        ]
        pipeline = try Pipeline(description.joined(separator: " ! "), name: "rendition-\(rendition.name)")
        source = try pipeline.appSource("in")
        try source.setCaps(decoding.caps)
        try pipeline.appSink("out") { [weak self] sample in self?.deliver(sample, to: output) }
    }

    func start() async throws(GStreamerError) { try await pipeline.play() }

    var failure: String? { pipeline.firstError?.message }

    /// Transcodes the next picture. Waits while the encoder is busy.
    func push(_ frame: EncodedFrame) {
        // The first picture is an IDR anyway. If one is requested for it, GStreamer 1.22 reads its time as 1000 h and
        // ignores all further requests.
        if frame.isIDR, hasBegun.exchange(true, ordering: .relaxed) {
            source.pushForceKeyUnit(runningTime: Self.pipelineTime(frame.pts))
        }
        source.push(
            bytes: frame.payload, pts: Self.pipelineTime(frame.pts), dts: Self.pipelineTime(frame.dts),
            isDelta: !frame.isIDR)
    }

    /// Waits until all pushed pictures have been delivered, for at most 3 s, and ends the pipeline.
    func finish() async {
        source.endOfStream()
        await pipeline.waitForEnd(atMost: .seconds(3))
        await pipeline.tearDown()
    }

    private func deliver(_ sample: borrowing Sample, to output: @Sendable (RenditionReport) -> Void) {
        guard let running = sample.runningTime else { return }
        if let data = sample.codecData {
            let isNew = known.withLock { known in
                defer { known = data }
                return known != data
            }
            if isNew { output(.configuration(Data(data))) }
        }
        let time = MediaTime(nanoseconds: running - Self.shift).roundedMilliseconds
        output(.picture(time: time, isIDR: !sample.isDelta, payload: Data(sample.bytes)))
    }

    private static func pipelineTime(_ time: MediaTime) -> UInt64 {
        UInt64(max(0, time.nanoseconds.saturatingSum(shift)))
    }

    /// Returns the rendition's size in pixels: even, with the program's aspect ratio, and never larger than the
    /// program.
    static func size(of rendition: HLSRendition, from width: Int, _ height: Int) -> (width: Int, height: Int) {
        guard height > rendition.height else { return (width / 2 * 2, height / 2 * 2) }
        let scaled = Double(width) * Double(rendition.height) / Double(height)
        return (max(2, Int((scaled / 2).rounded()) * 2), rendition.height / 2 * 2)
    }
}
