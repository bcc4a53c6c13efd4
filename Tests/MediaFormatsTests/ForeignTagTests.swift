import EncodedMedia
import Testing

@testable import MediaFormats

/// Tags of codecs that are transcoded, written by hand from the tables of FLV and Enhanced RTMP.
@Suite struct ForeignTagTests {
    private static let av01 = Array("av01".utf8), hvc1 = Array("hvc1".utf8), mp3 = Array(".mp3".utf8)

    @Test func codecsAreKnownByTheirNumbers() {
        let tags: [(Track, [UInt8], ForeignCodec?)] = [
            (.audio, [0x2F], .mp3), (.audio, [0xEF], .mp3), (.audio, [0x91] + Self.mp3, .mp3),
            (.audio, [0x52], .nellymoser),
            (.audio, [0x72], .aLaw), (.audio, [0x82], .muLaw), (.audio, [0xB2], .speex), (.audio, [0xAF, 1], nil),
            (.audio, [0x91] + Array("Opus".utf8), nil), (.audio, [0x1F], nil), (.audio, [], nil),
            (.video, [0x17, 1], nil), (.video, [0x1C, 1], .h265), (.video, [0x91] + Self.hvc1, .h265),
            (.video, [0x91] + Self.av01, .av1), (.video, [0x91] + Array("vp09".utf8), .vp9), (.video, [0x12], nil),
            (.video, [0x91] + Array("vvc1".utf8), nil), (.video, [0x91, 0x61], nil),
        ]
        for (track, body, codec) in tags { #expect(ForeignCodec(track, body: body) == codec, "\(body)") }
    }

    @Test func whatIsToBeDecodedIsFound() {
        #expect(ForeignTag(.audio, body: [0x2F, 7, 8])?.content == .frame([7, 8], offset: 0, isKey: true))
        #expect(ForeignTag(.audio, body: [0x91] + Self.mp3 + [7])?.content == .frame([7], offset: 0, isKey: true))
        #expect(ForeignTag(.audio, body: [0x90] + Self.mp3) == nil)
        #expect(ForeignTag(.audio, body: [0x82, 1])?.sound == .init(sampleRate: 8_000, channels: 1))
        #expect(ForeignTag(.audio, body: [0x4A, 1])?.sound == .init(sampleRate: 16_000, channels: 1))
        #expect(ForeignTag(.audio, body: [0x6B, 1])?.sound == .init(sampleRate: 22_050, channels: 2))
        #expect(ForeignTag(.video, body: [0x90] + Self.av01 + [1, 2])?.content == .configuration([1, 2]))
        #expect(ForeignTag(.video, body: [0x91] + Self.av01 + [5])?.content == .frame([5], offset: 0, isKey: true))
        #expect(
            ForeignTag(.video, body: [0xA1] + Self.hvc1 + [0xFF, 0xFF, 0xD8, 5])?.content
                == .frame([5], offset: -40, isKey: false))
        #expect(ForeignTag(.video, body: [0xA3] + Self.hvc1 + [5])?.content == .frame([5], offset: 0, isKey: false))
        #expect(ForeignTag(.video, body: [0x1C, 0, 0, 0, 0, 1])?.content == .configuration([1]))
        #expect(ForeignTag(.video, body: [0x2C, 1, 0, 0, 40, 5])?.content == .frame([5], offset: 40, isKey: false))
        for body in [[0xD0] + Self.av01, [0x92] + Self.av01, [0x91] + Self.hvc1 + [0], [0x1C], [0x1C, 1, 0]] {
            #expect(ForeignTag(.video, body: body) == nil, "\(body)")
        }
    }

    @Test func theReaderSetsThemAsideWithTheirTimes() throws {
        let mp3 = FLVTag(role: .frame(.audio, isIDR: false), timestamp: 20, body: [0x2F, 7])
        let aac = FLVTag(role: .frame(.audio, isIDR: false), timestamp: 30, body: [0xAF, 1, 7])
        let hevc = FLVTag(
            role: .frame(.video, isIDR: true), timestamp: 40, body: [0x93] + Self.hvc1 + [0, 0, 0, 2, 38, 1])
        let bytes = FLVTag.fileHeader + [mp3, aac, hevc].flatMap(\.encoded)
        var reader = FLVReader(videoCodecs: [.h264], setsAside: true)
        let read = try reader.push(bytes)
        #expect(read.count == 1)
        let aside = reader.takeAside()
        #expect(aside.map(\.tag.body) == [mp3.body, hevc.body])
        #expect(aside.map(\.dts) == [.milliseconds(20), .milliseconds(40)])
        let again = reader.takeAside()
        #expect(again.isEmpty)
        var carrying = FLVReader(videoCodecs: [.h264, .h265], setsAside: true)
        let (carried, rest) = (try carrying.push(bytes), carrying.takeAside())
        #expect(carried.contains { $0.isIDR } && rest.count == 1)
        var strict = FLVReader(videoCodecs: [.h264])
        #expect(throws: FLVReader.Failure.unsupportedCodec(.audio, codec: "2")) { try strict.push(bytes) }
    }

    @Test func timesOfWhatComesBackAreUnwrappedAlike() throws {
        var reader = FLVReader()
        var items: [MediaItem] = []
        for time: UInt32 in [0xFFFF_FF00, 0x10] {
            try reader.read(.audio, timestamp: time, body: [0xAF, 1, 7], into: &items)
        }
        var other = FLVReader(continuing: reader)
        let back = FLVTag(role: .frame(.audio, isIDR: false), timestamp: 0x20, body: [0xAF, 1, 7])
        guard case .frame(let frame) = try other.push(FLVTag.fileHeader + back.encoded).first else {
            return _ = Issue.record("no frame")
        }
        #expect(frame.dts == .milliseconds((1 << 32) + 0x20))
    }

    @Test func ofSeveralTracksTheFirstIsRead() throws {
        var reader = FLVReader()
        var items: [MediaItem] = []
        // Two tracks of H.265: number 1, then number 0.
        let body = [0x96, 0x13] + Self.hvc1 + [1, 0, 0, 1, 9, 0, 0, 0, 6, 0, 0, 0, 2, 38, 1]
        try reader.read(.video, timestamp: 5, body: body[...], into: &items)
        guard case .frame(let frame) = items.first else { return _ = Issue.record("no frame: \(items)") }
        #expect(items.count == 1 && frame.payload == [0, 0, 0, 2, 38, 1] && frame.isIDR)
    }
}
