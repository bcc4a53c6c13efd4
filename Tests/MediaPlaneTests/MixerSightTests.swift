import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramMixer

extension RealTime {
    @Suite("Mixer and people whom nobody sees", .timeLimit(.minutes(6)))
    struct MixerSightTests {
        static let host: SourceID = "alice/camera"
        static let guest: SourceID = "bob/camera"

        @Test("Somebody who was unseen for long appears with the picture of the moment, and no frame is lost")
        func returns() async throws {
            let video = try await TestStreams.video(count: 260)
            let setup = MixerHarness.setup(host: Self.host, videoOrigin: .milliseconds(700))
            var harness = MixerHarness(setup: setup)
            harness.sources = [
                PlayedSource(id: Self.host, tracks: [video], joins: .milliseconds(500)),
                PlayedSource(id: Self.guest, tracks: [video.moved(by: .milliseconds(-7))], joins: .milliseconds(500)),
            ]
            let (both, alone) = (
                MixerHarness.scene(setup, [Self.host, Self.guest]), MixerHarness.scene(setup, [Self.host])
            )
            // Unseen from 2 s on, and no longer decoded from the keyframe at 8 s on; visible again in the middle of a
            // group.
            let back = MediaTime.milliseconds(9900)
            harness.commands = [
                (.milliseconds(500), .scene(both)), (.milliseconds(2000), .scene(alone)),
                (back, .sceneChange(both.difference(from: alone))),
            ]
            // Only half of the group: on a busy machine, pictures may seem too slow for a whole one to be held.
            harness.countTimes = [.milliseconds(7000), .milliseconds(8200), .milliseconds(9000)]
            // The held frames have to be decoded in time.
            harness.slow = back..<back + .milliseconds(500)
            let record = try await harness.run(start: .milliseconds(500), end: .milliseconds(12_000))
            #expect(record.failures.isEmpty)
            let counts = record.decoded.map { $0[Self.guest] ?? 0 }
            try #require(counts.count == 3)
            #expect(counts[0] < counts[1], "decoded up to the keyframe")
            #expect(counts[1] == counts[2], "decoded though unseen")
            for (k, frame) in record.video.frames.enumerated() {
                #expect(frame.pts == setup.videoOrigin + .units(Int64(k), rate: 20))
            }
            let pictures = try await TestStreams.pictures(record.video)
            var appeared: Int?
            for (k, decoded) in pictures.enumerated() where k > 100 {
                let frame = decoded.picture.frame
                if TestMark.read(frame, width: 360) == 14 + k {
                    #expect(appeared == nil, "frame \(k)")
                    continue
                }
                #expect(TestMark.read(frame, width: 180) == 14 + k, "frame \(k)")
                #expect(TestMark.read(frame, x: 180, width: 180) == 14 + k, "frame \(k)")
                appeared = appeared ?? k
            }
            let first = record.videoArrivals[try #require(appeared)] - back
            print("unseen person with 38 frames held: in the encoded mix \(first.inMilliseconds) ms after the scene")
            #expect(first < .milliseconds(350))
        }
    }
}
