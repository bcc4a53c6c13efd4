import EncodedMedia

extension EncodedFrame {
    /// `payloadType` of a recovery point (ITU-T H.264 §D.1.8, H.265 §D.2.8).
    private static let recoveryPoint = 6

    /// Returns whether the picture carries a recovery point, from which a decoder can begin although it is not an IDR:
    /// encoders with intra refresh send recovery points instead of keyframes (ITU-T H.264 §D.2.8, H.265 §D.3.8).
    ///
    /// - Parameter lengthSize: Size in bytes of each NAL unit's length.
    package func hasRecoveryPoint(lengthSize: Int, codec: VideoCodec) -> Bool {
        NALUnits(payload, lengthSize: lengthSize).contains { unit in
            guard NALUnitKind(unit, codec) == .supplementalInformation else { return false }
            return Self.messages(unit.dropFirst(codec == .h264 ? 1 : 2)).contains { $0.type == Self.recoveryPoint }
        }
    }

    /// Returns whether the picture begins an open group of pictures of H.264: an I picture that is not an IDR, with a
    /// recovery point that says that all pictures from it on, in presentation order, can be decoded
    /// (`recovery_frame_cnt` 0).
    ///
    /// A decoder can begin with it. A program cannot: only an IDR picture may bring other parameter sets into force.
    /// Open groups of H.265 begin with a CRA picture, which counts as an IDR.
    package func beginsOpenGroup(of configuration: VideoConfiguration) -> Bool {
        guard configuration.codec == .h264, track == .video, !isIDR else { return false }
        var isComplete = false
        for unit in NALUnits(payload, lengthSize: configuration.lengthSize) {
            switch NALUnitKind(unit, .h264) {
            case .supplementalInformation: isComplete = isComplete || Self.recoversAtOnce(unit.dropFirst())
            case .slice: return isComplete && Self.isIntraSlice(unit)
            default: continue
            }
        }
        return false
    }

    private static func recoversAtOnce(_ bytes: ArraySlice<UInt8>) -> Bool {
        messages(bytes).contains { message in
            guard message.type == recoveryPoint else { return false }
            var reader = BitReader(message.payload)
            return reader.unsignedExpGolomb() == 0 && !reader.isPastEnd
        }
    }

    /// Returns whether a slice, with its header, is an I slice (`slice_type` 2 or 7, ITU-T H.264 table 7-6).
    private static func isIntraSlice(_ unit: ArraySlice<UInt8>) -> Bool {
        // Two numbers of at most 32 bits each are at its beginning.
        var reader = BitReader(removingEmulationPrevention: unit.dropFirst().prefix(20))
        _ = reader.unsignedExpGolomb()
        let type = reader.unsignedExpGolomb()
        return !reader.isPastEnd && (type == 2 || type == 7)
    }

    /// Returns the messages in a unit of supplemental information (ITU-T H.264 §7.3.2.3.1).
    private static func messages(_ bytes: ArraySlice<UInt8>) -> [(type: Int, payload: ArraySlice<UInt8>)] {
        var messages: [(type: Int, payload: ArraySlice<UInt8>)] = []
        var rest = BitReader.payload(of: bytes)[...]
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
            messages.append((type, rest.prefix(size)))
            rest = rest.dropFirst(size)
        }
        return messages
    }
}
