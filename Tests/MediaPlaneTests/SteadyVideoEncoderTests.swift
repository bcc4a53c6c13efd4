import Foundation
import GStreamerKit
import MixModel
import Synchronization
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramMixer

/// Hardware encoders fail while on air; the program continues.
@Suite("Replacing a failed encoder") struct SteadyVideoEncoderTests {
    /// Returns an encoder's output for `count` pictures, and its last failure.
    private static func run(
        _ kinds: [any VideoEncoderKind.Type], count: Int
    ) async throws -> (reports: [MixerReport], failure: String?) {
        let setup = MixerHarness.setup()
        let reports = Gathered<MixerReport>()
        let colour = CanvasColour(signal: setup.colour, canvas: setup.canvas)
        let format = CanvasComposer.format(of: setup.canvas, colour: colour)
        let encoder = SteadyVideoEncoder(
            kinds: kinds, format: format, setup: setup, colour: colour, tuning: EncoderTuning()
        ) { reports.add($0) }
        let pool = try CanvasPool(format: format, most: CanvasComposer.poolSize)
        let failure = try await Self.onThread { () throws -> String? in
            try encoder.start()
            for tick in 0..<count {
                // Like the tick loop: it waits for a free picture, and checks for failures meanwhile.
                var picture = pool.acquire()
                while picture == nil {
                    if let failure = encoder.failure { return failure }
                    usleep(3000)
                    picture = pool.acquire()
                }
                if let failure = encoder.failure { return failure }
                guard let picture else { break }
                EncoderTake.paint(picture, tick: tick)
                encoder.push(picture, tick: Int64(tick), at: EncoderTake.time(ofTick: tick), isIDR: tick == 10)
                usleep(5000)
            }
            return encoder.failure
        }
        if failure == nil {
            try await until {
                // The tick loop checks at every turn.
                _ = encoder.failure
                return reports.frames.count >= count
            }
        }
        encoder.tearDown()
        return (reports.all, failure)
    }

