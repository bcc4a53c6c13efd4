import EncodedMedia
import Foundation
import GStreamerKit
import RTMP
import TextFormats

/// A pipeline of a pull, whose frames go to a muxer.
final class PullPipeline: Sendable {
    /// A file that is open for as long as a pipeline reads it.
    final class File: Sendable {
        let descriptor: Int32

        /// - Parameter descriptor: Owned from now on.
        init(_ descriptor: Int32) { self.descriptor = descriptor }

        deinit { close(descriptor) }
    }

    let pipeline: Pipeline
    /// The elements that receive segments.
    let sources: [AppSource]
    private let file: File?
    private let pace: PullPace?

    /// - Parameters:
    ///   - file: The file that the element `source` reads, if the head has one.
    ///   - pace: Delays frames until they are due; `nil` if they arrive at their own rate.
    ///   - alignment: Puts the tracks onto one clock; `nil` if they already are.
    /// - Throws: `PullEnd` if the pipeline cannot be created.
    init(
        _ head: PullHead, _ address: PullAddress, _ program: PullProgram, file: File?, pace: PullPace? = nil,
        alignment: TrackAlignment? = nil
    ) throws(PullEnd) {
        self.file = file
        self.pace = pace
        do throws(GStreamerError) {
            let carriesH265 = program.settings.carriesH265 ?? false
            pipeline = try Pipeline(head.pipeline(carriesH265: carriesH265), name: "pull")
            var sources: [AppSource] = []
            for name in head.segmentSources { sources.append(try pipeline.appSource(name)) }
            self.sources = sources
            try Self.configure(pipeline, head, address, program, file)
            for sink in head.sinks + (carriesH265 && !head.decoders.isEmpty ? [.h265] : []) {
                try Self.connect(
                    pipeline, sink, program.muxer, pace, alignment, hasDecodingTimes: !head.isRTP || sink == .madeVideo)
            }
        } catch {
            throw PullEnd(error, program.redaction)
        }
    }

    private static func configure(
        _ pipeline: Pipeline, _ head: PullHead, _ address: PullAddress, _ program: PullProgram, _ file: File?
    ) throws(GStreamerError) {
        if program.settings.carriesH265 ?? false {
            for decoder in head.decoders {
                try pipeline.element(decoder).set("caps", to: PullTail.outputs(carriesH265: true))
            }
        }
        for property in head.properties {
            try pipeline.element(property.element).set(property.name, to: property.value)
        }
        if let file {
            try pipeline.element("source").set("location", to: "/proc/self/fd/\(file.descriptor)")
        }
        if head.isRendezvous, let local = SocketAddress.local(towards: address.host, port: address.port ?? 0) {
            try pipeline.element("source").set("localaddress", to: "\(local)")
        }
        if head.isRTSP, program.settings.reach != nil {
            try pipeline.element("source").sendRequestsOnly(to: [address.host, program.settings.host])
        }
    }

    private static func connect(
        _ pipeline: Pipeline, _ sink: PullTail.Sink, _ muxer: PullMuxer, _ pace: PullPace?,
        _ alignment: TrackAlignment?, hasDecodingTimes: Bool
    ) throws(GStreamerError) {
        try pipeline.appSink(
            sink.rawValue,
            onSample: { sample in
                let shown = sample.runningTime.map { MediaTime(nanoseconds: $0) }
                let shift = shown.flatMap { alignment?.shift(of: sink.track, at: $0) }
                if let pace, let time = sample.decodingRunningTime ?? sample.runningTime {
                    pace.wait(for: MediaTime(nanoseconds: time) + (shift ?? .zero))
                }
                muxer.take(sample, from: sink, shift: shift, hasDecodingTimes: hasDecodingTimes)
            },
            onEndOfStream: { muxer.ended(sink) })
    }

    func start(_ redaction: URLRedaction) async throws(PullEnd) {
        do throws(GStreamerError) { try await pipeline.play() } catch { throw PullEnd(error, redaction) }
    }

    /// Opens the source, so that `start(_:)` delivers frames at once.
    func prepare(_ redaction: URLRedaction) async throws(PullEnd) {
        do throws(GStreamerError) { try await pipeline.prepare() } catch { throw PullEnd(error, redaction) }
    }

    func end() async {
        pace?.stop()
        await pipeline.tearDown(within: .seconds(1))
    }
}
