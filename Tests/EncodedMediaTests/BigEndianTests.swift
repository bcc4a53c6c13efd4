import EncodedMedia
import Testing

struct BigEndianTests {
    @Test func whatIsWrittenIsRead() {
        var bytes: [UInt8] = [0xFF]
        bytes.appendBigEndian(0x0102_0304, bytes: 4)
        bytes.appendBigEndian(0x0A_0B0C, bytes: 2)
        bytes.appendBigEndian64(0x8182_8384_8586_8788)
        #expect(bytes == [0xFF, 1, 2, 3, 4, 0x0B, 0x0C, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88])
        #expect(bytes.bigEndian(at: 1, bytes: 4) == 0x0102_0304)
        #expect(bytes.bigEndian(at: 2, bytes: 3) == 0x02_0304)
        #expect(bytes.bigEndian(at: 5, bytes: 1) == 0x0B)
        #expect(bytes.bigEndian64(at: 7) == 0x8182_8384_8586_8788)
        bytes.setBigEndian(0xF1F2_F3F4, at: 0)
        #expect(bytes.prefix(5) == [0xF1, 0xF2, 0xF3, 0xF4, 4])
    }
}
