import MixModel
import TestSupport
import Testing

@testable import ProgramSplicer

/// Configuration records that x264 wrote, and what it had been told.
@Suite struct SequenceParameterSetTests {
    struct Case: CustomTestStringConvertible {
        var name: String
        var record: String
        var width: Int
        var height: Int
        var frameRate: Double
        var reorderDepth: Int
        var colour: ColourSignal
        var testDescription: String { name }
    }

    static let cases = [
        Case(
            name: "baseline 720x1280, nothing signalled",
            record: "0142c01fffe100196742c01fd900b40a1b011000000300100000030280f183248001000568cb83cb20",
            width: 720, height: 1280, frameRate: 20, reorderDepth: 0, colour: .unsignalled),
        Case(
            name: "high 1280x720 with B-frames, BT.709",
            record:
                "0164001fffe1001c6764001facd9405005bb016a02020280000003008000001e078c18cb01000668ebe3cb22c0fdf8f800",
            width: 1280, height: 720, frameRate: 30, reorderDepth: 2,
            colour: ColourSignal(primaries: 1, transfer: 1, matrix: 1)),
        Case(
            name: "main 642x362, cropped, full range, only the matrix of BT.601 signalled",
            record: "014d401effe1001e674d401eeca05217f112602dc080819000000300100000030320f162d96001000568ebe3cb20",
            width: 642, height: 362, frameRate: 25, reorderDepth: 2,
            colour: ColourSignal(matrix: 6, isFullRange: true)),
        Case(
            name: "high 4:4:4 640x480, interlaced",
            record: "01f4001effe1001967f4001e919b28140f6c0440000003004000000f07c50a658001000668fba3c44844fff8f800",
            width: 640, height: 480, frameRate: 30, reorderDepth: 2, colour: .unsignalled),
    ]

    @Test(arguments: cases) func readsWhatTheEncoderWrote(_ expected: Case) throws {
        let configuration = try #require(AVCConfiguration(bytes(expected.record)))
        let parameters = try #require(configuration.sequenceParameters)
        #expect(configuration.lengthSize == 4)
        #expect(parameters.width == expected.width)
        #expect(parameters.height == expected.height)
        #expect(parameters.frameRate == expected.frameRate)
        #expect(parameters.reorderDepth == expected.reorderDepth)
        #expect(parameters.colour == expected.colour)
    }

    @Test("cut anywhere, a record gives an answer and never a crash")
    func truncated() {
        for record in SequenceParameterSetTests.cases.map({ bytes($0.record) }) {
            for length in 0..<record.count {
                let parameters = AVCConfiguration(Array(record.prefix(length)))?.sequenceParameters
                #expect(parameters.map { $0.width > 0 } ?? true)
            }
        }
    }

    @Test("a million flipped bits give an answer and never a crash")
    func mutated() {
        var random = SeededGenerator(seed: 11)
        let records = SequenceParameterSetTests.cases.map { bytes($0.record) }
        var readable = 0
        for _ in 0..<100_000 {
            var record = records.randomElement(using: &random) ?? []
            for _ in 0..<10 {
                record[Int.random(in: 0..<record.count, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
            }
            if AVCConfiguration(record)?.sequenceParameters != nil { readable += 1 }
        }
        #expect(readable > 0)
    }

    private func bytes(_ hex: String) -> [UInt8] {
        var digits = hex[...]
        var result: [UInt8] = []
        while let byte = UInt8(digits.prefix(2), radix: 16) {
            result.append(byte)
            digits = digits.dropFirst(2)
        }
        return result
    }
}

@Suite struct AudioSpecificConfigTests {
    @Test(arguments: [
        ([0x11, 0x90] as [UInt8], 2, 48000, 2, 1024),
        ([0x12, 0x08], 2, 44100, 1, 1024),
        ([0x11, 0x90, 0x56, 0xE5, 0x00], 2, 48000, 2, 1024),
        // HE-AAC: a 24 kHz core that is extended to 48 kHz.
        ([0x2B, 0x11, 0x88, 0x00], 2, 24000, 2, 1024),
        // 960 samples a frame.
        ([0x11, 0x94], 2, 48000, 2, 960),
    ])
    func reads(bytes: [UInt8], type: Int, rate: Int, channels: Int, samples: Int) throws {
        let format = try #require(AudioSpecificConfig(bytes))
        #expect(format.objectType == type)
        #expect(format.sampleRate == rate)
        #expect(format.channels == channels)
        #expect(format.samplesPerFrame == samples)
    }

    @Test func refusesNonsense() {
        #expect(AudioSpecificConfig([]) == nil)
        #expect(AudioSpecificConfig([0x11]) == nil)
        #expect(AudioSpecificConfig([0x17, 0x00]) == nil)
    }
}
