import EncodedMedia

extension EncodedFrame {
    /// Whether the picture carries a recovery point, from which a decoder can begin although it is no IDR: encoders with
    /// intra refresh send them in place of keyframes (SEI payload type 6, ITU-T H.264 §D.2.8, H.265 §D.3.8).
    ///
    /// - Parameter lengthSize: Bytes of each NAL unit's length.
    package func hasRecoveryPoint(lengthSize: Int, codec: VideoCodec) -> Bool {
        NALUnits(payload, lengthSize: lengthSize).contains { unit in
            guard NALUnitKind(unit, codec) == .supplementalInformation else { return false }
            return Self.payloadTypes(unit.dropFirst(codec == .h264 ? 1 : 2)).contains(6)
        }
    }

    /// Types of the messages in a unit of supplemental information (ITU-T H.264 §7.3.2.3.1).
    private static func payloadTypes(_ bytes: ArraySlice<UInt8>) -> [Int] {
        var types: [Int] = []
        var rest = bytes
        func number() -> Int? {
            var value = 0
            while let byte = rest.popFirst() {
                value += Int(byte)
                if byte != 0xFF { return value }
            }
            return nil
        }
        // One byte is left for the trailing bits.
        while rest.count > 2, let type = number(), let size = number() {
            types.append(type)
            rest = rest.dropFirst(size)
        }
        return types
    }
}
