import EncodedMedia

/// Silence as AAC, made without an encoder.
public enum SilentAAC {
    /// Returns the raw data block of a silent frame (ISO/IEC 14496-3, §4.4.2.1): one element without spectral data, and
    /// the end. It fits any sampling rate, because a frame without bands has no tables.
    ///
    /// - Returns: `nil` for a format whose silent frame is not known.
    public static func frame(of format: AudioSpecificConfig) -> [UInt8]? {
        switch format.channels {
        case 1: [0x00, 0xC8, 0x00, 0x80, 0x23, 0x80]
        case 2: [0x21, 0x00, 0x49, 0x90, 0x02, 0x19, 0x00, 0x23, 0x80]
        default: nil
        }
    }
}
