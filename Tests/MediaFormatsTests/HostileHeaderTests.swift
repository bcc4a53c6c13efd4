import MediaSupport
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats

/// Untrusted headers: configurations of codecs, NAL units, SEI, cues, and damaged files.
@Suite struct HostileHeaderTests {
    private static let valid: [[UInt8]] =
        SequenceParameterSetTests.cases.map { hexadecimal($0.record) }
        + [HLSProgram.video(0).bytes, HLSProgram.audio.bytes, HLSProgram.mono.bytes, [0x17, 0x80, 0, 0, 0x90]]
        + [FLVCue(name: "onSwitch", text: "{}").tag(at: 0).body, [0, 0, 0, 2, 0x65, 1, 0, 0, 0, 2, 0x41, 2]]

    private static func hexadecimal(_ text: String) -> [UInt8] {
        let digits = text.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    @Test("headers of any bytes, and valid ones with some changed, are read or refused")
    func anyHeaders() throws {
        var random = SeededGenerator(announcedFor: "HostileHeaderTests.anyHeaders")
        for _ in 0..<4_000 {
            try read(HostileBytes.any(Self.valid, using: &random), lengthSize: .random(in: 1...4, using: &random))
        }
    }

    /// The largest numbers that exp-Golomb codes can express are handled at every place where one is allowed.
    @Test func everyNumberIsTheLargest() throws {
        for record in Self.valid {
            for position in record.indices {
                for length in [4, 8, 16] {
                    var bytes = record
                    for index in position..<min(position + length, bytes.count) {
                        bytes[index] = index < position + 4 ? 0 : 0xFF
                    }
                    try read(bytes, lengthSize: 4)
                }
            }
        }
    }

    private func read(_ bytes: [UInt8], lengthSize: Int) throws {
        for codec in VideoCodec.allCases {
            let configuration = CodecConfiguration(codec, bytes: bytes)
            if let parameters = VideoConfiguration(configuration)?.sequenceParameters {
                try #require(1...16384 ~= parameters.width && 1...16384 ~= parameters.height)
                try #require(parameters.frameRate?.isFinite ?? true)
            }
            let frame = EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: bytes)
            _ = frame.withParameterSets(of: VideoConfiguration(configuration))
            _ = frame.inserting(nalUnit: SEIMessage.nalUnit([SEIMessage(text: "x", type: 5)]), lengthSize: lengthSize)
            _ = NALUnits(bytes, lengthSize: lengthSize).containsIDR(of: codec)
            var (sets, entry) = (InBandParameterSets(), OpenGroupEntry())
            for item in [MediaItem.configuration(configuration), .frame(frame), .frame(frame)] {
                _ = sets.supersedes(item)
                _ = sets.configuration(before: item)
                _ = entry.pass(item)
            }
            _ = MP4Movie(video: configuration, audio: bytes).header
            var writer = TransportStreamWriter()
            let sound = EncodedFrame(track: .audio, pts: .zero, dts: .zero, payload: bytes)
            let audio = CodecConfiguration(track: .audio, bytes: bytes)
            _ = writer.segment([frame, sound], video: configuration, audio: audio)
            _ = FLVMetadata(video: configuration, audio: audio, framesPerSecond: nil).body
        }
        if let format = AudioSpecificConfig(bytes) {
            var clock = AudioSampleClock(sampleRate: format.sampleRate, samplesPerFrame: format.samplesPerFrame)
            try #require(clock.frameDuration > .zero)
            for time in [0, 20, 1 << 40, -(1 << 40), Int64.max] { _ = clock.next(rounded: .milliseconds(time)) }
        }
        _ = FLVCue(body: bytes)
        for track in Track.allCases { _ = ForeignTag(track, body: bytes) }
    }

    @Test("a recording's file with any byte changed is read, or is none")
    func anyFile() {
        var random = SeededGenerator(announcedFor: "HostileHeaderTests.anyFile")
        let movie = MP4Movie(video: HLSProgram.video(0), audio: HLSProgram.audio.bytes)
        let header = Array(movie.header.dropFirst(MP4Index.movieOffset))
        let samples = [MP4Fragment.Sample(duration: 1800, size: 10), MP4Fragment.Sample(duration: .max, size: .max)]
        let fragment = MP4Fragment.encode(
            sequence: 1,
            [
                MP4Fragment.Run(track: 1, decodeTime: .max - 1, samples: samples),
                MP4Fragment.Run(track: 2, decodeTime: .min, samples: samples),
            ], data: [[1], [2]])
        for round in 0..<2_000 {
            let bytes = round == 0 ? header : HostileBytes.any([header], using: &random)
            _ = MP4Movie(box: bytes)
            var index = MP4Index(movie: bytes)
            for _ in 0..<3 {
                let moof = round == 0 ? fragment : HostileBytes.any([fragment], using: &random)
                _ = index?.add(moof: moof, at: round % 2 == 0 ? 100 : .max - 1)
            }
            _ = index?.movie
        }
    }

    @Test("seconds that no file can have make no index of that size, and no continuation that traps")
    func absurdSeconds() {
        for seconds in [-1, 1e300, .infinity, .nan, 1e10] {
            #expect(0...300_000_000 ~= MP4Index.estimatedSize(afterSeconds: seconds))
            let movie = MP4Movie(video: HLSProgram.video(0), audio: nil)
            var part = RecordingPart(
                continuing: .init(movie: movie, origin: .seconds(seconds), duration: seconds), at: .zero)
            part.append(HLSProgram.picture(at: .zero, isIDR: true, size: 9))
            #expect(part.encodeFragment(next: nil) != nil)
        }
    }

    @Test("what was stored of a playlist is used only if its numbers are those of segments")
    func damagedPlaylists() {
        let good = PlaylistEntry(number: 3, uri: "video-3.ts", duration: 4_000_000, wallClock: 1_700_000_000_000)
        #expect(good.isSound)
        let bad: [(inout PlaylistEntry) -> Void] = [
            { $0.number = .max }, { $0.number = -1 }, { $0.duration = .min }, { $0.duration = .max },
            { $0.bytes = .max }, { $0.bytes = 1 << 41 },
            { $0.wallClock = .min }, { $0.wallClock = .max }, { $0.format.width = .max }, { $0.format.height = -1 },
            { $0.format.frameRate = .max },
        ]
        for change in bad {
            var entry = good
            change(&entry)
            #expect(!entry.isSound)
            var variant = PlaylistVariant(name: "video", targetDuration: 4, keepsAll: false)
            variant.append(good, isIndependent: true, window: 30, now: 0)
            #expect(variant.isSound)
        }
        #expect(!PlaylistVariant(name: "video", targetDuration: .max, keepsAll: false).isSound)
        #expect(!PlaylistVariant(name: "video", targetDuration: 0, keepsAll: false).isSound)
    }
}
