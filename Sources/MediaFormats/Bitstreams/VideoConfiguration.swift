import EncodedMedia

/// The fields of a decoder configuration record that are needed here: AVCDecoderConfigurationRecord for H.264 (ISO/IEC
/// 14496-15 §5.3.3.1), HEVCDecoderConfigurationRecord for H.265 (§8.3.3.1).
public struct VideoConfiguration: Hashable, Sendable {
    public let codec: VideoCodec
    /// Bytes of the length before each NAL unit: 1, 2 or 4.
    public let lengthSize: Int
    /// The first SPS of the record; `nil` if there is none, or it cannot be read.
    public let sequenceParameters: SequenceParameterSet?

    /// Every parameter set as a NAL unit of an access unit, each preceded by a length of 4 bytes.
    public let parameterSets: [UInt8]

    /// Reads a configuration record; `nil` if the bytes are not such a record, or if the configuration is for audio.
    public init?(_ configuration: CodecConfiguration) {
        guard let codec = configuration.videoCodec,
            let record = codec == .h264
                ? Record(avc: configuration.bytes) : Record(hevc: configuration.bytes)
        else { return nil }
        self.codec = codec
        lengthSize = record.lengthSize
        let sets = record.sets
        sequenceParameters = sets.first { NALUnitKind($0, codec) == .sequenceParameterSet }.flatMap { unit in
            codec == .h264 ? SequenceParameterSet(nalUnit: Array(unit)) : SequenceParameterSet(h265: Array(unit))
        }
        parameterSets = sets.reduce(into: []) { bytes, set in
            bytes.appendBigEndian(set.count, bytes: 4)
            bytes.append(contentsOf: set)
        }
    }
}

/// The fields that both records have in common.
private struct Record {
    var lengthSize: Int
    /// NAL units in the record's order.
    var sets: [ArraySlice<UInt8>] = []

    init?(avc bytes: [UInt8]) {
        guard bytes.count >= 7, bytes[0] == 1 else { return nil }
        lengthSize = Int(bytes[4] & 3) + 1
        var position = 5
        for countMask: UInt8 in [0x1F, 0xFF] {
            guard position < bytes.count else { break }
            let count = Int(bytes[position] & countMask)
            position += 1
            guard readSets(count, of: bytes, at: &position) else { break }
        }
    }

    init?(hevc bytes: [UInt8]) {
        guard bytes.count >= 23, bytes[0] == 1 else { return nil }
        lengthSize = Int(bytes[21] & 3) + 1
        var position = 23
        for _ in 0..<bytes[22] {
            guard let count = bytes.bigEndian(Int.self, at: position + 1, bytes: 2) else { break }
            position += 3
            guard readSets(count, of: bytes, at: &position) else { break }
        }
    }

    /// - Returns: False if the record ends early.
    private mutating func readSets(_ count: Int, of bytes: [UInt8], at position: inout Int) -> Bool {
        for _ in 0..<count {
            guard let length = bytes.bigEndian(Int.self, at: position, bytes: 2) else { return false }
            let end = position + 2 + length
            guard end <= bytes.count else { return false }
            sets.append(bytes[position + 2..<end])
            position = end
        }
        return true
    }
}
