import Foundation
import GStreamerKit
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

extension RealTime {
    /// GStreamer objects alive in a mixer's process at its end, according to GStreamer's leak tracer.
    @Suite("Mixer's objects")
    struct MixerLeakTests {
        @Test("A hundred joins and leaves leave no GStreamer object behind", .timeLimit(.minutes(5)))
        func hundredJoins() async throws {
            let result = try #require(
                await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                    MixerLeakTests.traceObjects()
                    try await MixerLeakTests.joinAndLeave(times: 100)
                    GStreamerRuntime.shutDownForLeakCheck()
                })
            Self.expectNothingAlive(result.standardErrorContent)
        }

        @Test("Neither do a hundred scenes with graphics and transitions", .timeLimit(.minutes(5)))
        func hundredScenes() async throws {
            let result = try #require(
                await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
                    MixerLeakTests.traceObjects()
                    try await MixerLeakTests.changeScenes(times: 100)
                    GStreamerRuntime.shutDownForLeakCheck()
                })
            Self.expectNothingAlive(result.standardErrorContent)
        }

        /// Makes GStreamer list the objects that are alive at the end of this process.
        private static func traceObjects() {
            setenv("GST_TRACERS", "leaks", 1)
            setenv("GST_DEBUG", "GST_TRACER:7,leaks:7", 1)
            setenv("GST_DEBUG_NO_COLOR", "1", 1)
        }

        private static func expectNothingAlive(_ log: [UInt8]) {
            let text = String(decoding: log, as: UTF8.self)
            let alive = text.split(separator: "\n").filter { $0.contains("object-alive, type-name=(string)") }
            #expect(text.contains("listed 0 alive objects"), "\(alive)")
        }

        private static func changeScenes(times: Int) async throws {
            let host: SourceID = "alice/camera"
            let video = try await TestStreams.video(TestPicture(width: 160, height: 160), count: 150)
            let setup = MixerHarness.setup(width: 160, height: 160, host: host, videoOrigin: .milliseconds(600))
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: host, tracks: [video], joins: .milliseconds(400))]
            var last = MixerHarness.scene(setup, [host])
            harness.commands = [(.milliseconds(400), .scene(last))]
            for index in 0..<times {
                var scene = MixerHarness.scene(setup, [host, SourceID("guest\(index)/camera")])
                scene.panes[0].label = Label(text: "scene \(index)", size: 8)
                scene.panes[0].opacity = UnitFraction(index % 2 == 0 ? 1 : 0.5)
                scene.panes[1].isLive = false
                scene.panes[1].fallback = index % 5 == 0 ? .image("/nonexistent/\(index).png") : .card
                scene.panes[1].x = index % 3 * 20
                scene.overlays = [
                    Overlay(
                        id: "clock", x: 0, y: 0, width: 80, height: 20,
                        content: .clock(.time, utcOffset: 0, TextStyle(size: 10)))
                ]
                // Longer than the scene, so that every transition is interrupted.
                scene.transition = Transition(duration: index % 4 == 0 ? 0 : 200)
                harness.commands.append(
                    (.milliseconds(800 + index * 50), .sceneChange(scene.difference(from: last))))
                last = scene
            }
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(6200))
            #expect(record.failures.isEmpty, "\(record.failures)")
            #expect(record.notes.allSatisfy { $0.hasPrefix("image-failed: ") }, "\(record.notes)")
            #expect(record.video.frames.count >= 90)
        }

        private static func joinAndLeave(times: Int) async throws {
            let host: SourceID = "alice/camera"
            let video = try await TestStreams.video(TestPicture(width: 160, height: 160), count: 150)
            let sound = try await TestStreams.audio(count: 40) { Float($0 % 100) / 400 }
            let setup = MixerHarness.setup(width: 160, height: 160, host: host, videoOrigin: .milliseconds(600))
            var harness = MixerHarness(setup: setup)
            harness.sources = [PlayedSource(id: host, tracks: [video], joins: .milliseconds(400))]
            let alone = MixerCommand.scene(MixerHarness.scene(setup, [host]))
            harness.commands = [(.milliseconds(400), alone)]
            for index in 0..<times {
                let guest = SourceID("guest\(index)/camera")
                let at = MediaTime.milliseconds(800 + index * 50)
                for track in [video, sound] {
                    let moved = track.moved(by: at - .milliseconds(500))
                    harness.commands.append((at, .configuration(guest, track.configuration)))
                    harness.commands += moved.frames.prefix(6).map { (at, .frame(guest, $0)) }
                }
                let both = MixerCommand.scene(MixerHarness.scene(setup, [host, guest], heard: [guest]))
                harness.commands += [
                    (at, both), (at + .milliseconds(40), alone), (at + .milliseconds(41), .ended(guest)),
                ]
            }
            let record = try await harness.run(start: .milliseconds(400), end: .milliseconds(6000))
            #expect(record.failures.isEmpty, "\(record.failures)")
        }
    }
}
