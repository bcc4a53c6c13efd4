import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramSplicer

/// Programs with a single track.
@Suite struct SoundProgramTests {
    private static let alice = SpliceInput.source("alice/camera#audio")
    private static let configuration = CodecConfiguration(track: .audio, bytes: [0x11, 0x90])

    private static func packet(_ index: Int64, origin: MediaTime = .zero, tag: UInt8) -> EncodedFrame {
        let time = origin + .units(index * 1024, rate: 48_000)
        return EncodedFrame(track: .audio, pts: time, dts: time, payload: [tag])
    }

    private static func times(_ actions: [Splicer.Action]) -> [MediaTime] {
        actions.compactMap { if case .emit(let frame) = $0 { frame.pts } else { nil } }
    }

    /// Switches between a source and mixers that lag behind it, at random times.
    @Test func soundGoesFromFeedToFeedWithoutAStep() {
        var random = SeededGenerator(announcedFor: "sound alone")
        var splicesInAll = 0
        for _ in 0..<20 {
            var splicer = Splicer()
            _ = splicer.setTracks(.audio, now: .zero)
            var actions: [Splicer.Action] = []
            splicer.configure(Self.alice, Self.configuration)
            actions += splicer.setTarget(Self.alice, now: .zero)
            let lag = Int64.random(in: 1...7, using: &random)
            var generation = 0
            for index in 0..<600 as Range<Int64> {
                let now = MediaTime.units(index * 1024, rate: 48_000)
                actions += splicer.advance(to: now)
                actions += splicer.frame(Self.packet(index, tag: 0), of: Self.alice, now: now)
                if generation > 0, index >= lag {
                    let frame = Self.packet(index - lag, tag: UInt8(generation % 200 + 1))
                    actions += splicer.frame(frame, of: .mixer(generation), now: now)
                }
                if Int.random(in: 0..<40, using: &random) == 0 {
                    if splicer.target == Self.alice {
                        generation += 1
                        splicer.configure(.mixer(generation), Self.configuration)
                        actions += splicer.setTarget(.mixer(generation), now: now)
                    } else {
                        actions += splicer.setTarget(Self.alice, now: now)
                    }
                }
            }
            let times = Self.times(actions)
            #expect(times.count > 500)
            for (before, after) in zip(times, times.dropFirst()) {
                let step = (after - before).inMilliseconds
                #expect(abs(step - 1024 / 48.0) < 0.01, "seed \(random.seed)")
            }
            let splices = actions.compactMap { if case .switched(let splice) = $0 { splice } else { nil } }
            #expect(splices.first?.from == nil, "seed \(random.seed)")
            // A splice that was cancelled before its sound was played has no gap.
            #expect(splices.allSatisfy { ($0.audioGap?.inMilliseconds).map { $0 < 22 } ?? true }, "seed \(random.seed)")
            splicesInAll += splices.count
        }
        #expect(splicesInAll > 60, "seed \(random.seed)")
    }

    @Test func aMixerThatHasNothingYetTakesNothingOver() {
        var splicer = Splicer()
        _ = splicer.setTracks(.audio, now: .zero)
        splicer.configure(Self.alice, Self.configuration)
        _ = splicer.setTarget(Self.alice, now: .zero)
        _ = splicer.frame(Self.packet(0, tag: 0), of: Self.alice, now: .zero)
        _ = splicer.setTarget(.mixer(1), now: .zero)
        let more = splicer.frame(Self.packet(1, tag: 0), of: Self.alice, now: .milliseconds(21))
        #expect(splicer.onAir == Self.alice && Self.times(more).count == 1)
    }

    @Test func picturesComeBackWithAnIDRAndTheirHeader() {
        var splicer = Splicer()
        let both = SpliceInput.source("alice/camera")
        _ = splicer.setTracks(.audio, now: .zero)
        splicer.configure(Self.alice, Self.configuration)
        _ = splicer.setTarget(Self.alice, now: .zero)
        _ = splicer.frame(Self.packet(0, tag: 0), of: Self.alice, now: .zero)
        _ = splicer.setTracks(.all, now: .milliseconds(10))
        splicer.configure(both, Self.configuration)
        splicer.configure(both, CodecConfiguration(track: .video, bytes: [1]))
        _ = splicer.setTarget(both, now: .milliseconds(10))
        func picture(_ time: Int, isIDR: Bool) -> EncodedFrame {
            EncodedFrame(
                track: .video, pts: .milliseconds(time), dts: .milliseconds(time), isIDR: isIDR, payload: [2])
        }
        #expect(Self.times(splicer.frame(picture(20, isIDR: false), of: both, now: .milliseconds(20))).isEmpty)
        let actions = splicer.frame(picture(60, isIDR: true), of: both, now: .milliseconds(60))
        #expect(splicer.onAir == both)
        #expect(actions.contains(.configure(CodecConfiguration(track: .video, bytes: [1]))))
        #expect(actions.contains(.emit(picture(60, isIDR: true))))
    }

