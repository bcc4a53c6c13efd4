import EncodedMedia
import MixModel

/// The supported kinds of encoder.
package enum VideoEncoderKinds {
    /// All kinds; with `EncoderChoice.automatic`, the first one that works is used.
    package static let all: [any VideoEncoderKind.Type] = [
        NVIDIAEncoder.self,
        QuickSyncEncoder.self,
        VAEncoder.self,
        V4L2Encoder.self,
        X264Encoder.self,
        X265Encoder.self,
    ]

    /// Returns the kinds to try for a program, in order. The last one encodes in software.
    ///
    /// A program that sets a preset gets the software encoder, which has presets.
    static func candidates(
        for codec: VideoCodec, preset: EncodingSettings.Preset?, choice: EncoderChoice,
        among kinds: [any VideoEncoderKind.Type] = all
    ) -> [any VideoEncoderKind.Type] {
        let software: any VideoEncoderKind.Type = codec == .h265 ? X265Encoder.self : X264Encoder.self
        guard preset == nil else { return [software] }
        let hardware = kinds.filter { $0.isHardware && $0.codec == codec }
        switch choice {
        case .software: return [software]
        case .automatic: return hardware + [software]
        case .named(let name): return hardware.filter { $0.name == name } + [software]
        }
    }
}

/// The encoder that the operator has configured (`mixer.encoder`).
package enum EncoderChoice: Hashable, Sendable {
    case software
    /// The first hardware encoder that works, or software.
    case automatic
    /// The kind with this name, or software if it does not work.
    case named(String)

    package init(_ text: String) {
        switch text {
        case "software": self = .software
        case "auto": self = .automatic
        default: self = .named(text)
        }
    }
}
