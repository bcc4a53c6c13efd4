import EncodedMedia
import Testing

struct BigEndianTests {
    @Test func whatIsWrittenIsRead() {
        var bytes: [UInt8] = [0xFF]
        bytes.appendBigEndian(UInt32(0x0102_0304))
        bytes.appendBigEndian(0x0A_0B0C, bytes: 2)
        bytes.appendBigEndian(UInt64(0x8182_8384_8586_8788))
        #expect(bytes == [0xFF, 1, 2, 3, 4, 0x0B, 0x0C, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88])
        #expect(bytes.bigEndian(UInt32.self, at: 1) == 0x0102_0304)
        #expect(bytes.bigEndian(UInt32.self, at: 2, bytes: 3) == 0x02_0304)
        #expect(bytes.bigEndian(Int.self, at: 5, bytes: 1) == 0x0B)
        #expect(bytes.bigEndian(UInt64.self, at: 7) == 0x8182_8384_8586_8788)
        bytes.setBigEndian(UInt32(0xF1F2_F3F4), at: 0)
        #expect(bytes.prefix(5) == [0xF1, 0xF2, 0xF3, 0xF4, 4])
    }

    @Test func signedNumbersKeepTheirSign() {
        var bytes: [UInt8] = []
        for number in [Int64.min, -1, 0, .max] { bytes.appendBigEndian(number) }
        bytes.appendBigEndian(Int32(-2), bytes: 3)
        #expect((0..<4).map { bytes.bigEndian(Int64.self, at: 8 * $0) } == [.min, -1, 0, .max])
        #expect(bytes.suffix(3) == [0xFF, 0xFF, 0xFE])
        // The number has fewer bytes than its type, and therefore no sign.
        #expect(bytes.bigEndian(Int32.self, at: 32, bytes: 3) == 0xFF_FFFE)
    }

    @Test func nothingIsReadBeyondTheBytes() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        #expect(bytes.bigEndian(UInt64.self, at: 0) == 0x0102_0304_0506_0708)
        for index in [-1, 1, 8, 9, Int.max, Int.min] { #expect(bytes.bigEndian(UInt64.self, at: index) == nil) }
        for count in [-1, 0, 5, 9, Int.max] { #expect(bytes.bigEndian(UInt32.self, at: 0, bytes: count) == nil) }
        #expect(bytes.bigEndian(UInt8.self, at: 7) == 8)
        #expect(bytes.bigEndian(UInt16.self, at: 7) == nil)
        #expect([UInt8]().bigEndian(UInt8.self, at: 0) == nil)
    }

    @Test func aSliceKeepsItsIndices() {
        let slice = ([9, 9, 1, 2, 3, 9] as [UInt8])[2..<5]
        #expect(slice.bigEndian(UInt16.self, at: 2) == 0x0102)
        #expect(slice.bigEndian(Int.self, at: 2, bytes: 3) == 0x01_0203)
        #expect(slice.bigEndian(UInt8.self, at: 1) == nil)
        #expect(slice.bigEndian(UInt16.self, at: 4) == nil)
    }
}
