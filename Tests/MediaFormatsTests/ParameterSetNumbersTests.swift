import EncodedMedia
import Testing
import TestSupport

@testable import MediaFormats

/// Parameter sets that get other numbers. `SteadyVideoEncoderTests` decodes renumbered streams.
@Suite struct ParameterSetNumbersTests {
    private static let numbers = ParameterSetNumbers(sequence: 7)

    private static func unit(_ bytes: [UInt8]) -> [UInt8] { [0, 0, 0, UInt8(bytes.count)] + bytes }

    @Test func theNumbersChangeAndNothingElse() {
        // nal_unit_type 7: profile, constraints, level, then sps_id 0 (1), the rest 0101 1 and the stop bit.
        let sps: [UInt8] = [0x67, 66, 0, 30, 0b1010_1110]
        // sps_id 7 is 0001000.
        let newSPS: [UInt8] = [0x67, 66, 0, 30, 0b0001_0000, 0b1011_1000]
        // pps_id 0, sps_id 0, 10 1 and the stop bit; pps_id 15 is 000010000.
        let pps: [UInt8] = [0x68, 0b1110_1100]
        let newPPS: [UInt8] = [0x68, 0b0000_1000, 0b0000_1000, 0b1011_0000]
        // first_mb 0, slice_type 7 (0001000), pps_id 0 (1) and the rest.
        let slice: [UInt8] = [0x65, 0b1000_1000, 0b1101_1011, 0x80]
        let newSlice: [UInt8] = [0x65, 0b1000_1000, 0b0000_1000, 0b0101_1011, 0x80]
        let access = [sps, pps, slice].flatMap(Self.unit)
        #expect(Self.numbers.accessUnit(access) == [newSPS, newPPS, newSlice].flatMap(Self.unit))
        let head: [UInt8] = [1, 66, 0, 30, 0xFF, 0xE1]
        let record = head + [0, 5] + sps + [1, 0, 2] + pps + [9, 9]
        #expect(Self.numbers.record(record) == head + [0, 6] + newSPS + [1, 0, 4] + newPPS + [9, 9])
    }

    @Test func supplementalInformationIsLeftOut() {
        let access = [[9, 0xF0], [6, 0, 1, 0x80, 0x80]].flatMap(Self.unit)
        #expect(Self.numbers.accessUnit(access) == Self.unit([9, 0xF0]))
    }

    /// Bytes that look like a start code once the number is longer are escaped, and those of the picture stay escaped.
    @Test func startCodesCannotAppear() throws {
        // pps_id 0 becomes 0000 1000 0 in front of zeros.
        let slice: [UInt8] = [0x41, 0b1110_0000, 0, 3, 0, 0, 3, 1, 0x80]
        let new = try #require(Self.numbers.accessUnit(Self.unit(slice)))
        var zeros = 0
        for byte in new.dropFirst(4) {
            #expect(!(zeros >= 2 && byte < 3))
            zeros = byte == 0 ? zeros + 1 : 0
        }
    }

    @Test func everyNumberOfAPictureSetBecomesLongerByOneByte() throws {
        for number in 0...ParameterSetNumbers.largestPicture {
            let new = ParameterSetNumbers.picture(number)
            #expect(new <= 255)
            #expect(64 - UInt64(new + 1).leadingZeroBitCount == 64 - UInt64(number + 1).leadingZeroBitCount + 4)
        }
        // pps_id 16 is 000010001.
        #expect(Self.numbers.accessUnit(Self.unit([0x68, 0b0000_1000, 0b1110_1100])) == nil)
    }

    @Test func strangeBytesDoNotTrap() {
        var random = SeededGenerator(announcedFor: "parameter set numbers")
        for round in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                Bool.random(using: &random) ? 0 : UInt8.random(in: 0...255, using: &random)
            }
            if round % 2 == 0 {
                let kind: UInt8 = [0x65, 0x41, 0x67, 0x68][round / 2 % 4]
                bytes = Self.unit([kind] + bytes)
            } else if round % 4 == 1 {
                bytes = [1, 66, 0, 30, 0xFF, 0xE1] + bytes
            }
            _ = Self.numbers.accessUnit(bytes, lengthSize: [1, 2, 4][round % 3])
            _ = Self.numbers.record(bytes)
        }
    }
}
