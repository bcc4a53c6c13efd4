import Testing

@testable import EncodedMedia
@testable import MediaFormats

@Suite struct FLVTests {
    private let video = CodecConfiguration(track: .video, bytes: [1, 0x64, 0, 31, 0xFF, 0xE1, 0, 1, 0x67])
    private let audio = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])

    private func frame(_ track: Track, pts: Int, dts: Int? = nil, idr: Bool = false) -> EncodedFrame {
        let nal: [UInt8] = [0, 0, 0, 3, idr ? 0x65 : 0x41, 0xAA, UInt8(truncatingIfNeeded: pts)]
        return EncodedFrame(
            track: track, pts: .milliseconds(pts), dts: .milliseconds(dts ?? pts), isIDR: idr,
            payload: track == .video ? nal : [0x21, UInt8(truncatingIfNeeded: pts), 0xFF])
    }

    @Test("what is written is read back, in pieces of any size", arguments: [1, 2, 7, 64, 4096])
    func roundTrip(piece: Int) throws {
        var program = FLVProgram()
        _ = program.configure(video)
        _ = program.configure(audio)
        let frames = [
            frame(.video, pts: 100, dts: 0, idr: true), frame(.audio, pts: 5), frame(.video, pts: 200, dts: 50),
            frame(.video, pts: 120, dts: 100), frame(.audio, pts: 26),
        ]
        let bytes = FLVTag.fileHeader + frames.flatMap { program.write($0) }.flatMap { $0.encoded }
        var reader = FLVReader()
        var items: [MediaItem] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            items += try reader.push(bytes[start..<min(start + piece, bytes.count)])
        }
        #expect(items.contains(.configuration(video)))
        #expect(items.contains(.configuration(audio)))
        let read = items.compactMap { item in if case .frame(let frame) = item { frame } else { nil } }
        #expect(read == frames)
    }

    @Test("a viewer who comes later begins at the last keyframe with all headers")
    func lateViewer() throws {
        var program = FLVProgram()
        _ = program.configure(video)
        _ = program.configure(audio)
        for index in 0..<50 {
            _ = program.write(frame(.video, pts: index * 50, idr: index % 20 == 0))
            _ = program.write(frame(.audio, pts: index * 50 + 10))
        }
        var reader = FLVReader()
        let bytes = FLVTag.fileHeader + (program.preamble + program.currentGOP).flatMap { $0.encoded }
        let items = try reader.push(bytes)
        guard case .metadata = items.first else {
            Issue.record("the first tag is not metadata")
            return
        }
        #expect(items[1] == .configuration(video))
        #expect(items[2] == .configuration(audio))
        guard case .frame(let first) = items[3] else {
            Issue.record("no frame after the headers")
            return
        }
        #expect(first.isIDR && first.pts == .milliseconds(2000))
        #expect(items.count == 3 + 20)
    }

    @Test("a new configuration is announced by its header before the frame, and metadata when it says otherwise")
    func newConfiguration() throws {
        var program = FLVProgram()
        _ = program.configure(audio)
        _ = program.write(frame(.video, pts: 0, idr: true))
        let mono = CodecConfiguration(track: .audio, bytes: [0x12, 0x08])
        let tags = program.configure(mono)
        #expect(tags.map(\.role) == [.metadata, .sequenceHeader(.audio)])
        let again = program.configure(mono)
        #expect(again.map(\.role) == [.sequenceHeader(.audio)])
    }

    @Test("timestamps go on beyond 2³² ms")
    func wrap() throws {
        var reader = FLVReader()
        _ = try reader.push(FLVTag.fileHeader)
        let near = Int64(UInt32.max) - 20
        _ = try reader.push(FLVTag(video, at: .milliseconds(near), origin: .zero).encoded)
        var times: [MediaTime] = []
        for offset: Int64 in [0, 50, 100] {
            let tag = FLVTag(frame(.video, pts: Int(near + offset), idr: true), origin: .zero)
            for case .frame(let frame) in try reader.push(tag.encoded) { times.append(frame.pts) }
        }
        #expect(times == [.milliseconds(near), .milliseconds(near + 50), .milliseconds(near + 100)])
    }

    @Test("other codecs are named with the cure")
    func unsupported() throws {
        var reader = FLVReader(videoCodecs: [.h264])
        _ = try reader.push(FLVTag.fileHeader)
        let hevc = FLVTag(role: .frame(.video, isIDR: true), timestamp: 0, body: [0x90] + Array("hvc1".utf8) + [0])
        #expect(failure(&reader, hevc.encoded) == .unsupportedCodec(.video, codec: "hvc1"))
        var second = FLVReader()
        _ = try second.push(FLVTag.fileHeader)
        let mp3 = FLVTag(role: .frame(.audio, isIDR: false), timestamp: 0, body: [0x2F, 0, 0])
        #expect(failure(&second, mp3.encoded) == .unsupportedCodec(.audio, codec: "2"))
    }

    @Test("H.264 and AAC with the headers of Enhanced RTMP are what they are without")
    func enhanced() throws {
        var reader = FLVReader(videoCodecs: [.h264])
        _ = try reader.push(FLVTag.fileHeader)
        func read(_ track: Track, _ body: [UInt8]) throws -> [MediaItem] {
            try reader.push(FLVTag(role: .frame(track, isIDR: false), timestamp: 40, body: body).encoded)
        }
        let (avc, aac) = (Array("avc1".utf8), Array("mp4a".utf8))
        var items = try read(.video, [0x90] + avc + [1, 2, 3])
        #expect(items == [.configuration(CodecConfiguration(track: .video, bytes: [1, 2, 3]))])
        let unit: [UInt8] = [0, 0, 0, 2, 0x65, 7]
        var frame = EncodedFrame(
            track: .video, pts: .milliseconds(60), dts: .milliseconds(40), isIDR: true, payload: unit)
        items = try read(.video, [0x91] + avc + [0, 0, 20] + unit)
        #expect(items == [.frame(frame)])
        frame.pts = frame.dts
        items = try read(.video, [0x93] + avc + unit)
        #expect(items == [.frame(frame)])
        items = try read(.audio, [0x90] + aac + [0x11, 0x90])
        #expect(items == [.configuration(CodecConfiguration(track: .audio, bytes: [0x11, 0x90]))])
        items = try read(.audio, [0x91] + aac + [5, 6])
        #expect(
            items == [
                .frame(
                    EncodedFrame(track: .audio, pts: .milliseconds(40), dts: .milliseconds(40), payload: [5, 6]))
            ])
        // Ends of sequences, and bodies that are too short.
        for body in [[0x92] + aac, [0x91] + aac, [0x90], [0x95] + aac + [1]] as [[UInt8]] where body.count > 4 {
            items = try read(.audio, body)
            #expect(items.isEmpty)
        }
        let opus = FLVTag(role: .frame(.audio, isIDR: false), timestamp: 40, body: [0x91] + Array("Opus".utf8) + [0])
        let end = failure(&reader, opus.encoded)
        #expect(end == .unsupportedCodec(.audio, codec: "Opus") && "\(end.map { "\($0)" } ?? "")".contains("Opus"))
    }

    /// A decoder fails on audio of another format than its header's.
    @Test func aViewerWhoJoinsGetsNoAudioOfAnEarlierFormat() throws {
        var program = FLVProgram()
        _ = program.configure(video)
        _ = program.configure(audio)
        _ = program.write(frame(.video, pts: 0, idr: true))
        _ = program.write(frame(.audio, pts: 10))
        _ = program.configure(audio)
        #expect(program.currentGOP.count == 2, "the same format")
        let other = CodecConfiguration(track: .audio, bytes: [0x12, 0x10])
        #expect(program.configure(other).last == FLVTag(other, at: .milliseconds(10), origin: .zero))
        let kept = [frame(.video, pts: 40), frame(.audio, pts: 50)]
        for frame in kept { _ = program.write(frame) }
        var reader = FLVReader()
        let items = try reader.push(
            FLVTag.fileHeader + (program.preamble + program.currentGOP).flatMap { $0.encoded })
        let expected: [MediaItem] =
            [.configuration(other), .frame(frame(.video, pts: 0, idr: true))] + kept.map { MediaItem.frame($0) }
        #expect(Array(items.dropFirst(2)) == expected)
    }

    @Test func refusesOtherStreams() {
        var reader = FLVReader()
        #expect(failure(&reader, Array("HTTP/1.1 404 Not Found".utf8)) == .notFLV)
    }

    private func failure(_ reader: inout FLVReader, _ bytes: [UInt8]) -> FLVReader.Failure? {
        do {
            _ = try reader.push(bytes)
            return nil
        } catch {
            return error
        }
    }
}
