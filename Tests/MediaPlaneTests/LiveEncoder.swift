import EncodedMedia
import GStreamerKit
import MediaFormats
import Synchronization

/// A live H.264 and AAC stream, made in real time, as the items of an FLV reader.
final class LiveEncoder: Sendable {
    private final class Desk: Sendable {
        let configurations = Mutex<[Track: [UInt8]]>([:])
        let sent = Mutex<[[UInt8]]>([])
    }

    private let desk = Desk()
    private let pipeline: Pipeline

    /// - Parameters:
    ///   - interval: Pictures between two unrequested keyframes.
    ///   - onItem: Called on the encoders' threads.
    init(
        interval: Int = 100_000, settings: String = "bframes=0", sampleRate: Int = 48_000,
        onItem: @escaping @Sendable (MediaItem) -> Void
    ) async throws {
        pipeline = try Pipeline(
            """
            videotestsrc is-live=true pattern=ball ! capsfilter name=size caps=video/x-raw,width=320,height=240,framerate=30/1 \
            ! x264enc name=encoder tune=zerolatency speed-preset=ultrafast key-int-max=\(interval) bitrate=500 \(settings) \
            ! h264parse ! video/x-h264,stream-format=avc,alignment=au ! appsink name=video sync=false async=false
            audiotestsrc is-live=true wave=sine freq=440 samplesperbuffer=1024 ! audio/x-raw,rate=\(sampleRate),channels=2 \
            ! avenc_aac ! aacparse ! audio/mpeg,stream-format=raw ! appsink name=audio sync=false async=false
            """, name: "encoder")
        for track in Track.allCases {
            try pipeline.appSink(track == .video ? "video" : "audio") { [desk] sample in
                guard let time = sample.runningTime else { return }
                if let bytes = sample.codecData {
                    let isNew = desk.configurations.withLock { known in
                        defer { known[track] = bytes }
                        return known[track] != bytes
                    }
                    if isNew { onItem(.configuration(CodecConfiguration(track: track, bytes: bytes))) }
                }
                // In whole milliseconds, as in RTMP.
                let pts = MediaTime(nanoseconds: time).rounded
                let dts = sample.decodingRunningTime.map { MediaTime(nanoseconds: $0).rounded } ?? pts
                let frame = EncodedFrame(
                    track: track, pts: pts, dts: track == .video ? dts : pts,
                    isIDR: track == .video && !sample.isDelta, payload: sample.bytes)
                if track == .video { desk.sent.withLock { $0.append(WhipClient.pictureParts(frame.payload)) } }
                onItem(.frame(frame))
            }
        }
        try await pipeline.play()
    }

    /// The access units made so far, in the form of `WhipClient.pictureParts`.
    var sent: [[UInt8]] { desk.sent.withLock { $0 } }

    func resize(_ width: Int, _ height: Int) throws {
        try pipeline.element("size").set("caps", to: "video/x-raw,width=\(width),height=\(height),framerate=30/1")
    }

    func stop() async { await pipeline.tearDown() }
}
