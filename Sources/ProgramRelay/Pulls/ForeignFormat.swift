import GStreamerKit
import MediaFormats
import TextFormats

/// The format of a track that is transcoded, for GStreamer's decoders.
struct ForeignFormat: Hashable, Sendable {
    let codec: ForeignCodec
    private let configuration: [UInt8]
    private let sound: ForeignTag.Sound?

    init(_ tag: ForeignTag, _ configuration: [UInt8]) {
        codec = tag.codec
        self.configuration = configuration
        sound = tag.sound
    }

    /// Whether frames can be decoded: H.265 requires the configuration.
    var isComplete: Bool { codec != .h265 || !configuration.isEmpty }

    /// Caps in the notation of `gst-launch-1.0`.
    var caps: String {
        let format = "rate=\(sound?.sampleRate ?? 0),channels=\(sound?.channels ?? 1)"
        return switch codec {
        case .h265: "video/x-h265,stream-format=hvc1,alignment=au,codec_data=(buffer)\(Hexadecimal.text(configuration))"
        case .av1: "video/x-av1,stream-format=obu-stream,alignment=tu"
        case .vp9: "video/x-vp9"
        case .mp3: "audio/mpeg,mpegversion=1,layer=3"
        case .aLaw: "audio/x-alaw,\(format)"
        case .muLaw: "audio/x-mulaw,\(format)"
        case .nellymoser: "audio/x-nellymoser,\(format)"
        case .speex:
            "audio/x-speex,\(format),streamheader=(buffer)<\(Hexadecimal.text(Self.speexHeader)),\(Hexadecimal.text(Self.speexComment))>"
        }
    }

    /// The Debian package with a decoder for it.
    var package: String {
        switch codec {
        case .h265, .nellymoser: "gstreamer1.0-libav"
        case .av1: "gstreamer1.0-plugins-bad"
        case .vp9, .mp3, .speex, .aLaw, .muLaw: "gstreamer1.0-plugins-good"
        }
    }

    /// Returns a frame in the form that decoders accept. For AV1, the sequence header from the configuration must
    /// precede a keyframe, and each temporal unit begins with a delimiter (AV1 in ISOBMFF §2.3.3, §2.4).
    func framed(_ bytes: [UInt8], isKey: Bool) -> [UInt8] {
        guard codec == .av1 else { return bytes }
        return [0x12, 0] + (isKey ? configuration.dropFirst(4) : []) + bytes
    }

    /// The header that a Speex decoder requires and FLV omits, because the format is always wideband with one channel
    /// (§E.4.2.1; the layout is that of The Speex Codec Manual, table 7.1).
    private static let speexHeader: [UInt8] = {
        func number(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        let version = Array("1.1.12".utf8)
        return Array("Speex   ".utf8) + version + [UInt8](repeating: 0, count: 20 - version.count)
            // Version, size of the header, rate, mode (wideband), its version, channels, bit rate (unknown), frame size,
            // variable rate, frames in a packet.
            + [1, 80, 16_000, 1, 4, 1, 0xFFFF_FFFF, 320, 0, 1, 0, 0, 0].flatMap(number)
    }()

    /// A comment without entries.
    private static let speexComment: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
}
