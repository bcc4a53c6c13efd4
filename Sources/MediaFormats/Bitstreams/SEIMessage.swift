import EncodedMedia

/// A message of supplemental enhancement information (ITU-T H.264 §7.3.2.3.1, annex D; the same in H.265 §7.3.5).
public struct SEIMessage: Hashable, Sendable {
    /// `payloadType`; programs use 0…254.
    public var type: Int
    /// Payload without emulation prevention.
    public var payload: [UInt8]

    public init(type: Int, payload: [UInt8]) {
        self.type = type
        self.payload = payload
    }

    /// Creates a message with a text for players. With type 5, user_data_unregistered, the text follows our UUID
    /// (§D.1.7).
    public init(text: String, type: Int) {
        let isUserData = type == SEIMessage.userDataUnregistered
        self.init(type: type, payload: (isUserData ? SEIMessage.uuid : []) + Array(text.utf8))
    }

    public static let userDataUnregistered = 5

    /// `uuid_iso_iec_11578` of all user data that programs carry: 5b1c6c0e-7d0f-4a52-9e0b-3f6c2a9d4e71.
    public static let uuid: [UInt8] = [
        0x5B, 0x1C, 0x6C, 0x0E, 0x7D, 0x0F, 0x4A, 0x52, 0x9E, 0x0B, 0x3F, 0x6C, 0x2A, 0x9D, 0x4E, 0x71,
    ]
}

extension SEIMessage {
    /// Returns one NAL unit with these messages, header and emulation prevention included, without a length or a start
    /// code.
    public static func nalUnit(_ messages: [SEIMessage], _ codec: VideoCodec = .h264) -> [UInt8] {
        var body: [UInt8] = []
        for message in messages {
            body.append(coded: message.type)
            body.append(coded: message.payload.count)
            body += message.payload
        }
        // rbsp_trailing_bits (§7.3.2.11): the messages are whole bytes.
        body.append(0x80)
        return codec.supplementalInformationHeader + body.preventingEmulation
    }
}

extension [UInt8] {
    /// Appends a `payloadType` or `payloadSize`: a byte of 255 for each whole 255, then the remainder (§7.3.2.3.1).
    fileprivate mutating func append(coded value: Int) {
        self += repeatElement(0xFF, count: value / 255)
        append(UInt8(value % 255))
    }

    /// The bytes of a NAL unit for this RBSP: a 3 is inserted wherever two zeros are followed by a byte of 0…3, which
    /// could form a start code (§7.4.1, `emulation_prevention_three_byte`).
    fileprivate var preventingEmulation: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + count / 64 + 4)
        var zeros = 0
        for byte in self {
            if zeros >= 2, byte <= 3 {
                bytes.append(3)
                zeros = 0
            }
            bytes.append(byte)
            zeros = byte == 0 ? zeros + 1 : 0
        }
        return bytes
    }
}

extension EncodedFrame {
    /// Returns the access unit with another NAL unit before its first slice, after all units that the encoder put there
    /// (§7.4.1.2.3).
    ///
    /// - Parameter lengthSize: Size in bytes of the length before each NAL unit.
    /// - Returns: `nil` if there is no slice, or the unit is too long for such a length.
    public func inserting(
        nalUnit unit: [UInt8], lengthSize: Int, codec: VideoCodec = .h264
    ) -> EncodedFrame? {
        guard track == .video, 1...4 ~= lengthSize, unit.count < 1 << min(8 * lengthSize, 31) else { return nil }
        var position = 0
        for other in NALUnits(payload, lengthSize: lengthSize) {
            if NALUnitKind(other, codec).isSlice {
                var frame = self
                var bytes: [UInt8] = []
                bytes.reserveCapacity(payload.count + lengthSize + unit.count)
                bytes += payload[..<position]
                bytes.appendBigEndian(unit.count, bytes: lengthSize)
                bytes += unit
                bytes += payload[position...]
                frame.payload = bytes
                return frame
            }
            position = other.endIndex
        }
        return nil
    }
}
