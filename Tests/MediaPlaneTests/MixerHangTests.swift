import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import ProgramRelay
@testable import RTMP

extension RealTime {
    /// A mixer that runs but does nothing.
    @Suite("A hung mixer", .timeLimit(.minutes(5)))
    struct MixerHangTests {
        private static let alice: SourceID = "alice/camera"
        private static let bob: SourceID = "bob/camera"

        /// Brings a mix of two sources on air.
        ///
        /// - Returns: The rig, and the mixer's process.
        private static func mix() async throws -> (RelayRig, mixer: Int32) {
            let video = try await TestStreams.video(count: 200).looped(6)
            let rig = try await RelayRig()
            rig.publish("alice", [video, try await TestStreams.audio(count: 470) { _ in 0 }.looped(6)])
            rig.publish("bob", [video])
            let sources = [
                PlannedSource(id: alice, url: rig.url("alice")), PlannedSource(id: bob, url: rig.url("bob")),
            ]
            try rig.apply(.bypass(alice), .columns([alice]), [sources[0]])
            try await rig.waitFor(.bypass)
            try rig.apply(.mix(host: alice), .columns([alice, bob]), sources)
            try await rig.waitFor(.mix)
            try await rig.until { rig.status?.load?.mixer?.pace.made ?? 0 > 20 }
            return (rig, try #require(rig.status?.load?.mixer?.processID))
        }

        @Test("One that is stopped is replaced on the same connection")
        func stopped() async throws {
            let (rig, hung) = try await Self.mix()
            let before = rig.pictureCount
            let start = MonotonicClock.now()
            try #require(kill(hung, SIGSTOP) == 0)
            // Killed even if the test fails.
            defer { kill(hung, SIGKILL) }
            try await rig.until { rig.notes.contains { $0.contains("delivers no picture") } }
            // Only frames of the hung mixer that were in flight arrive.
            try await rig.until { rig.pictureCount > before + 10 }
            print("pictures again after \((MonotonicClock.now() - start) / 1_000_000) ms")
            try await rig.until("another mixer is on air") {
                let now = rig.status
                return now?.onAir == .mix && now?.load?.mixer.map { $0.processID != hung && $0.pace.made > 20 } ?? false
            }
            let times = rig.segments.flatMap(\.frames).map(\.pts.inMilliseconds)
            try await rig.stop()
            // The next mixer begins where the hung one ended, and makes the missing pictures.
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { $0 > 0 && $0 < 101.5 }, "\(steps.max() ?? 0) ms")
        }

        /// The machine is suspended: relay, mixer and publishers stand still together, longer than a mixer may be silent.
        @Test("One that stood still with its relay is kept")
        func suspended() async throws {
            let (rig, mixer) = try await Self.mix()
            let before = try #require(rig.status?.load?.mixer?.pace.made)
            try #require(kill(mixer, SIGSTOP) == 0)
            SocketLoop.shared.perform {
                usleep(1_500_000)
                kill(mixer, SIGCONT)
            }
            try await rig.until { rig.status?.load?.mixer?.pace.made ?? 0 > before + 60 }
            #expect(rig.status?.load?.mixer?.processID == mixer && rig.status?.onAir == .mix)
            #expect(!rig.notes.contains { $0.contains("delivers no picture") }, "\(rig.notes)")
            try await rig.stop()
        }
    }
}