    /// Runs `body` on a separate thread, which may block.
    private static func onThread(_ body: @escaping @Sendable () throws -> String?) async throws -> String? {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Checks that every picture comes once, in its place, that every configuration is followed by an IDR, and that all
    /// are decodable.
    private static func check(_ reports: [MixerReport], count: Int, encoders: Int) async throws {
        let frames = reports.compactMap { if case .frame(let frame) = $0 { frame } else { nil } }
        #expect(frames.map(\.pts) == (0..<count).map { EncoderTake.time(ofTick: $0) })
        var parts: [TestTrack] = []
        for report in reports {
            switch report {
            case .configuration(let configuration): parts.append(TestTrack(configuration: configuration, frames: []))
            case .frame(let frame): parts[parts.count - 1].frames.append(frame)
            default: break
            }
        }
        #expect(parts.count == encoders)
        for part in parts {
            let first = try #require(part.frames.first)
            #expect(first.isIDR)
            let record = try #require(VideoConfiguration(part.configuration))
            #expect(NumberedSets(record.parameterSets).sequence == 7)
            #expect(NumberedSets(first.payload) == NumberedSets(record.parameterSets))
            #expect(try await TestStreams.pictures(part).map(\.time) == part.frames.map(\.pts))
        }
    }

    @Test(
        "Pictures of an encoder that fails are encoded again",
        arguments: [BreakingEncoder.self, HangingEncoder.self] as [any VideoEncoderKind.Type])
    func fails(kind: any VideoEncoderKind.Type) async throws {
        let (reports, failure) = try await Self.run([kind, X264Encoder.self], count: 60)
        #expect(failure == nil)
        try await Self.check(reports, count: 60, encoders: 2)
        let notes = reports.compactMap { if case .note(let code, _) = $0 { code } else { nil } }
        #expect(notes == ["encoderReplaced"])
    }

    @Test func whatCannotBeStartedIsPassedOver() async throws {
        let (reports, failure) = try await Self.run(
            [AbsentEncoder.self, BrokenEncoder.self, X264Encoder.self], count: 30)
        #expect(failure == nil)
        try await Self.check(reports, count: 30, encoders: 1)
    }

    @Test func theLastEncodersFailureIsTheEnd() async throws {
        let (_, failure) = try await Self.run([BrokenEncoder.self, BreakingEncoder.self], count: 60)
        #expect(failure?.contains("identity") == true || failure?.contains("error") == true, "\(failure ?? "none")")
    }

    @Test("Another program's encoder gets the mix's numbers") func otherEncoder() async throws {
        try GStreamerRuntime.start()
        guard GStreamerRuntime.missingElements([OpenH264Encoder.element]).isEmpty else { return }
        let (reports, failure) = try await Self.run([OpenH264Encoder.self, X264Encoder.self], count: 40)
        #expect(failure == nil)
        try await Self.check(reports, count: 40, encoders: 1)
    }

    @Test(
        "What the probe finds out",
        arguments: [
            (X264Encoder.self, "works"), (AbsentEncoder.self, "missing"), (BrokenEncoder.self, "fails"),
            (WaitingEncoder.self, "holds"), (BreakingEncoder.self, "works"),
        ] as [(any VideoEncoderKind.Type, String)])
    func probe(kind: any VideoEncoderKind.Type, expected: String) async {
        switch await VideoEncoderProbe.finding(of: kind, patience: .seconds(expected == "holds" ? 1 : 30)) {
        case .works: #expect(expected == "works")
        case .missing(let element): #expect(expected == "missing" && element == kind.element)
        case .fails(let reason):
            #expect(expected == "fails" || expected == "holds" && reason.contains("holds pictures back"), "\(reason)")
        }
    }

    @Test func theChoiceDecidesWhatIsTried() {
        let kinds: [any VideoEncoderKind.Type] = [BreakingEncoder.self, HangingEncoder.self, X264Encoder.self]
        func names(
            _ choice: String, codec: VideoCodec = .h264, preset: EncodingSettings.Preset? = nil
        ) -> [String] {
            VideoEncoderKinds.candidates(for: codec, preset: preset, choice: EncoderChoice(choice), among: kinds)
                .map { $0.name }
        }
        #expect(names("software") == ["x264"])
        #expect(names("auto") == ["breaking", "hanging", "x264"])
        #expect(names("hanging") == ["hanging", "x264"])
        #expect(names("unknown") == ["x264"])
        #expect(names("auto", preset: .veryfast) == ["x264"])
        #expect(names("auto", codec: .h265) == ["x265"])
    }

    @Test func namesAreUniqueAndFitTheConfiguration() {
        let names = VideoEncoderKinds.all.map { $0.name }
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.utf8.allSatisfy { 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 } && name.utf8.count <= 32)
            #expect(!["auto", "software"].contains(name))
        }
    }
}

extension RealTime {
    @Suite("A mix whose encoder fails") struct MixerEncoderTests {
        @Test(
            "The mix goes on in software, without a gap",
            arguments: [BreakingEncoder.self, HangingEncoder.self] as [any VideoEncoderKind.Type])
        func fails(kind: any VideoEncoderKind.Type) async throws {
            let setup = MixerHarness.setup()
            var harness = MixerHarness(setup: setup)
            harness.kinds = [kind]
            harness.tuning.encoder = .automatic
            harness.commands = [(.milliseconds(300), .scene(MixerHarness.scene(setup, [])))]
            let record = try await harness.run(start: .milliseconds(300), end: .seconds(4))
            #expect(record.failures.isEmpty, "\(record.failures)")
            #expect(record.notes.count == 1 && record.notes[0].hasPrefix("encoderReplaced"), "\(record.notes)")
            let times = record.video.frames.map(\.pts)
            try #require(times.count > 45)
            #expect(times == times.indices.map { setup.videoOrigin + .units(Int64($0), rate: setup.canvas.fps) })
        }

        @Test func whereNoHardwareWorksSoftwareEncodesAndSaysSo() async throws {
            let setup = MixerHarness.setup()
            var harness = MixerHarness(setup: setup)
            harness.kinds = [AbsentEncoder.self, BrokenEncoder.self]
            harness.tuning.encoder = .automatic
            harness.commands = [(.milliseconds(300), .scene(MixerHarness.scene(setup, [])))]
            let record = try await harness.run(start: .milliseconds(300), end: .seconds(2))
            #expect(record.failures.isEmpty, "\(record.failures)")
            #expect(record.notes.count == 1 && record.notes[0].hasPrefix("encoderUnavailable"), "\(record.notes)")
            #expect(record.video.frames.count > 10)
        }
    }
}
