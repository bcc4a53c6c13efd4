// PNG (W3C, third edition): 11.2.1 IHDR, 11.3.6 acTL; the check sum is that of annex D.
extension ImageHeader {
    package static func png(_ reader: inout ImageBytes) throws(ImageProblem) -> ImageHeader {
        reader.position = 8
        guard let length = reader.big(4), let type = reader.text(at: 12, count: 4) else { throw .truncated(.png) }
        guard length == 13, type == "IHDR" else { throw .damaged(.png, "it does not begin with its header") }
        reader.position = 16
        guard let width = reader.big(4), let height = reader.big(4), let depth = reader.big(1),
            let colour = reader.big(1), let methods = reader.big(3), let sum = reader.big(4)
        else { throw .truncated(.png) }
        guard UInt32(sum) == checkSum(reader.slice(12..<29)) else {
            throw .damaged(.png, "the header's checksum is wrong")
        }
        guard 1...Int(Int32.max) ~= width, 1...Int(Int32.max) ~= height else {
            throw .damaged(.png, "its header states \(width)×\(height) pixels")
        }
        let depths: [Int: Set<Int>] = [0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]]
        // Compression and filter have one method, interlacing two.
        guard depths[colour]?.contains(depth) == true, methods <= 1 else {
            throw .damaged(.png, "colour type \(colour) does not exist with \(depth) bits")
        }
        // GStreamer 1.22 decodes 16-bit RGB to different colours.
        guard depth < 16 || colour != 2 else { throw .unsupported(.png, "16 bits per channel") }
        var isAnimated = false
        while let length = reader.big(4), let type = reader.text(at: reader.position, count: 4) {
            if type == "IDAT" { break }
            if type == "acTL" { isAnimated = true }
            reader.position += 4 + length + 4
        }
        return ImageHeader(.png, width: width, height: height, isAnimated: isAnimated)
    }

    /// Returns the CRC-32 of ISO 3309.
    static func checkSum(_ bytes: [UInt8]) -> UInt32 {
        var sum = ~UInt32(0)
        for byte in bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 {
                let half = sum >> 1
                sum = sum & 1 == 1 ? half ^ 0xEDB8_8320 : half
            }
        }
        return ~sum
    }
}
