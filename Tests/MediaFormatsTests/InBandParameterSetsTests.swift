import EncodedMedia
import Testing

@testable import MediaFormats

/// Sequence headers, and pictures with parameter sets in band, from the records of real encoders.
@Suite struct InBandParameterSetsTests {
    /// One encoder's sets, in a header and as units of a picture.
    private struct Sets {
        let codec: VideoCodec
        let header: CodecConfiguration
        let units: [[UInt8]]
        let width: Int

        init(_ sample: SequenceParameterSetTests.Case) throws {
            codec = sample.codec
            var bytes: [UInt8] = []
            var rest = Substring(sample.record)
            while let byte = UInt8(rest.prefix(2), radix: 16) {
                bytes.append(byte)
                rest = rest.dropFirst(2)
            }
            header = CodecConfiguration(codec, bytes: bytes)
            units = NALUnits(try #require(VideoConfiguration(header)).parameterSets).map { Array($0) }
            width = sample.width
        }

        func picture(_ units: [[UInt8]], isIDR: Bool = true) -> MediaItem {
            let slice: [UInt8] = codec == .h264 ? [isIDR ? 0x65 : 0x41, 0x88] : [isIDR ? 0x26 : 0x02, 1, 0x88]
            var payload: [UInt8] = []
            for unit in units + [slice] {
                payload.appendBigEndian(unit.count, bytes: 4)
                payload += unit
            }
            return .frame(
                EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: isIDR, payload: payload))
        }
    }

    /// Returns for each item whether it passes, and the configuration before it.
    private func results(_ items: [MediaItem]) -> [(passes: Bool, before: CodecConfiguration?)] {
        var sets = InBandParameterSets()
        return items.map { item in (!sets.supersedes(item), sets.configuration(before: item)) }
    }

    @Test(arguments: [VideoCodec.h264, .h265]) func setsThatTheHeaderLacksBecomeAConfiguration(codec: VideoCodec) throws
    {
        let samples = try SequenceParameterSetTests.cases.filter { $0.codec == codec }.map { try Sets($0) }
        let one = samples[0]
        let other = try #require(samples.first { $0.width != one.width })
        let found = results([
            .configuration(one.header), one.picture(one.units), one.picture(other.units, isIDR: false),
            one.picture(other.units), one.picture(other.units),
            // The publisher repeats the header with other content.
            .configuration(one.header), one.picture(other.units),
            // The header is in force again.
            one.picture([]), one.picture([]),
        ])
        #expect(found.map(\.passes) == [true, true, true, true, true, false, true, true, true])
        #expect(found.map { $0.before != nil } == [false, false, false, true, false, false, false, true, false])
        let made = try #require(found[3].before.flatMap { VideoConfiguration($0) })
        #expect(made.sequenceParameters?.width == other.width && made.lengthSize == 4 && made.codec == codec)
        #expect(NALUnits(made.parameterSets).map { Array($0) } == other.units)
        #expect(found[7].before == one.header)
    }

    /// Also the chroma format and bit depths of high profiles.
    @Test func theConfigurationIsTheOneThatTheEncoderWouldSend() throws {
        let samples = try SequenceParameterSetTests.cases.filter { $0.codec == .h264 }.map { try Sets($0) }
        for sample in samples {
            let other = try #require(samples.first { $0.units != sample.units })
            let found = results([.configuration(other.header), sample.picture(sample.units)])
            #expect(found[1].before == sample.header)
        }
    }

    @Test func setsThatCannotBeReadChangeNothing() throws {
        let one = try Sets(SequenceParameterSetTests.cases[0])
        let odd: [[[UInt8]]] = [[[0x67]], [[0x67, 0xFF, 0xFF, 0xFF]], [[], [0x67, 1, 2, 3, 4]], [[0x68]]]
        let found = results([.configuration(one.header)] + odd.map { one.picture($0) })
        #expect(found.allSatisfy { $0.before == nil })
    }
}
