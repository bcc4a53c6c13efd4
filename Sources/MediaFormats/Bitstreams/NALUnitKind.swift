import EncodedMedia

/// The kinds of NAL unit that programs distinguish.
public enum NALUnitKind: Hashable, Sendable {
    /// A slice, or a slice partition, of a picture that is not an IDR picture.
    case slice
    /// A slice of an IDR picture or, in H.265, of any picture with which decoding may begin: BLA and CRA too, although
    /// pictures that are shown before a CRA picture may then not be decodable (`OpenGroupEntry`).
    case idrSlice
    case sequenceParameterSet
    /// Supplemental information that precedes its picture.
    case supplementalInformation
    case accessUnitDelimiter
    case other

    /// - Parameter unit: The unit with its header: one byte in H.264, two in H.265.
    public init(_ unit: some Collection<UInt8>, _ codec: VideoCodec) {
        guard let header = unit.first else {
            self = .other
            return
        }
        switch codec {
        case .h264: self.init(h264: header & 0x1F)
        case .h265: self.init(h265: header >> 1 & 0x3F)
        }
    }

    public var isSlice: Bool { self == .slice || self == .idrSlice }

    /// Creates a kind from `nal_unit_type` (ITU-T H.264 table 7-1).
    private init(h264 type: UInt8) {
        self =
            switch type {
            case 5: .idrSlice
            case 1...4: .slice
            case 6: .supplementalInformation
            case 7: .sequenceParameterSet
            case 9: .accessUnitDelimiter
            default: .other
            }
    }

    /// Creates a kind from `nal_unit_type` (ITU-T H.265 table 7-1).
    private init(h265 type: UInt8) {
        self =
            switch type {
            case 16...21: .idrSlice
            case 0...31: .slice
            case 33: .sequenceParameterSet
            case 35: .accessUnitDelimiter
            case 39: .supplementalInformation
            default: .other
            }
    }
}

extension VideoCodec {
    /// Header of a NAL unit with supplemental information that precedes its picture.
    package var supplementalInformationHeader: [UInt8] {
        switch self {
        case .h264: [6]
        // Layer 0, temporal sub-layer 0 (ITU-T H.265 §7.3.1.2).
        case .h265: [39 << 1, 1]
        }
    }

    /// A complete access unit delimiter after which slices of any type may follow (ITU-T H.264 §7.4.2.4, H.265
    /// §7.4.3.5).
    package var accessUnitDelimiter: [UInt8] {
        switch self {
        case .h264: [9, 0xF0]
        case .h265: [35 << 1, 1, 0x50]
        }
    }
}
