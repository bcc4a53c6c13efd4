import EncodedMedia

/// The sections that describe the content of a transport stream (ISO/IEC 13818-1 §2.4.4).
enum ProgramTables {
    static let mapIdentifier: UInt16 = 0x1000
    static let videoIdentifier: UInt16 = 0x100
    static let audioIdentifier: UInt16 = 0x101

    /// The program association section, with one program, number 1.
    static let association = section(
        table: 0, extensionID: 1, body: [0, 1, 0xE0 | UInt8(mapIdentifier >> 8), UInt8(mapIdentifier & 0xFF)])

    /// Returns the program map section with video, AAC with ADTS, or both.
    static func map(video: VideoCodec?, audio: Bool) -> [UInt8] {
        let clock = video != nil ? videoIdentifier : audioIdentifier
        var body: [UInt8] = [0xE0 | UInt8(clock >> 8), UInt8(clock & 0xFF), 0xF0, 0]
        if let video {
            body += [streamType(video), 0xE0 | UInt8(videoIdentifier >> 8), UInt8(videoIdentifier & 0xFF), 0xF0, 0]
        }
        if audio { body += [0x0F, 0xE0 | UInt8(audioIdentifier >> 8), UInt8(audioIdentifier & 0xFF), 0xF0, 0] }
        return section(table: 2, extensionID: 1, body: body)
    }

    /// Returns the `stream_type` (table 2-34).
    private static func streamType(_ codec: VideoCodec) -> UInt8 {
        switch codec {
        case .h264: 0x1B
        case .h265: 0x24
        }
    }

    /// Returns a section with the pointer before it; each section fits in one packet.
    private static func section(table: UInt8, extensionID: UInt16, body: [UInt8]) -> [UInt8] {
        let length = body.count + 9
        var bytes: [UInt8] = [
            table, 0xB0 | UInt8(length >> 8), UInt8(length & 0xFF), UInt8(extensionID >> 8), UInt8(extensionID & 0xFF),
            0xC1, 0, 0,
        ]
        bytes += body
        bytes.appendBigEndian(checksum(bytes))
        return [0] + bytes
    }

    /// Returns the CRC of a section (annex A).
    static func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.reduce(0xFFFF_FFFF) { register, byte in
            (0..<8).reduce(register ^ UInt32(byte) << 24) { value, _ in
                value & 0x8000_0000 != 0 ? value << 1 ^ 0x04C1_1DB7 : value << 1
            }
        }
    }
}
