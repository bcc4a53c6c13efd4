import LayoutEngine
import MixModel
import Testing
import EncodedMedia

@testable import ProgramMixer

extension RealTime {
    /// A mix that makes only some of its frames, with a rate that changes while it runs.
    @Suite("Mixer that leaves frames out", .timeLimit(.minutes(5)))
    struct MixerDivisionTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        @Test("A mixer that is held back goes on with the next frame, as an IDR, and leaves none out")
        func heldBack() async throws {
            let video = try await TestStreams.video(count: 120)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(700))
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(500))]
            let last: Int64 = 30
            harness.commands = [
                (.milliseconds(500), .scene(MixerHarness.scene(setup, [Self.host], heard: [Self.host]))),
                (.milliseconds(1700), .pictures(until: setup.videoOrigin + .units(2 * last + 1, rate: 40))),
                // Picture 31 was due at 2.25 s: it can become an IDR now only if it has not been made.
                (.milliseconds(3500), .requestIDR(setup.videoOrigin + .units(last + 1, rate: 20))),
                (.milliseconds(3500), .pictures(until: nil)),
            ]
            let record = try await harness.run(start: .milliseconds(500), end: .milliseconds(5500))
            #expect(record.failures.isEmpty)
            let ticks = record.video.frames.map { ($0.pts - setup.videoOrigin).units(rate: 20) }
            #expect(ticks.count > 60 && ticks == Array(0..<Int64(ticks.count)), "\(ticks)")
            let keys = zip(record.video.frames, ticks).filter(\.0.isIDR).map(\.1)
            #expect(keys.contains(last + 1), "\(keys)")
            for (tick, shown) in zip(ticks, try await TestStreams.pictures(record.video)) {
                #expect(TestMark.read(shown.picture.frame, width: 360).map(Int64.init) == tick + 14)
            }
        }

        @Test("Frames left out leave the others on the grid, with their own pictures, and the sound as it is")
        func division() async throws {
            let video = try await TestStreams.video(count: 160)
            let sound = try await TestStreams.audio(count: 380) { Float($0 % 480) / 480 - 0.5 }
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(700))
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [video, sound], joins: .milliseconds(500)),
                PlayedSource(id: Self.guest, tracks: [video.moved(by: .milliseconds(-137))], joins: .milliseconds(500)),
            ]
            // Not a multiple of 3: it is left out unless it is requested.
            let asked: Int64 = 46
            harness.commands = [
                (
                    .milliseconds(500),
                    .scene(MixerHarness.scene(setup, [Self.host, Self.guest], heard: [Self.host]))
                ),
                (.milliseconds(1700), .frameDivisor(3)),
                (.milliseconds(2700), .requestIDR(setup.videoOrigin + .units(asked, rate: 20))),
                (.milliseconds(4200), .frameDivisor(4)), (.milliseconds(5600), .frameDivisor(1)),
            ]
            let record = try await harness.run(start: .milliseconds(500), end: .milliseconds(7200))
            #expect(record.failures.isEmpty)
            let ticks = record.video.frames.map { ($0.pts - setup.videoOrigin).units(rate: 20) }
            for (frame, tick) in zip(record.video.frames, ticks) {
                #expect(frame.pts == setup.videoOrigin + .units(tick, rate: 20), "on the grid")
            }
            let steps = zip(ticks, ticks.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { 1...4 ~= $0 }, "\(ticks)")
            func distances(_ range: ClosedRange<Int64>) -> Set<Int64> {
                Set(zip(ticks, steps).filter { range.contains($0.0) }.map(\.1))
            }
            // At 1.7 s tick 20 is due, at 4.2 s tick 70, at 5.6 s tick 98. A few earlier frames have been made already.
            #expect(distances(0...15) == [1])
            #expect(ticks.filter { 25...40 ~= $0 } == [27, 30, 33, 36, 39])
            #expect(ticks.filter { 45...51 ~= $0 } == [45, 46, 48, 51], "the one that was asked for is made")
            #expect(ticks.filter { 76...92 ~= $0 } == [76, 80, 84, 88, 92])
            #expect(distances(104...118) == [1])
            let keys = zip(record.video.frames, ticks).filter(\.0.isIDR).map(\.1)
            #expect(keys.contains(asked))
            for (key, next) in zip(keys, keys.dropFirst()) { #expect(next - key <= 44, "\(keys)") }
            // Every picture is shown at its own time.
            for (tick, shown) in zip(ticks, try await TestStreams.pictures(record.video)) {
                #expect(TestMark.read(shown.picture.frame, width: 180).map(Int64.init) == tick + 14)
            }
            for (index, frame) in record.audio.frames.enumerated() {
                #expect(frame.pts == setup.audioOrigin + .units(Int64(index) * 1024, rate: 48_000))
            }
            #expect(record.audio.frames.count > 200)
        }

        /// Scenes change at a frame that is rendered.
        @Test("A scene changes while frames are left out")
        func scene() async throws {
            let video = try await TestStreams.video(count: 100)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(700))
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(500)),
                PlayedSource(id: Self.guest, tracks: [video], joins: .milliseconds(500)),
            ]
            harness.commands = [
                (.milliseconds(500), .scene(MixerHarness.scene(setup, [Self.host]))),
                (.milliseconds(501), .frameDivisor(4)),
                (.milliseconds(2000), .scene(MixerHarness.scene(setup, [Self.host, Self.guest]))),
            ]
            let record = try await harness.run(start: .milliseconds(500), end: .milliseconds(4000))
            #expect(record.failures.isEmpty)
            let ticks = record.video.frames.map { ($0.pts - setup.videoOrigin).units(rate: 20) }
            #expect(ticks.count >= 10 && ticks.dropFirst().allSatisfy { $0 % 4 == 0 }, "\(ticks)")
            let both = try await TestStreams.pictures(record.video).map {
                TestMark.read($0.picture.frame, x: 180, width: 180)
            }
            #expect(both.last.flatMap(\.self) != nil, "the guest is seen at last")
        }
    }
}
