import EncodedMedia

/// The header that precedes each AAC frame in MPEG-TS and in files of ADTS (ISO/IEC 13818-7 §6.2).
package struct ADTSHeader: Hashable, Sendable {
    private let profile: UInt8
    private let rateIndex: UInt8
    private let channels: UInt8

    package static let length = 7
    /// Length of the longest frame in bytes: the length field, which includes the header, has 13 bits.
    package static let longestFrame = (1 << 13) - 1 - length

    /// Creates the headers of a configuration; `nil` if ADTS cannot express it: object types other than AAC Main, LC,
    /// SSR and LTP, frames of 960 samples, and rates that are not in the table.
    package init?(_ audio: AudioSpecificConfig) {
        guard (1...4).contains(audio.objectType), audio.samplesPerFrame == 1024,
            let index = AudioSpecificConfig.rates.firstIndex(of: audio.sampleRate)
        else { return nil }
        profile = UInt8(audio.objectType - 1)
        rateIndex = UInt8(index)
        channels = audio.channels == 8 ? 7 : UInt8(audio.channels)
    }

    /// Returns the header of a frame of `frame` bytes, at most `longestFrame`.
    package func bytes(frame: Int) -> [UInt8] {
        let length = frame + Self.length
        return [
            0xFF, 0xF1,
            profile << 6 | rateIndex << 2 | channels >> 2,
            (channels & 3) << 6 | UInt8(truncatingIfNeeded: length >> 11 & 3),
            UInt8(truncatingIfNeeded: length >> 3),
            UInt8(truncatingIfNeeded: length & 7) << 5 | 0x1F,
            0xFC,
        ]
    }
}