    @Test func aProgramOfPicturesHasNoSound() {
        var splicer = Splicer()
        let feed = SpliceInput.source("alice/camera#video")
        _ = splicer.setTracks(.video, now: .zero)
        splicer.configure(.mixer(1), Self.configuration)
        splicer.configure(.mixer(1), CodecConfiguration(track: .video, bytes: [1]))
        _ = splicer.setTarget(.mixer(1), now: .zero)
        var actions: [Splicer.Action] = []
        for index in 0..<20 as Range<Int64> {
            let time = MediaTime.milliseconds(index * 40)
            actions += splicer.frame(
                EncodedFrame(track: .video, pts: time, dts: time, isIDR: index == 0, payload: [1]), of: .mixer(1),
                now: time)
            actions += splicer.frame(Self.packet(index, tag: 1), of: .mixer(1), now: time)
        }
        #expect(splicer.onAir == .mixer(1) && splicer.onAir != feed)
        #expect(Self.times(actions).count == 20)
        #expect(!actions.contains(.configure(Self.configuration)))
    }

    // MARK: A format that changes on air

    /// AAC of 44.1 kHz, whose frames are longer.
    private static let other = CodecConfiguration(track: .audio, bytes: [0x12, 0x10])

    @Test func aSpliceSendsNoAudioOfAnEarlierFormat() {
        var splicer = Splicer()
        let bob = SpliceInput.source("bob/camera#audio")
        _ = splicer.setTracks(.audio, now: .zero)
        splicer.configure(Self.alice, Self.configuration)
        splicer.configure(bob, Self.configuration)
        _ = splicer.setTarget(Self.alice, now: .zero)
        for index in 0..<13 as Range<Int64> {
            let now = MediaTime.units(index * 1024, rate: 48_000)
            if index < 10 { _ = splicer.frame(Self.packet(index, tag: 1), of: Self.alice, now: now) }
            if index == 12 { splicer.configure(bob, Self.other) }
            _ = splicer.frame(Self.packet(index, tag: index < 12 ? 2 : 3), of: bob, now: now)
        }
        var actions = splicer.setTarget(bob, now: .milliseconds(260))
        actions += splicer.advance(to: .milliseconds(270))
        let sent = actions.compactMap { if case .emit(let frame) = $0 { frame.payload } else { nil } }
        #expect(sent == [[3]] && splicer.audioConfiguration == Self.other)
    }

    @Test func theGridFollowsTheFramesOfTheNewFormat() {
        var splicer = Splicer()
        _ = splicer.setTracks(.audio, now: .zero)
        splicer.configure(Self.alice, Self.configuration)
        _ = splicer.setTarget(Self.alice, now: .zero)
        _ = splicer.frame(Self.packet(0, tag: 1), of: Self.alice, now: .zero)
        #expect(splicer.audioGrid?.next == .units(1024, rate: 48_000))
        splicer.configure(Self.alice, Self.other)
        let next = Self.packet(1, tag: 1)
        _ = splicer.frame(next, of: Self.alice, now: .milliseconds(21))
        #expect(splicer.audioGrid?.frame == .units(1024, rate: 44_100))
        #expect(splicer.audioGrid?.next == next.pts + .units(1024, rate: 44_100))
    }

    // MARK: What is decided and written

    @Test func theDirectorCountsSoundWhereThereAreNoPictures() {
        let sound = ProgramDirector.SourceFact(isDecodable: true, isSilent: false, hasVideo: false)
        func decide(_ mode: ProgramPlan.Mode, onAir: SpliceInput?, isFailing: Bool = false) -> ProgramDirector.Decision
        {
            let plan = ProgramPlan(
                revision: 1, task: "t", room: "r", sources: [], mode: mode, scene: Scene(canvas: .portrait, panes: []),
                outputs: [], causedAt: 0, cause: "test", tracks: .audio)
            return ProgramDirector().decide(
                plan: plan, age: .seconds(0.5), onAir: onAir,
                sources: ["a/camera#audio": sound, "b/camera#audio": sound],
                isMixerFailing: isFailing)
        }
        let (a, b): (SourceID, SourceID) = ("a/camera#audio", "b/camera#audio")
        #expect(decide(.bypass(a), onAir: nil).aim == .source(a))
        #expect(decide(.bypass(b), onAir: .source(a)).aim == .source(b), "nothing has to bridge")
        #expect(decide(.mix(host: a), onAir: .source(a)).aim == .mixer)
        #expect(decide(.mix(host: a), onAir: .source(b), isFailing: true).aim == .source(a))
        #expect(decide(.bypass(a), onAir: .mixer(1)).aim == .source(a))
    }

    @Test func theFileSaysWhatThereIs() throws {
        #expect(FLVTag.fileHeader(of: .audio)[4] == 0b100 && FLVTag.fileHeader(of: .video)[4] == 0b001)
        #expect(FLVTag.fileHeader[4] == 0b101)
        var program = FLVProgram()
        _ = program.configure(CodecConfiguration(track: .video, bytes: [1]))
        _ = program.configure(Self.configuration)
        _ = program.write(EncodedFrame(track: .video, pts: .zero, dts: .zero, isIDR: true, payload: [1]))
        #expect(program.preamble.map(\.role) == [.metadata, .sequenceHeader(.video), .sequenceHeader(.audio)])
        _ = program.setTracks(.audio)
        #expect(program.currentGOP.isEmpty)
        #expect(program.preamble.map(\.role) == [.metadata, .sequenceHeader(.audio)])
        let text = String(decoding: program.preamble[0].body, as: UTF8.self)
        #expect(text.contains("hasVideo\u{1}\u{0}") && text.contains("hasAudio\u{1}\u{1}"))
        #expect(!text.contains("videocodecid") && text.contains("audiocodecid"))
        #expect(program.write(Self.packet(9, tag: 0)).map(\.role) == [.frame(.audio, isIDR: false)])
    }
}
