import MixModel

/// What we need to know of an AVCDecoderConfigurationRecord (ISO/IEC 14496-15 §5.3.3.1).
public struct AVCConfiguration: Hashable, Sendable {
    /// Bytes of the length before each NAL unit: 1, 2 or 4.
    public let lengthSize: Int
    /// `nil` where the record has none, or one that cannot be read.
    public let sequenceParameters: SequenceParameterSet?

    /// Every SPS and PPS as NAL units of an access unit, each behind a length of 4 bytes.
    public let parameterSets: [UInt8]

    /// `nil` if the bytes are not such a record.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count >= 7, bytes[0] == 1 else { return nil }
        lengthSize = Int(bytes[4] & 3) + 1
        var sets: [ArraySlice<UInt8>] = []
        var position = 5
        for countMask: UInt8 in [0x1F, 0xFF] {
            guard position < bytes.count else { break }
            let count = bytes[position] & countMask
            position += 1
            for _ in 0..<count {
                guard position + 2 <= bytes.count else { break }
                let end = position + 2 + Int(bytes.bigEndian(at: position, bytes: 2))
                guard end <= bytes.count else { break }
                sets.append(bytes[position + 2..<end])
                position = end
            }
        }
        sequenceParameters = sets.first.flatMap { SequenceParameterSet(nalUnit: Array($0)) }
        parameterSets = sets.flatMap { set in
            (0..<4).reversed().map { UInt8(truncatingIfNeeded: set.count >> (8 * $0)) } + set
        }
    }
}
