/// The fields of an AudioSpecificConfig that are needed here (ISO/IEC 14496-3 §1.6.2.1).
public struct AudioSpecificConfig: Hashable, Sendable {
    /// Audio object type; 2 is AAC-LC.
    public let objectType: Int
    /// Sample rate of the AAC core in Hz; one frame is `samplesPerFrame` of these samples.
    public let sampleRate: Int
    /// Number of channels, 1…8; 0 where a program config element defines them.
    public let channels: Int
    /// Samples in one frame: 1024, or 960 where the stream says so.
    public let samplesPerFrame: Int

    /// Creates a configuration from its bytes; `nil` if they are not an AudioSpecificConfig or name a reserved rate.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return nil }
        var bits = BitReader(bytes)
        var type = Int(bits.read(5))
        if type == 31 { type = 32 + Int(bits.read(6)) }
        let index = Int(bits.read(4))
        let rate: Int
        if index == 15 {
            rate = Int(bits.read(24))
        } else if index < AudioSpecificConfig.rates.count {
            rate = AudioSpecificConfig.rates[index]
        } else {
            return nil
        }
        let channelConfiguration = Int(bits.read(4))
        if type == 5 || type == 29 {
            // Explicit SBR or PS: the extension's sample rate, then the core's own type (§1.6.5.2).
            if bits.read(4) == 15 { bits.skip(24) }
            type = Int(bits.read(5))
        }
        let isShort = bits.flag()
        guard !bits.isPastEnd, rate > 0 else { return nil }
        objectType = type
        sampleRate = rate
        channels = channelConfiguration == 7 ? 8 : channelConfiguration
        samplesPerFrame = isShort ? 960 : 1024
    }

    /// Sample rates in Hz, by `samplingFrequencyIndex` (§1.6.3.4).
    package static let rates = [
        96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]
}
