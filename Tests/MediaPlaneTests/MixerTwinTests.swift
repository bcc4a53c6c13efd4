import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import ProgramRelay

extension RealTime {
    /// A mix with a second mixer, whose mixer on air fails.
    @Suite("A mixer with a twin", .timeLimit(.minutes(5)))
    struct MixerTwinTests {
        private static let alice: SourceID = "alice/camera"
        private static let bob: SourceID = "bob/camera"

        /// Returns a mix of two with a twin that is ready.
        private static func mix() async throws -> RelayRig {
            // The limit is two minutes, because mixers are started many times.
            let video = try await TestStreams.video(count: 200).looped(12)
            let rig = try await RelayRig()
            rig.publish("alice", [video, try await TestStreams.audio(count: 470) { _ in 0 }.looped(12)])
            rig.publish("bob", [video])
            let sources = [
                PlannedSource(id: alice, url: rig.url("alice")), PlannedSource(id: bob, url: rig.url("bob")),
            ]
            try rig.apply(.bypass(alice), .columns([alice]), [sources[0]], redundancy: .twin)
            try await rig.waitFor(.bypass)
            #expect(rig.status?.load?.twin == nil)
            try rig.apply(.mix(host: alice), .columns([alice, bob]), sources, redundancy: .twin)
            try await rig.waitFor(.mix)
            return rig
        }

        /// Waits until both mixers deliver.
        /// - Returns: Process id of the one on air.
        private static func pair(_ rig: RelayRig, without gone: Int32? = nil) async throws -> Int32 {
            try await rig.until("both mixers deliver") {
                guard let load = rig.status?.load, let mixer = load.mixer, let twin = load.twin else { return false }
                return mixer.pace.made > 20 && twin.pace.made > 10 && mixer.processID != gone && twin.processID != gone
            }
            return try #require(rig.status?.load?.mixer?.processID)
        }

        /// Returns the steps of the pictures' times from picture `first` on, in ms.
        private static func steps(_ rig: RelayRig, from first: Int = 0) -> [Double] {
            let times = rig.segments.flatMap(\.frames).dropFirst(first).map(\.pts.inMilliseconds)
            return zip(times, times.dropFirst()).map { $1 - $0 }
        }

        @Test("Killing the one on air costs at most one picture, each time")
        func killed() async throws {
            let rig = try await Self.mix()
            var gone: Int32?
            for _ in 0..<5 {
                let mixer = try await Self.pair(rig, without: gone)
                let before = rig.pictureCount
                let begin = MonotonicClock.now()
                try #require(kill(mixer, SIGKILL) == 0)
                try await rig.until { rig.pictureCount > before + 1 }
                let wait = (MonotonicClock.now() - begin) / 1_000_000
                try await rig.until { rig.pictureCount > before + 20 }
                let steps = Self.steps(rig, from: max(0, before - 2))
                print("killed: new pictures within \(wait) ms, longest step \(steps.max() ?? 0) ms")
                // At most one picture of 50 ms is missing, once.
                #expect(steps.allSatisfy { $0 > 0 && $0 < 101.5 }, "\(steps)")
                #expect(steps.count { $0 > 51.5 } <= 1, "\(steps)")
                gone = mixer
            }
            let sound = rig.sound.frames.map(\.pts.inMilliseconds)
            let segments = rig.segments
            let notes = rig.notes
            try await rig.stop()
            let steps = zip(sound, sound.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { $0 > 0 && $0 < 1024 / 48 * 1.6 }, "\(steps.max() ?? 0) ms of sound")
            // The bypass, and one mix without another sequence header.
            try #require(segments.count == 2, "\(notes)")
            // The pictures after a hole need none of those before the hole.
            for (before, frame) in zip(segments[1].frames, segments[1].frames.dropFirst()) {
                #expect(frame.isIDR || (frame.pts - before.pts).inMilliseconds < 51.5)
            }
            #expect(notes.contains { $0.contains("Its twin has taken over") }, "\(notes)")
        }

        @Test("One that is stopped gives way to its twin within the bound")
        func stopped() async throws {
            let rig = try await Self.mix()
            let mixer = try await Self.pair(rig)
            let before = rig.pictureCount
            let begin = MonotonicClock.now()
            try #require(kill(mixer, SIGSTOP) == 0)
            // Killed even if the test fails.
            defer { kill(mixer, SIGKILL) }
            // Only frames of the stopped mixer that were in flight arrive.
            try await rig.until { rig.pictureCount > before + 2 }
            let wait = (MonotonicClock.now() - begin) / 1_000_000
            try await rig.until { rig.pictureCount > before + 20 }
            let steps = Self.steps(rig, from: max(0, before - 2))
            print("stopped: pictures again after \(wait) ms, longest step \(steps.max() ?? 0) ms")
            // The limit is 300 ms; without a twin it takes more than a second.
            #expect(wait <= 900, "\(rig.account)")
            #expect(steps.allSatisfy { $0 > 0 && $0 < 101.5 }, "\(steps)")
            #expect(steps.count { $0 > 51.5 } <= 1, "\(steps)")
            // The stopped mixer is replaced as well.
            _ = try await Self.pair(rig, without: mixer)
            try await rig.stop()
        }

        @Test("A twin that fails is replaced, and viewers see nothing of it")
        func twinKilled() async throws {
            let rig = try await Self.mix()
            _ = try await Self.pair(rig)
            let twin = try #require(rig.status?.load?.twin?.processID)
            let before = rig.pictureCount
            try #require(kill(twin, SIGKILL) == 0)
            _ = try await Self.pair(rig, without: twin)
            let steps = Self.steps(rig, from: before)
            let notes = rig.notes
            try await rig.stop()
            #expect(steps.allSatisfy { $0 > 0 && $0 < 51.5 }, "\(steps)")
            #expect(notes.contains { $0.hasPrefix("twin-failed: ") }, "\(notes)")
        }
    }
}
