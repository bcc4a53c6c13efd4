import TestSupport
import Testing

@testable import MediaFormats

struct BitReaderTests {
    /// Returns a reader of these binary digits, padded with zeros to whole bytes.
    private func reader(_ digits: String) -> BitReader {
        var digits = digits.filter { $0 != " " }
        while digits.count % 8 != 0 { digits.append("0") }
        var bytes: [UInt8] = []
        for (index, digit) in digits.enumerated() {
            if index % 8 == 0 { bytes.append(0) }
            bytes[index / 8] |= (digit == "1" ? 0x80 : 0) >> UInt8(index % 8)
        }
        return BitReader(bytes)
    }

    private func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }
    private func ones(_ count: Int) -> String { String(repeating: "1", count: count) }

    @Test func bitsAreReadAcrossBytes() {
        var bits = BitReader([0b1010_0101, 0xFF, 0x00, 0x81, 0x42] as [UInt8])
        #expect(bits.read(3) == 0b101)
        #expect(bits.flag() == false)
        #expect(bits.read(0) == 0)
        #expect(bits.read(32) == 0x5FF0_0814)
        #expect(bits.read(4) == 2)
        #expect(!bits.isPastEnd)
        #expect(bits.read(1) == 0)
        #expect(bits.isPastEnd)
    }

    @Test func nothingIsReadOfNoBytes() {
        var bits = BitReader([UInt8]())
        #expect(!bits.isPastEnd)
        #expect(bits.unsignedExpGolomb() == 0)
        #expect(bits.isPastEnd)
        #expect(bits.read(32) == 0)
        #expect(bits.signedExpGolomb() == 0)
        #expect(bits.flag() == false)
        #expect(bits.isPastEnd)
    }

    @Test func expGolombCodesAreThoseOfTheTable() {
        // ITU-T H.264, tables 9-2 and 9-3.
        var bits = reader("1 010 011 00100 00101 00110 00111 0001000")
        #expect((0..<8).map { _ in bits.unsignedExpGolomb() } == Array(0...7))
        bits = reader("1 010 011 00100 00101 00110 00111 0001000")
        #expect((0..<8).map { _ in bits.signedExpGolomb() } == [0, 1, -1, 2, -2, 3, -3, 4])
        #expect(!bits.isPastEnd)
    }

    @Test func theLargestCodesFit() {
        var bits = reader(zeros(31) + "1" + ones(31))
        #expect(bits.unsignedExpGolomb() == UInt32.max - 1)
        bits = reader(zeros(31) + "1" + ones(31))
        #expect(bits.signedExpGolomb() == -Int32.max)
        bits = reader(zeros(31) + "1" + ones(30) + "0")
        #expect(bits.signedExpGolomb() == Int32.max)
    }

    @Test(arguments: [32, 33, 64, 200]) func longerCodesSaturate(_ count: Int) {
        var bits = reader(zeros(count) + ones(count + 1))
        #expect(bits.unsignedExpGolomb() == UInt32.max)
        #expect(!bits.isPastEnd)
        bits = reader(zeros(count) + ones(count + 1))
        #expect(bits.signedExpGolomb() == Int32.max)
    }

    @Test func aCodeThatIsCutShortIsPastTheEnd() {
        for zeros in [8, 16, 24] {
            var bits = reader(self.zeros(zeros))
            #expect(bits.unsignedExpGolomb() == 0)
            #expect(bits.isPastEnd)
        }
        // All zeros are there, but not all bits that should follow them.
        var bits = reader(zeros(7) + "1")
        #expect(bits.unsignedExpGolomb() == 127)
        #expect(bits.isPastEnd)
    }

    @Test func emulationPreventionIsRemoved() {
        var bits = BitReader(removingEmulationPrevention: [0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 3, 4] as [UInt8])
        #expect((0..<9).map { _ in bits.read(8) } == [0, 0, 1, 0, 0, 0, 0, 3, 4])
        #expect(!bits.isPastEnd)
    }

    @Test func anyBytesCanBeReadInAnyWay() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<2000 {
            // The bytes contain many zeros, and codes of every length.
            let bytes = (0..<Int.random(in: 0...24, using: &random)).map { _ in
                Bool.random(using: &random) ? 0 : UInt8.random(in: 0...255, using: &random)
            }
            var bits = BitReader(bytes)
            for _ in 0..<200 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: _ = bits.read(Int.random(in: 0...32, using: &random))
                case 1: _ = bits.unsignedExpGolomb()
                case 2: _ = bits.signedExpGolomb()
                default: bits.skip(Int.random(in: 0...64, using: &random))
                }
            }
            #expect(bits.isPastEnd)
        }
    }
}
