/// The element that encodes audio as AAC-LC, with its settings.
public enum AACEncoder {
    /// Bit rate per channel from which the fast search sounds no worse than the default one.
    static let fastFrom = 64_000
    /// Highest frequency that the fast search encodes, in hertz.
    static let bandwidth = 18_000

    /// Returns the element in pipeline syntax.
    ///
    /// The fast search of quantizers costs less than half as much as the default (`twoloop`) and keeps closer to the
    /// input where there are enough bits (docs/adr/0039-encoder-settings.md). By default it cuts off at 16.5 kHz. Its
    /// intensity stereo audibly changes the stereo image, so both channels are encoded.
    public static func element(sampleRate: Int, channels: Int, bitrate: Int) -> String {
        let isFast = bitrate >= channels * fastFrom && sampleRate > 2 * bandwidth
        let search = isFast ? " aac-coder=fast aac-is=false cutoff=\(bandwidth)" : ""
        return "avenc_aac bitrate=\(bitrate)" + search
    }
}
