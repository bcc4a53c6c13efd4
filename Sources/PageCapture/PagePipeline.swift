import EncodedMedia
import Foundation
import GStreamerKit
import MediaFormats
import WebRTCGateway

/// The pipeline that captures a display and the audio of a sink, as H.264 and AAC.
struct PagePipeline: Sendable {
    /// The required elements, with their Debian packages.
    static let elements: [(name: String, package: String)] = [
        ("ximagesrc", "gstreamer1.0-plugins-good"), ("pulsesrc", "gstreamer1.0-pulseaudio"),
        ("videoconvert", "gstreamer1.0-plugins-base"), ("x264enc", "gstreamer1.0-plugins-ugly"),
        ("h264parse", "gstreamer1.0-plugins-bad"), ("audioconvert", "gstreamer1.0-plugins-base"),
        ("audioresample", "gstreamer1.0-plugins-base"), ("audiorate", "gstreamer1.0-plugins-base"),
        ("avenc_aac", "gstreamer1.0-libav"), ("appsink", "gstreamer1.0-plugins-base"),
    ]

    /// Bits per pixel, and the range of the bit rate in kbit/s. The encoder's fastest preset needs one and a half times
    /// as many as others.
    private static let bitsPerPixel = 0.15
    private static let bitRates = 800.0...12_000.0
    private static let audioBitRate = 128_000
    /// Sample rate of the AAC, in Hz.
    private static let sampleRate = 48_000
    /// Sample rate of the sound server's sink, in Hz. A sample lasts 20 µs: PulseAudio's null sink counts the time that it
    /// has played in whole microseconds for each block and cuts off the rest. At 48,000 Hz its clock was 47 to 75 ppm too
    /// fast, and sound fell behind the picture.
    static let sinkRate = 50_000
    /// Pixels per second up to which one thread encodes: 1920×1080 at 30 pictures a second. By itself x264 would cut each
    /// picture into a slice for each core. The effects of slices on a page are not measured; in mixes at `veryfast`
    /// they cost no processor time and up to 0.0004 of SSIM (ADR 39).
    private static let pixelsPerThread = 1920 * 1080 * 30
    /// Longest time in s between two keyframes.
    private static let keyframeInterval = 2

    private static let pictures = "pictures"
    private static let sound = "sound"

    let pipeline: Pipeline
    private let pictureSink: Element
    /// Offset that is added to times of the pipeline: its start, relative to the first start in the process.
    let origin: MediaTime

    /// - Parameters:
    ///   - display: Number of the display.
    ///   - pulse: Path of the sound server's socket.
    ///   - onFrame: Called on threads of the pipeline; must return soon.
    /// Blocks while plug-ins are loaded.
    init(
        width: Int, height: Int, frameRate: Int, display: Int, pulse: String, origin: MediaTime,
        onFrame: @escaping @Sendable (PublishedStream.Frame) -> Void
    ) throws(GStreamerError) {
        self.origin = origin
        let text = Self.description(
            width: width, height: height, frameRate: frameRate, display: display, pulse: pulse)
        pipeline = try Pipeline(text, name: "page")
        pictureSink = try pipeline.appSink(Self.pictures) { sample in
            if let frame = Self.frame(sample, .video, origin) { onFrame(frame) }
        }
        try pipeline.appSink(Self.sound) { sample in
            if let frame = Self.frame(sample, .audio, origin) { onFrame(frame) }
        }
    }

    /// Begins the capture in step with the browser's paintings.
    func play() async throws(GStreamerError) {
        try await pipeline.play(since: PaintTicks.start(before: MonotonicClock.now()))
    }

    func requestKeyframe() { pictureSink.requestKeyframe(from: "sink") }

    /// - Parameter pulse: Path of the sound server's socket, without spaces.
    static func description(width: Int, height: Int, frameRate: Int, display: Int, pulse: String) -> String {
        let bits = Double(width * height * frameRate) * bitsPerPixel / 1000
        let bitRate = Int(min(max(bits, bitRates.lowerBound), bitRates.upperBound))
        let threads = width * height * frameRate > pixelsPerThread ? 2 : 1
        let audio = AACEncoder.element(sampleRate: sampleRate, channels: 2, bitrate: audioBitRate)
        // Damage reports would cost more than copying every picture.
        return """
            ximagesrc display-name=:\(display) startx=0 starty=0 endx=\(width - 1) endy=\(height - 1) use-damage=false \
            show-pointer=false ! video/x-raw,framerate=\(PaintTicks.fraction(frameRate: frameRate)) ! videoconvert \
            ! video/x-raw,format=I420,colorimetry=bt709 ! queue max-size-buffers=3 max-size-bytes=0 max-size-time=0 \
            ! x264enc tune=zerolatency speed-preset=ultrafast bitrate=\(bitRate) \
            threads=\(threads) key-int-max=\(frameRate * keyframeInterval) bframes=0 \
            ! h264parse ! video/x-h264,stream-format=avc,alignment=au \
            ! appsink name=\(pictures) sync=false async=false max-buffers=64
            pulsesrc server=unix:\(pulse) device=page.monitor client-name=page provide-clock=false slave-method=skew \
            buffer-time=60000 latency-time=10000 ! audio/x-raw,rate=\(sinkRate),channels=2 \
            ! audioconvert ! audioresample ! audio/x-raw,rate=\(sampleRate),channels=2 \
            ! audiorate skip-to-first=true ! queue ! \(audio) \
            ! audio/mpeg,mpegversion=4,stream-format=raw ! appsink name=\(sound) sync=false async=false max-buffers=64
            """
    }

    private static func frame(
        _ sample: borrowing Sample, _ track: Track, _ origin: MediaTime
    ) -> PublishedStream.Frame? {
        guard let time = sample.runningTime else { return nil }
        let payload = sample.bytes
        guard !payload.isEmpty else { return nil }
        let decoding = track == .video ? sample.decodingRunningTime : nil
        return PublishedStream.Frame(
            track: track, pts: origin + MediaTime(nanoseconds: time),
            dts: decoding.map { origin + MediaTime(nanoseconds: $0) }, isIDR: track == .video && !sample.isDelta,
            payload: payload, configuration: sample.codecData)
    }
}
