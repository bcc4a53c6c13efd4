import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

extension RealTime {
    @Suite("Mixer's life", .timeLimit(.minutes(6)))
    struct MixerLifecycleTests {
        static let host: SourceID = "alice/camera"

        private func count(_ directory: String) throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(directory)").count
        }

        /// Waits until the numbers of threads and descriptors are within the limits, 30 s at most.
        private func settled(threads: Int, descriptors: Int) async throws -> Bool {
            for _ in 0..<600 {
                if try count("task") <= threads, try count("fd") <= descriptors { return true }
                try await Task.sleep(for: .milliseconds(50))
            }
            return false
        }

        @Test("A hundred joins and leaves cost the host no frame and leave no thread or descriptor behind")
        func hundredJoins() async throws {
            let video = try await TestStreams.video(TestPicture(width: 160, height: 160), count: 300)
            let sound = try await TestStreams.audio(count: 40) { Float($0 % 100) / 400 }
            let setup = MixerHarness.setup(width: 160, height: 160, host: Self.host, videoOrigin: .milliseconds(600))
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(400))]
            let alone = MixerCommand.scene(MixerHarness.scene(setup, [Self.host]))
            harness.commands = [(.milliseconds(400), alone)]
            for index in 0..<100 {
                let guest = SourceID("guest\(index)/camera")
                let at = MediaTime.milliseconds(1000 + index * 100)
                let both = MixerHarness.scene(setup, [Self.host, guest], heard: [guest])
                harness.commands += [
                    (at, .configuration(guest, video.configuration)), (at, .configuration(guest, sound.configuration)),
                ]
                for track in [video, sound] {
                    let moved = track.moved(by: at - .milliseconds(500))
                    harness.commands += moved.frames.prefix(10).map { (at, .frame(guest, $0)) }
                }
                harness.commands += [
                    (at + .milliseconds(1), .scene(both)), (at + .milliseconds(80), alone),
                    (at + .milliseconds(81), .ended(guest)),
                ]
            }
            // Other tests come and go meanwhile. A resource leaked per join would add up to a hundred, and permanent
            // ones (thread pools) exist after the first run.
            var short = harness
            short.commands = short.commands.filter { $0.0 < .milliseconds(1900) }
            _ = try await short.run(start: .milliseconds(400), end: .milliseconds(2000))
            try await Task.sleep(for: .milliseconds(300))
            let (threads, descriptors) = (try count("task"), try count("fd"))

            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(11_800))
            #expect(record.failures.isEmpty)
            let frames = record.video.frames
            #expect(frames.count > 200)
            for (k, frame) in frames.enumerated() {
                #expect(frame.pts == setup.videoOrigin + .units(Int64(k), rate: 20))
            }
            var wrong = 0
            for (k, decoded) in try await TestStreams.pictures(record.video).enumerated() {
                let frame = decoded.picture.frame
                if ![80, 160].contains(where: { TestMark.read(frame, width: $0) == 12 + k }) { wrong += 1 }
            }
            #expect(wrong == 0)
            let isSettled = try await settled(threads: threads + 30, descriptors: descriptors + 30)
            let after = (try count("task"), try count("fd"))
            print("threads \(threads) → \(after.0), descriptors \(descriptors) → \(after.1)")
            #expect(isSettled, "threads \(threads) → \(after.0), descriptors \(descriptors) → \(after.1)")
        }

        @Test("Stopping works at any moment, also before anything arrived")
        func stops() async throws {
            for pause in [0, 1, 20, 150] {
                let reports = Gathered<MixerReport>()
                let mixer = Mixer { reports.add($0) }
                var setup = MixerHarness.setup(width: 160, height: 160)
                setup.programStart = MonotonicClock.now() - 600_000_000
                mixer.handle(.start(setup))
                mixer.handle(.scene(Scene(canvas: setup.canvas, panes: [])))
                try await Task.sleep(for: .milliseconds(pause))
                await mixer.stop()
                await mixer.stop()
                let count = reports.all.count
                mixer.handle(.requestIDR(.zero))
                try await Task.sleep(for: .milliseconds(60))
                #expect(reports.all.count == count)
            }
        }
    }
}
