import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats

/// Configuration records written by x264 and x265, and the settings that they were given.
@Suite struct SequenceParameterSetTests {
    struct Case: CustomTestStringConvertible {
        var name: String
        var codec = VideoCodec.h264
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
        Case(
            name: "H.265 main 720x1280, nothing signalled", codec: .h265,
            record:
                "0101600000009000000000005df000fcfdf8f800000f03200001001840010c01ffff01600000030090000003000003005dba0240"
                + "210001003042010101600000030090000003000003005da005a20050165ba924cafff000100016a04040408000000300800000"
                + "0a0422000100074401c172b42240",
            width: 720, height: 1280, frameRate: 20, reorderDepth: 0, colour: .unsignalled),
        Case(
            name: "H.265 main 1280x720 with B-frames, BT.709", codec: .h265,
            record:
                "0101600000009000000000005df000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003005d959409"
                + "a10001002e42010101600000030090000003000003005da00280802d16595964932bc05a808080820000030002000003003c10"
                + "a2000100074401c172b46240",
            width: 1280, height: 720, frameRate: 30, reorderDepth: 2,
            colour: ColourSignal(primaries: 1, transfer: 1, matrix: 1)),
        Case(
            name: "H.265 main 642x362, cropped, full range, only the matrix of BT.601 signalled", codec: .h265,
            record:
                "0101600000009000000000003ff000fcfdf8f800000f03a00001001840010c01ffff01600000030090000003000003003f959009"
                + "a10001002f42010101600000030090000003000003003fa005120171c926595924932bc05b8101030200000300020000030032"
                + "10a2000100074401c172b46240",
            width: 642, height: 362, frameRate: 25, reorderDepth: 2,
            colour: ColourSignal(matrix: 6, isFullRange: true)),
        Case(
            name: "H.265 4:4:4 640x480", codec: .h265,
            record:
                "0104080000009e08000000005af000fcfff8f800000f03a00001001740010c01ffff0408000003009e0800000300005a959409a1"
                + "0001002a4201010408000003009e0800000300005a9000a0403c2cb2b2c9272bc05a020000030002000003003c10a200010008"
                + "4401c172860c4624",
            width: 640, height: 480, frameRate: 30, reorderDepth: 2, colour: .unsignalled),
        Case(
            name: "H.265 main 1920x1080 with two temporal layers", codec: .h265,
            record:
                "01016000000090000000000078f002fffdf8f800001304a00001001c40010c02ffff016000000300900000030000030078000095"
                + "94aca048a1000100414201020160000003009000000300000300780000a003c08010e5965652b2c9265780b404000003000400"
                + "0003006580525978003d090007a12e000f424001e84880a2000100074401c172b4624027000100064e0181010f80",
            width: 1920, height: 1080, frameRate: 25, reorderDepth: 2, colour: .unsignalled),
    ]

    @Test(arguments: cases) func readsWhatTheEncoderWrote(_ expected: Case) throws {
        let configuration = try #require(
            VideoConfiguration(CodecConfiguration(expected.codec, bytes: bytes(expected.record))))
        let parameters = try #require(configuration.sequenceParameters)
        #expect(configuration.lengthSize == 4)
        #expect(parameters.width == expected.width)
        #expect(parameters.height == expected.height)
        #expect(parameters.frameRate == expected.frameRate)
        #expect(parameters.reorderDepth == expected.reorderDepth)
        #expect(parameters.colour == expected.colour)
    }

    /// SPS of 1280×720 without VUI. The second byte is the profile; the order of output has type 0 or 2.
    @Test(
        arguments: [
            ("6742c01ff402802dc8", 0), ("6742c01fda014016e4", 0), ("674d001fda014016e4", 0),
            ("674d001ff402802dc8", nil),
        ] as [(String, Int?)])
    func aProfileOrTypeMayRuleReorderingOut(_ unit: String, _ depth: Int?) throws {
        let parameters = try #require(SequenceParameterSet(nalUnit: bytes(unit)))
        #expect(parameters.width == 1280 && parameters.height == 720)
        #expect(parameters.reorderDepth == depth)
    }

    @Test("cut anywhere, a record gives an answer and never a crash")
    func truncated() {
        for (record, codec) in SequenceParameterSetTests.cases.map({ (bytes($0.record), $0.codec) }) {
            for length in 0..<record.count {
                let cut = CodecConfiguration(codec, bytes: Array(record.prefix(length)))
                let parameters = VideoConfiguration(cut)?.sequenceParameters
                #expect(parameters.map { $0.width > 0 } ?? true)
            }
        }
    }

    @Test("a million flipped bits give an answer and never a crash")
    func mutated() {
        var random = SeededGenerator(seed: 11)
        let records = SequenceParameterSetTests.cases.map { CodecConfiguration($0.codec, bytes: bytes($0.record)) }
        var readable: [VideoCodec: Int] = [:]
        for _ in 0..<100_000 {
            var record = records[Int.random(in: 0..<records.count, using: &random)]
            for _ in 0..<10 {
                record.bytes[Int.random(in: 0..<record.bytes.count, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
            }
            if let known = VideoConfiguration(record), known.sequenceParameters != nil {
                readable[known.codec, default: 0] += 1
            }
        }
        #expect(Set(readable.keys) == Set(VideoCodec.allCases))
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
        // HE-AAC: a 24 kHz core with an extension to 48 kHz.
        ([0x2B, 0x11, 0x88, 0x00], 2, 24000, 2, 1024),
        // A frame has 960 samples.
        ([0x11, 0x94], 2, 48000, 2, 960),
    ])
    func reads(bytes: [UInt8], type: Int, rate: Int, channels: Int, samples: Int) throws {
        let format = try #require(AudioSpecificConfig(bytes))
        #expect(format.objectType == type)
        #expect(format.sampleRate == rate)
        #expect(format.channels == channels)
        #expect(format.samplesPerFrame == samples)
    }

    @Test(arguments: [
        ([0x11, 0x90] as [UInt8], 48_000, 2),
        // HE-AAC: a core of 24 kHz, explicit, and in the form that LC decoders skip, with and without SBR in use.
        ([0x2B, 0x11, 0x88, 0x00], 48_000, 2),
        ([0x13, 0x10, 0x56, 0xE5, 0x98], 48_000, 2),
        ([0x13, 0x10, 0x56, 0xE5, 0x00], 24_000, 2),
        // HE-AAC v2: a core of one channel, explicit, and in the form that LC decoders skip.
        ([0xEB, 0x09, 0x88, 0x00], 48_000, 2),
        ([0x13, 0x08, 0x56, 0xE5, 0x9D, 0x48, 0x80], 48_000, 2),
    ])
    func saysWhatIsHeard(bytes: [UInt8], rate: Int, channels: Int) throws {
        let format = try #require(AudioSpecificConfig(bytes))
        #expect(format.outputSampleRate == rate)
        #expect(format.outputChannels == channels)
        #expect(format.objectType == 2 && ADTSHeader(format) != nil)
    }

    @Test func refusesNonsense() {
        #expect(AudioSpecificConfig([]) == nil)
        #expect(AudioSpecificConfig([0x11]) == nil)
        #expect(AudioSpecificConfig([0x17, 0x00]) == nil)
    }
}
