/// What we need to know of an AudioSpecificConfig (ISO/IEC 14496-3 §1.6.2.1).
public struct AudioSpecificConfig: Hashable, Sendable {
    /// 2 = AAC-LC.
    public let objectType: Int
    /// Of the AAC core, in Hz: one frame is `samplesPerFrame` of these.
    public let sampleRate: Int
    /// 1…8; 0 where a program config element says it.
    public let channels: Int
    /// 1024, or 960 where the stream says so.
    public let samplesPerFrame: Int

    /// `nil` if the bytes are not such a configuration or name a reserved rate.
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
            // Explicit SBR or PS: the rate it extends to, then the core's own type (§1.6.5.2).
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

    /// By `samplingFrequencyIndex`, in Hz (§1.6.3.4).
    static let rates = [
        96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]
}
