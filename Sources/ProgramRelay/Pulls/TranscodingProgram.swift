import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats

/// The other body of `mixworker pull`: decodes the tracks that a relay sends as FLV and writes them as H.264 and AAC,
/// with their original timestamps.
struct TranscodingProgram {
    /// Number of bytes waiting for a decoder above which reading pauses.
    private static let mostQueued = 4 << 20
    private static let pause = Duration.milliseconds(5)

    private let muxer: PullMuxer
    private var reader = FLVReader(videoCodecs: [], setsAside: true)
    private var tracks: [Track: TrackPipeline] = [:]

    init(_ muxer: PullMuxer) { self.muxer = muxer }

    /// Runs until the input ends.
    ///
    /// - Parameter read: Returns the next bytes of the stream; `nil` at the end.
    /// - Throws: The reason why the stream cannot be transcoded.
    mutating func run(_ read: @Sendable () async -> [UInt8]?) async throws(PullEnd) {
        while let bytes = await read() {
            do throws(FLVReader.Failure) { _ = try reader.push(bytes) } catch { throw PullEnd(error) }
            for entry in reader.takeAside() { try await take(entry) }
            for pipeline in tracks.values { try await pipeline.settle() }
        }
        for pipeline in tracks.values { await pipeline.close() }
    }

    /// Returns a time as GStreamer takes it, which has none before 0, in ns.
    ///
    /// A stream may begin shortly before 0. Times far below are those of a publisher whose first header has the time 0, and
    /// whose frames have more than 2³¹ ms: they are moved by FLV's period, which leaves the resulting FLV unchanged.
    static func pipelineTime(_ time: MediaTime) -> UInt64 {
        let period = MediaTime.milliseconds(1 << 32)
        return UInt64(max(time < -TrackPipeline.jump ? time + period : time, .zero).nanoseconds)
    }

    private mutating func take(_ entry: FLVReader.SetAside) async throws(PullEnd) {
        guard let track = Track(rawValue: entry.tag.kind.rawValue), let tag = ForeignTag(track, body: entry.tag.body)
        else { return }
        var pipeline = tracks[track] ?? TrackPipeline(muxer)
        try await pipeline.take(tag, dts: entry.dts)
        tracks[track] = pipeline
        while pipeline.queuedBytes > Self.mostQueued {
            try await pipeline.settle()
            try? await Task.sleep(for: Self.pause)
        }
    }
}

/// The decoder and the encoder of one track. A new configuration, or a jump of the timestamps, needs a new pipeline.
private struct TrackPipeline {
    /// Largest step between two frames on one timeline.
    static let jump = MediaTime.seconds(2)

    private let muxer: PullMuxer
    private var configuration: [UInt8] = []
    private var format: ForeignFormat?
    private var pipeline: Pipeline?
    private var source: AppSource?
    private var last: MediaTime?

    init(_ muxer: PullMuxer) { self.muxer = muxer }

    var queuedBytes: Int { source?.queuedBytes ?? 0 }

    mutating func take(_ tag: ForeignTag, dts: MediaTime) async throws(PullEnd) {
        switch tag.content {
        case .configuration(let bytes): configuration = bytes
        case .frame(let bytes, let offset, let isKey):
            let format = ForeignFormat(tag, configuration)
            guard format.isComplete else { return }
            if self.format != format || last.map({ (dts - $0).magnitude > Self.jump }) ?? false {
                // Decoders must start with a keyframe.
                guard isKey else { return }
                await close()
                try await open(format)
            }
            last = dts
            source?.push(
                bytes: format.framed(bytes, isKey: isKey),
                pts: TranscodingProgram.pipelineTime(dts + .milliseconds(offset)),
                dts: TranscodingProgram.pipelineTime(dts), isDelta: !isKey)
        }
    }

    private mutating func open(_ format: ForeignFormat) async throws(PullEnd) {
        self.format = format
        let track = format.codec.track
        let tail =
            track == .video ? PullTail.video(of: "all", isLive: true) : PullTail.audio(of: "all", isLive: true)
        do throws(GStreamerError) {
            let pipeline = try Pipeline(
                (["appsrc name=in format=time is-live=true ! \(PullTail.decoder("all"))"] + tail).joined(
                    separator: "  "),
                name: "transcode")
            for sink in track == .video ? [PullTail.Sink.video, .madeVideo] : [.audio, .madeAudio] {
                try pipeline.appSink(sink.rawValue, onSample: { [muxer] in muxer.take($0, from: sink) })
            }
            let source = try pipeline.appSource("in")
            try source.setCaps(format.caps)
            try await pipeline.play()
            (self.pipeline, self.source) = (pipeline, source)
        } catch {
            throw PullEnd(error.code == .missingElement ? .notInstalled : .lost, error.message)
        }
    }

    /// Checks that the pipeline runs.
    func settle() async throws(PullEnd) {
        guard let format, let failure = pipeline?.firstError else { return }
        // GST_STREAM_ERROR_CODEC_NOT_FOUND, and the other error that decodebin reports with it.
        let isMissing =
            failure.domain == "gst-stream-error-quark" && failure.code == 6 || failure.message.contains("plug-in")
        guard isMissing else { throw PullEnd(.lost, "\(format.codec.rawValue) cannot be decoded: \(failure.message)") }
        throw PullEnd(
            .unsupportedCodec,
            "it sends \(format.codec.rawValue), which this machine cannot decode: install \(format.package), or publish "
                + (format.codec.track == .video ? "H.264" : "AAC"))
    }

    func close() async {
        await pipeline?.tearDown(within: .seconds(1))
    }
}
