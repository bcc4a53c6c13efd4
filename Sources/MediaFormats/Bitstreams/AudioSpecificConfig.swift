/// The fields of an AudioSpecificConfig that are needed here (ISO/IEC 14496-3 §1.6.2.1).
public struct AudioSpecificConfig: Hashable, Sendable {
    /// Audio object type; 2 is AAC-LC.
    public let objectType: Int
    /// Sample rate of the AAC core in Hz; one frame is `samplesPerFrame` of these samples.
    public let sampleRate: Int
    /// Number of channels, 1…8; 0 if a program config element defines them.
    public let channels: Int
    /// Samples in one frame: 1024, or 960 if the stream says so.
    public let samplesPerFrame: Int
    /// Sample rate in Hz of the decoded audio: twice that of the core if the configuration signals spectral band
    /// replication (HE-AAC). If only the frames signal it, the rate of the core.
    public let outputSampleRate: Int
    /// Number of decoded channels: two if a core of one channel carries parametric stereo (HE-AAC v2).
    public let outputChannels: Int

    /// Creates a configuration from its bytes; `nil` if they are not an AudioSpecificConfig or name a reserved rate.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return nil }
        var bits = BitReader(bytes)
        var type = Int(bits.read(5))
        if type == 31 { type = 32 + Int(bits.read(6)) }
        guard let rate = Self.rate(&bits) else { return nil }
        let channelConfiguration = Int(bits.read(4))
        var output: (rate: Int, isStereo: Bool) = (rate, type == 29)
        let isExplicit = type == 5 || type == 29
        if isExplicit {
            // Explicit SBR or PS: the extension's sample rate, then the core's own type (§1.6.5.2).
            guard let extended = Self.rate(&bits) else { return nil }
            output.rate = extended
            type = Int(bits.read(5))
        }
        let isShort = bits.flag()
        guard !bits.isPastEnd, rate > 0 else { return nil }
        if !isExplicit, channelConfiguration > 0, let found = Self.compatibleExtension(&bits) { output = found }
        outputSampleRate = output.rate > 0 ? output.rate : rate
        objectType = type
        sampleRate = rate
        channels = channelConfiguration == 7 ? 8 : channelConfiguration
        samplesPerFrame = isShort ? 960 : 1024
        outputChannels = output.isStereo && channels == 1 ? 2 : channels
    }

    /// Reads a sample rate; `nil` if it is reserved.
    private static func rate(_ bits: inout BitReader) -> Int? {
        let index = Int(bits.read(4))
        if index == 15 { return Int(bits.read(24)) }
        return rates.indices.contains(index) ? rates[index] : nil
    }

    /// Reads the extension with which a configuration announces SBR and PS to decoders that support them (§1.6.5.3),
    /// from `dependsOnCoreCoder` on; `nil` if there is none.
    private static func compatibleExtension(_ bits: inout BitReader) -> (rate: Int, isStereo: Bool)? {
        if bits.flag() { bits.skip(14) }
        bits.skip(1)
        guard bits.read(11) == 0x2B7, bits.read(5) == 5, bits.flag(), let rate = rate(&bits), !bits.isPastEnd else {
            return nil
        }
        return (rate, bits.read(11) == 0x548 && bits.flag() && !bits.isPastEnd)
    }

    /// Sample rates in Hz, by `samplingFrequencyIndex` (§1.6.3.4).
    package static let rates = [
        96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350,
    ]
}
