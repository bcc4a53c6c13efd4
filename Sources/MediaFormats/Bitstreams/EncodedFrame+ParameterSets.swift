import EncodedMedia

extension EncodedFrame {
    /// Returns the access unit with four-byte lengths and, before an IDR picture, with the parameter sets in band, so
    /// that a decoder needs only the stream. Returns the payload unchanged if it has this form already.
    public func withParameterSets(of configuration: VideoConfiguration?) -> [UInt8] {
        let lengthSize = configuration?.lengthSize ?? 4
        let codec = configuration?.codec ?? .h264
        let units = NALUnits(payload, lengthSize: lengthSize)
        let hasSets = units.contains { NALUnitKind($0, codec) == .sequenceParameterSet }
        let missing = isIDR && !hasSets ? configuration?.parameterSets ?? [] : []
        guard lengthSize != 4 || !missing.isEmpty else { return payload }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(payload.count + missing.count + 16)
        var isOwed = !missing.isEmpty
        for unit in units {
            // An access unit delimiter comes first (ITU-T H.264 §7.4.1.2.3).
            if isOwed, NALUnitKind(unit, codec) != .accessUnitDelimiter {
                bytes += missing
                isOwed = false
            }
            bytes.appendBigEndian(unit.count, bytes: 4)
            bytes += unit
        }
        return bytes
    }
}
