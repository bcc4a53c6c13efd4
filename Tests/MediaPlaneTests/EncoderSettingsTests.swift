import GStreamerKit
import MixModel
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramMixer

/// The settings given to encoders, and their effect.
@Suite("Encoder settings") struct EncoderSettingsTests {
    private static func request(
        profile: EncodingSettings.Profile? = nil, preset: EncodingSettings.Preset? = nil,
        tuning: EncoderTuning = EncoderTuning(threads: 1)
    ) -> EncoderRequest {
        var setup = MixerHarness.setup(width: 720, height: 1280)
        setup.videoBitrate = 1_843_200
        setup.profile = profile
        setup.preset = preset
        return EncoderRequest(setup, colour: .unsignalled, keyframeDistance: setup.keyframeDistance, tuning: tuning)
    }

    /// Returns the options in x264's `option-string` except those common to all mixes and those of colour.
    private static func work(_ description: String) throws -> [String] {
        let start = try #require(description.firstRange(of: "option-string=\"")?.upperBound)
        let options = description[start...].prefix { $0 != "\"" }.split(separator: ":").map(String.init)
        let common = ["weightp=0", "sps-id=7", "fullrange=off"]
        for option in common { #expect(options.contains(option), "\(options)") }
        return options.filter { !common.contains($0) && !$0.hasSuffix("=undef") }
    }

    @Test func aProgramWithoutAPresetGetsTheMixersOwnSettings() throws {
        let description = X264Encoder.elements(Self.request()).joined(separator: " ! ")
        #expect(
            description.contains(
                """
                x264enc tune=zerolatency speed-preset=veryfast threads=1 bitrate=1843 vbv-buf-capacity=1000 \
                key-int-max=40 bframes=0
                """), "\(description)")
        let own = try Self.work(description)
        #expect(own == ["me=dia", "scenecut=0", "partitions=i8x8", "subme=1", "aq-strength=0.5"])
        for profile in [EncodingSettings.Profile.baseline, .main] {
            let work = try Self.work(X264Encoder.elements(Self.request(profile: profile))[0])
            #expect(work.contains("partitions=i4x4") && work.count == own.count)
        }
    }

    @Test("A named preset is that preset and nothing else", arguments: EncodingSettings.Preset.allCases)
    func namedPreset(preset: EncodingSettings.Preset) throws {
        let named = X264Encoder.elements(Self.request(preset: preset))[0]
        #expect(named.contains("speed-preset=\(preset.rawValue) "))
        #expect(try Self.work(named).isEmpty)
        // The mixer's option applies to programs without a preset, and yields to a program's preset.
        let tuned = EncoderTuning(preset: preset, threads: 3)
        #expect(X264Encoder.elements(Self.request(tuning: tuned))[0] == named.replacing("threads=1", with: "threads=3"))
        let both = X264Encoder.elements(Self.request(preset: .fast, tuning: tuned))[0]
        #expect(try both.contains("speed-preset=fast ") && Self.work(both).isEmpty)
        #expect(X265Encoder.elements(Self.request(preset: preset))[0].contains("speed-preset=\(preset.rawValue) "))
    }

    @Test func h265WithoutAPresetIsSuperfast() {
        let description = X265Encoder.elements(Self.request())[0]
        #expect(description.contains("speed-preset=superfast ") && description.contains("pools=none:"))
    }

    /// `profile_idc`, and the settings that x264 writes into its first access unit.
    static let profiles: [(EncodingSettings.Profile?, EncodingSettings.Preset?, Int, [String])] = [
        (nil, nil, 100, ["me=dia", "subme=1", "scenecut=0", "8x8dct=1", "aq=1:0.50"]),
        (.high, nil, 100, ["me=dia", "subme=1", "scenecut=0", "8x8dct=1", "aq=1:0.50"]),
        (.main, nil, 77, ["me=dia", "subme=1", "8x8dct=0", "cabac=1"]),
        (.baseline, nil, 66, ["me=dia", "subme=1", "8x8dct=0", "cabac=0"]),
        (nil, .veryfast, 100, ["me=hex", "subme=2", "scenecut=40", "8x8dct=1", "aq=1:1.00", "analyse=0x3:0x113"]),
        (.main, .superfast, 77, ["me=dia", "subme=1", "scenecut=40", "8x8dct=0", "aq=1:1.00"]),
    ]

    @Test(
        "No picture is held back, an IDR comes where it is requested, and the sets have number 7", arguments: profiles)
    func pictures(
        profile: EncodingSettings.Profile?, preset: EncodingSettings.Preset?, number: Int, settings: [String]
    ) async throws {
        var setup = MixerHarness.setup()
        setup.profile = profile
        setup.preset = preset
        let take = try await EncoderTake.run(setup, pictures: 50, requests: [17])
        #expect(take.frames.map(\.pts) == (0..<50).map { EncoderTake.time(ofTick: $0) })
        // At most two seconds after the last keyframe, and nowhere else.
        #expect(take.frames.indices.filter { take.frames[$0].isIDR } == [0, 17])
        let bytes = try #require(take.configuration)
        #expect(bytes[1] == UInt8(number))
        let record = try #require(VideoConfiguration(CodecConfiguration(.h264, bytes: bytes)))
        let sets = record.parameterSets
        #expect(NumberedSets(sets) == NumberedSets(sequence: 7, picture: 7))
        for key in [0, 17] {
            #expect(Array(take.frames[key].payload.prefix(sets.count)) == sets)
        }
        let written = String(decoding: take.frames[0].payload, as: UTF8.self)
        for setting in settings + ["bframes=0", "weightp=0", "rc_lookahead=0", "threads=1", "vbv_bufsize=2000"] {
            #expect(written.contains(" \(setting)"), "\(setting)")
        }
    }

    /// Checks the packets, and the position of a click in their sound.
    @Test("The sound's click stays in its place", arguments: [8000, 16_000, 22_050, 32_000, 44_100, 48_000], [1, 2])
    func click(rate: Int, channels: Int) async throws {
        let place = 10 * 1024 + 300
        let track = try await TestStreams.audio(rate: rate, channels: channels, count: 20) { $0 == place ? 0.9 : 0 }
        let format = try #require(AudioSpecificConfig(track.configuration.bytes))
        #expect(format.sampleRate == rate && format.channels == channels)
        let packets = try await TestStreams.sound(track, rate: rate, channels: channels)
        let samples = packets.flatMap { packet in
            packet.samples.indices.filter { $0 % channels == 0 }.map { packet.samples[$0].magnitude }
        }
        let loudest = try #require(samples.indices.max { samples[$0] < samples[$1] })
        let first = try #require(packets.first).time.inSeconds
        #expect(abs(first + Double(loudest) / Double(rate) - Double(place) / Double(rate)) < 1.5 / Double(rate))
    }

    @Test func theFastSearchIsUsedWhereThereAreBitsForIt() {
        #expect(AACEncoder.element(sampleRate: 48_000, channels: 2, bitrate: 128_000).contains("aac-coder=fast"))
        #expect(AACEncoder.element(sampleRate: 44_100, channels: 1, bitrate: 64_000).contains("aac-coder=fast"))
        #expect(AACEncoder.element(sampleRate: 48_000, channels: 2, bitrate: 96_000) == "avenc_aac bitrate=96000")
        #expect(AACEncoder.element(sampleRate: 32_000, channels: 1, bitrate: 64_000) == "avenc_aac bitrate=64000")
    }
}
