import EncodedMedia
import GStreamerKit
import MediaFormats
import MixModel
import Synchronization
import TextFormats

/// Turns a keyframe into a small picture, and measures its brightness and some audio frames.
public struct PreviewMaker: Sendable {
    /// Time limit for one picture.
    private static let limit = Duration.seconds(3)
    /// Number of frames that an AAC decoder outputs before its output is valid.
    private static let warmUp = 3
    /// Largest number of audio frames decoded for one answer.
    private static let mostSound = 64

    public init() {}

    /// Returns the answer to a request, which may contain arbitrary bytes.
    public func answer(_ request: PreviewRequest) async -> PreviewAnswer {
        var media = Media()
        do {
            var reader = FLVReader()
            for item in try reader.push(request.flv) { media.take(item) }
        } catch {
            return PreviewAnswer(failure: "\(error)")
        }
        var answer = PreviewAnswer(level: Self.level(of: media))
        guard request.side > 0 || request.asksForSample else { return answer }
        guard let picture = media.picture, let configuration = media.video else {
            answer.failure = "there is no keyframe yet"
            return answer
        }
        do {
            if request.asksForSample {
                let parts = try await KeyframePicture.brightness(
                    of: picture, configuration, parts: PictureSample.side, limit: Self.limit)
                answer.sample = PictureSample(parts: parts)
            }
            if request.side > 0 {
                answer.jpeg = try await KeyframePicture.jpeg(
                    of: picture, configuration, side: request.side, limit: Self.limit)
            }
        } catch {
            answer.failure = error.message
        }
        return answer
    }

    private struct Media {
        var video: CodecConfiguration?
        var audio: CodecConfiguration?
        var picture: EncodedFrame?
        var sound: [EncodedFrame] = []

        mutating func take(_ item: MediaItem) {
            switch item {
            case .configuration(let configuration) where configuration.track == .video: video = configuration
            case .configuration(let configuration): audio = configuration
            case .frame(let frame) where frame.track == .video: if frame.isIDR { picture = frame }
            case .frame(let frame): if sound.count < PreviewMaker.mostSound { sound.append(frame) }
            case .metadata, .discontinuity: break
            }
        }
    }

    /// Returns the loudness of the audio; `nil` if there is none or it cannot be decoded.
    private static func level(of media: Media) -> SoundLevel? {
        guard media.sound.count > warmUp, let configuration = media.audio,
            let format = AudioSpecificConfig(configuration.bytes), format.channels > 0
        else { return nil }
        let decoded = Mutex<[[Float]]>([])
        let caps =
            "audio/mpeg,mpegversion=4,framed=true,stream-format=raw,rate=\(format.sampleRate),"
            + "channels=\(format.channels),codec_data=(buffer)\(Hexadecimal.text(configuration.bytes))"
        let chain = try? DirectPipeline(
            ["avdec_aac", "audioconvert", "audio/x-raw,format=F32LE,layout=interleaved"], caps: .text(caps),
            name: "level"
        ) { sample in
            let samples = sample.withBytes { Array($0.bindMemory(to: Float.self)) }
            decoded.withLock { $0.append(samples) }
        }
        guard let chain else { return nil }
        defer { chain.tearDown() }
        guard (try? chain.start()) != nil else { return nil }
        for (index, frame) in media.sound.enumerated() {
            let time = UInt64(index) * 20_000_000
            _ = frame.payload.withUnsafeBytes { chain.push(bytes: $0, pts: time, dts: time, isDelta: false) }
        }
        let heard = decoded.withLock { $0 }.dropFirst(warmUp)
        return heard.isEmpty ? nil : SoundLevel(of: heard.joined())
    }
}
