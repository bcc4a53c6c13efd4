import MixModel

/// H.264 as MPEG-TS carries it: a byte stream (ITU-T H.264 annex B), each access unit behind a delimiter, and each IDR
/// behind the parameter sets that it needs (ISO/IEC 13818-1 §2.14.1).
struct AccessUnitBytes: Sendable {
    private let lengthSize: Int
    /// SPS and PPS with their start codes.
    private let parameterSets: [UInt8]

    private static let startCode: [UInt8] = [0, 0, 0, 1]
    /// Slices of any type may follow.
    private static let delimiter: [UInt8] = startCode + [9, 0xF0]

    /// `nil` if the bytes are no AVCDecoderConfigurationRecord.
    init?(_ configuration: CodecConfiguration) {
        guard let record = AVCConfiguration(configuration.bytes) else { return nil }
        lengthSize = record.lengthSize
        parameterSets = NALUnits(record.parameterSets).flatMap { Self.startCode + $0 }
    }

    func bytes(of frame: EncodedFrame) -> [UInt8] {
        var bytes = Self.delimiter
        bytes.reserveCapacity(frame.payload.count + parameterSets.count + 64)
        let units = NALUnits(frame.payload, lengthSize: lengthSize)
        // Sets in band are newer than the record's.
        let hasOwn = units.contains { $0.first.map { $0 & 0x1F } == NALUnits.UnitType.sequenceParameterSet }
        if frame.isIDR && !hasOwn { bytes += parameterSets }
        for unit in units where unit.first.map({ $0 & 0x1F }) != NALUnits.UnitType.accessUnitDelimiter {
            bytes += Self.startCode
            bytes += unit
        }
        return bytes
    }
}
