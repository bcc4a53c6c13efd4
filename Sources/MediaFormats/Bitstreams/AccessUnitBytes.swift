import EncodedMedia

/// Converts pictures to a byte stream (ITU-T H.264 and H.265, annex B), with the necessary parameter sets before each
/// IDR. MPEG-TS has a delimiter before each access unit as well (ISO/IEC 13818-1 §2.14.1, §2.17.1).
package struct AccessUnitBytes: Sendable {
    package let codec: VideoCodec
    private let lengthSize: Int
    /// Parameter sets with their start codes.
    private let parameterSets: [UInt8]

    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// Creates a converter; `nil` if the bytes are not a decoder configuration record.
    package init?(_ configuration: CodecConfiguration) {
        guard let record = VideoConfiguration(configuration) else { return nil }
        codec = record.codec
        lengthSize = record.lengthSize
        parameterSets = NALUnits(record.parameterSets).flatMap { Self.startCode + $0 }
    }

    /// - Parameter delimits: Whether to begin with a delimiter. Delimiters of the stream itself are dropped.
    package func bytes(of frame: EncodedFrame, delimits: Bool = true) -> [UInt8] {
        var bytes = delimits ? Self.startCode + codec.accessUnitDelimiter : []
        bytes.reserveCapacity(frame.payload.count + parameterSets.count + 64)
        let units = NALUnits(frame.payload, lengthSize: lengthSize)
        // Parameter sets in band are newer than the record's.
        let hasOwn = units.contains { NALUnitKind($0, codec) == .sequenceParameterSet }
        if frame.isIDR && !hasOwn { bytes += parameterSets }
        for unit in units where NALUnitKind(unit, codec) != .accessUnitDelimiter {
            bytes += Self.startCode
            bytes += unit
        }
        return bytes
    }
}
