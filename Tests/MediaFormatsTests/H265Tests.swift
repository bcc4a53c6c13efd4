import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats

@Suite("Programs of H.265") struct H265Tests {
    /// 720×1280, Main, level 3.1, from x265: VPS, SPS and PPS.
    private static let record: [UInt8] = [
        0x01, 0x01, 0x60, 0, 0, 0, 0x90, 0, 0, 0, 0, 0, 0x5D, 0xF0, 0, 0xFC, 0xFD, 0xF8, 0xF8, 0, 0, 0x0F, 0x03, 0x20,
        0,
        0x01, 0, 0x18, 0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0, 0, 0x03, 0, 0x90, 0, 0, 0x03, 0, 0, 0x03, 0,
        0x5D, 0xBA, 0x02, 0x40, 0x21, 0, 0x01, 0, 0x30, 0x42, 0x01, 0x01, 0x01, 0x60, 0, 0, 0x03, 0, 0x90, 0, 0, 0x03,
        0,
        0, 0x03, 0, 0x5D, 0xA0, 0x05, 0xA2, 0, 0x50, 0x16, 0x5B, 0xA9, 0x24, 0xCA, 0xFF, 0xF0, 0, 0x10, 0, 0x16, 0xA0,
        0x40, 0x40, 0x40, 0x80, 0, 0, 0x03, 0, 0x80, 0, 0, 0x0A, 0x04, 0x22, 0, 0x01, 0, 0x07, 0x44, 0x01, 0xC1, 0x72,
        0xB4, 0x22, 0x40,
    ]
    private let video = CodecConfiguration(.h265, bytes: record)
    private let h264 = CodecConfiguration(track: .video, bytes: RecordingScript.video)
    private let audio = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])
    /// Sizes of VPS, SPS and PPS, each with a length of four bytes in front.
    private static let setSizes = [24, 48, 7]

    private static func payload(_ units: [[UInt8]]) -> [UInt8] {
        units.flatMap { [0, 0, 0, UInt8($0.count)] + $0 }
    }

    /// Returns IDR_N_LP or TRAIL_R, after the encoder's delimiter.
    private func picture(at milliseconds: Int, isIDR: Bool) -> EncodedFrame {
        let slice: [UInt8] = [isIDR ? 20 << 1 : 1 << 1, 1, 0xAA, 0xBB]
        return EncodedFrame(
            track: .video, pts: .milliseconds(milliseconds + 80), dts: .milliseconds(milliseconds), isIDR: isIDR,
            payload: Self.payload([[35 << 1, 1, 0x50], slice]))
    }

    @Test(
        arguments: [
            (VideoCodec.h264, [0x65], NALUnitKind.idrSlice), (.h264, [0x41], .slice),
            (.h264, [0x67], .sequenceParameterSet),
            (.h264, [0x06], .supplementalInformation), (.h264, [0x09], .accessUnitDelimiter), (.h264, [0x68], .other),
            // With and without a temporal sub-layer, which is in the second byte.
            (.h265, [0x26, 1], .idrSlice), (.h265, [0x28, 1], .idrSlice), (.h265, [0x02, 1], .slice),
            (.h265, [0x00, 2], .slice),
            // CRA and BLA pictures, at which decoding may begin.
            (.h265, [0x2A, 1], .idrSlice), (.h265, [0x20, 1], .idrSlice), (.h265, [0x2C, 1], .slice),
            (.h265, [0x42, 1], .sequenceParameterSet), (.h265, [0x40, 1], .other),
            (.h265, [0x4E, 1], .supplementalInformation), (.h265, [0x50, 1], .other),
            (.h265, [0x46, 1], .accessUnitDelimiter), (.h265, [], .other),
        ] as [(VideoCodec, [UInt8], NALUnitKind)])
    func kinds(codec: VideoCodec, unit: [UInt8], kind: NALUnitKind) {
        #expect(NALUnitKind(unit, codec) == kind)
    }

    @Test("tags are those of Enhanced RTMP, and the header comes again before each IDR")
    func tags() {
        var program = FLVProgram()
        _ = program.configure(video)
        let first = program.write(picture(at: 0, isIDR: true))
        #expect(
            first.map(\.role) == [
                .metadata, .sequenceHeader(.video), .sequenceHeader(.video), .frame(.video, isIDR: true),
            ])
        #expect(first[1].body == [0x90] + Array("hvc1".utf8) + Self.record)
        #expect(first.last?.body.prefix(8) == ([0x91] + Array("hvc1".utf8) + [0, 0, 80])[...])
        // Its FourCC as a number, 0x68766331.
        let number = Double(0x6876_6331).bitPattern
        let codec =
            Array("videocodecid".utf8) + [0] + bigEndianBytes(number, 8)
        #expect(first[0].body.firstRange(of: codec) != nil)
        let second = program.write(picture(at: 50, isIDR: false))
        #expect(second.map(\.role) == [.frame(.video, isIDR: false)])
        #expect(second[0].body.prefix(5) == ([0xA1] + Array("hvc1".utf8))[...])
        let third = program.write(picture(at: 100, isIDR: true))
        #expect(third.map(\.role) == [.sequenceHeader(.video), .frame(.video, isIDR: true)])
        #expect(third.map(\.timestamp) == [100, 100])
        #expect(program.currentGOP.map(\.role) == [.frame(.video, isIDR: true)])
    }

    @Test("what is written is read back, also where the codec changes", arguments: [1, 3, 50, 4096])
    func roundTrip(piece: Int) throws {
        var program = FLVProgram()
        var bytes = FLVTag.fileHeader
        bytes += (program.configure(video) + program.configure(audio)).flatMap(\.encoded)
        let frames = [picture(at: 0, isIDR: true), picture(at: 50, isIDR: false), picture(at: 100, isIDR: true)]
        let old = EncodedFrame(
            track: .video, pts: .milliseconds(150), dts: .milliseconds(150), isIDR: true,
            payload: Self.payload([[0x65, 1, 2, 3]]))
        bytes += frames.flatMap { program.write($0) }.flatMap(\.encoded)
        bytes += (program.configure(h264) + program.write(old)).flatMap(\.encoded)
        var reader = FLVReader()
        var items: [MediaItem] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            items += try reader.push(bytes[start..<min(start + piece, bytes.count)])
        }
        let read = items.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
        #expect(read == frames + [old])
        let configurations = items.compactMap { if case .configuration(let one) = $0 { one } else { nil } }
        #expect(configurations.filter { $0.track == .video } == [video, video, video, h264])
    }

    @Test("packets without an offset of times are read, and commands are no pictures")
    func otherPackets() throws {
        var reader = FLVReader()
        _ = try reader.push(FLVTag.fileHeader + FLVTag(video, at: .zero, origin: .zero).encoded)
        func read(_ body: [UInt8]) throws -> [MediaItem] {
            try reader.push(FLVTag(role: .frame(.video, isIDR: false), timestamp: 40, body: body).encoded)
        }
        let frame = picture(at: 40, isIDR: true)
        let items = try read([0x93] + Array("hvc1".utf8) + frame.payload)
        var same = frame
        same.pts = same.dts
        #expect(items == [.frame(same)])
        // A command, the end of a sequence, and a body that is too short for its offset.
        for (first, rest) in [(0xD1, [0]), (0x92, []), (0x91, [0, 0])] as [(UInt8, [UInt8])] {
            let found = try read([first] + Array("hvc1".utf8) + rest)
            #expect(found.isEmpty)
        }
        #expect(throws: FLVReader.Failure.unsupportedCodec(.video, codec: "av01")) {
            try read([0x91] + Array("av01".utf8) + [0, 0, 0, 1])
        }
    }

    @Test func messagesStandBeforeTheFirstSlice() throws {
        let unit = SEIMessage.nalUnit([SEIMessage(text: "{}", type: 100)], .h265)
        #expect(unit == [0x4E, 0x01, 100, 2, 0x7B, 0x7D, 0x80])
        let frame = picture(at: 0, isIDR: true)
        let changed = try #require(frame.inserting(nalUnit: unit, lengthSize: 4, codec: .h265))
        let kinds = NALUnits(changed.payload).map { NALUnitKind($0, .h265) }
        #expect(kinds == [.accessUnitDelimiter, .supplementalInformation, .idrSlice])
        #expect(NALUnits(changed.payload).containsIDR(of: .h265))
    }

    @Test func transportStreamsCarryItWithItsOwnTypeAndSets() {
        var writer = TransportStreamWriter()
        var reader = TransportStreamReader()
        let frames = [picture(at: 0, isIDR: true), picture(at: 50, isIDR: false)]
        reader.read(writer.segment(frames, video: video, audio: nil))
        #expect(reader.complaints == [])
        #expect(reader.streamTypes == [0x24])
        let delimiter: [UInt8] = [0, 0, 0, 1, 0x46, 1, 0x50]
        let sets = Self.setSizes.reduce(0) { $0 + $1 + 4 }
        #expect(reader.packets.map(\.payload.count) == [delimiter.count + sets + 8, delimiter.count + 8])
        #expect(reader.packets.allSatisfy { $0.payload.starts(with: delimiter) })
    }

    @Test func playlistsNameItAndBothWhereItChanges() {
        func segment(_ configuration: CodecConfiguration) -> SegmentFormat {
            SegmentFormat(
                ProgramSegment(
                    start: .zero, duration: .seconds(1), frames: [], video: configuration, audio: audio,
                    isDiscontinuity: false, isIndependent: true, wallClock: 0))
        }
        let new = segment(video)
        #expect(new.videoCodec == "hvc1.1.6.L93.90")
        #expect(new.width == 720 && new.height == 1280 && new.frameRate == 20_000)
        let both = new.joined(segment(h264)).joined(new)
        #expect(both.videoCodec == "avc1.42C00A,hvc1.1.6.L93.90")
    }

    @Test func aRecordingBeginsAnotherFileWhereTheCodecChanges() throws {
        var script = RecordingScript()
        script.program(seconds: 2)
        var items = script.items
        let next = script.start + .seconds(2)
        items.append(.configuration(video))
        for index in 0..<50 {
            var frame = picture(at: index * 40, isIDR: index % 25 == 0)
            frame.pts += next
            frame.dts += next
            items.append(.frame(frame))
        }
        let parts = RecordingScript.record(items)
        #expect(parts.map(\.reason) == [.tracksChanged, .stopped])
        #expect(parts.map(\.movie.video?.videoCodec) == [.h264, .h265])
        #expect(parts.map { $0.times(of: MP4Movie.videoTrack).count } == [50, 50])
        let part = try #require(parts.last)
        let header = part.movie.header
        for box in ["hev1", "hvcC"] { #expect(header.firstRange(of: Array(box.utf8)) != nil) }
        #expect(MP4Movie(box: Array(header[MP4Index.movieOffset...])) == part.movie)
        // The sets are in band, so that the next configuration needs no new file.
        let first = try #require(part.encoded.first)
        #expect(first.firstRange(of: Self.record[(Self.record.count - 7)...]) != nil)
    }
}
