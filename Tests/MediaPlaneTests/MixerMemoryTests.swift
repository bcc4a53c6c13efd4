import ChildProcesses
import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import ProgramRelay

extension RealTime {
    /// A mixer whose memory has grown to its limit.
    @Suite("A mixer without memory", .timeLimit(.minutes(5)))
    struct MixerMemoryTests {
        private static func scene(_ users: [String]) -> Scene {
            let panes = users.enumerated().map { index, user in
                Pane(
                    source: "\(user)/camera", user: user, x: 360 / users.count / 2 * 2 * index, y: 0,
                    width: 360 / users.count / 2 * 2, height: 640, fit: .stretch)
            }
            return Scene(
                canvas: Canvas(width: 360, height: 640, fps: 20), panes: panes,
                sound: SceneSound(levels: users.map { .init(source: "\($0)/camera") }))
        }

        /// Returns the memory that counts towards the limit, in bytes, proc_pid_status(5).
        private static func counted(_ processID: Int32) throws -> UInt {
            let text = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
            let line = text.split(separator: "\n").first { $0.hasPrefix("VmData:") }
            return try #require(line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { UInt($0) })
                << 10
        }

        @Test("A limit that no mix fits in leaves the host on air")
        func tooLittle() async throws {
            let video = try await TestStreams.video(count: 200).looped(6)
            let rig = try await RelayRig(limits: WorkerLimits(memory: [.mixer: 48]))
            for user in ["alice", "bob"] { rig.publish(user, [video]) }
            let sources = ["alice", "bob"].map { PlannedSource(id: SourceID("\($0)/camera"), url: rig.url($0)) }
            try rig.apply(.bypass(sources[0].id), Self.scene(["alice"]), [sources[0]])
            try await rig.waitFor(.bypass)
            try rig.apply(.mix(host: sources[0].id), Self.scene(["alice", "bob"]), sources)
            try await rig.until { rig.notes.contains { $0.contains("mixer-failed") } }
            try await rig.untilMorePictures(40)
            try await rig.waitFor(.bypass)
            let times = rig.segments.flatMap(\.frames).map(\.pts.inMilliseconds)
            print(rig.notes)
            try await rig.stop()
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { $0 > 0 && $0 < 51.5 }, "\(steps.max() ?? 0) ms")
        }

        @Test("It goes alone and is replaced on the same connection")
        func exhausted() async throws {
            let video = try await TestStreams.video(count: 200).looped(6)
            let rig = try await RelayRig()
            rig.publish("alice", [video, try await TestStreams.audio(count: 470) { _ in 0 }.looped(6)])
            for guest in ["bob", "carol"] { rig.publish(guest, [video]) }
            let sources = ["alice", "bob", "carol"].map {
                PlannedSource(id: SourceID("\($0)/camera"), url: rig.url($0))
            }
            try rig.apply(.bypass(sources[0].id), Self.scene(["alice"]), [sources[0]])
            try await rig.waitFor(.bypass)
            try rig.apply(.mix(host: sources[0].id), Self.scene(["alice", "bob"]), Array(sources[..<2]))
            try await rig.waitFor(.mix)
            try await rig.until { rig.status?.load?.mixer?.pace.made ?? 0 > 20 }
            let first = try #require(rig.status?.load?.mixer?.processID)
            // The final state of a leak: the mixer has used up its allowance. Its successors have the normal limit.
            let limit = ProcessLaunch("prlimit", ["--pid", "\(first)", "--data=\(try Self.counted(first))"])
            try #require(try limit.run(collecting: \.output).exit == .status(0))
            try rig.apply(.mix(host: sources[0].id), Self.scene(["alice", "bob", "carol"]), sources)
            try await rig.until("another mixer is on air") {
                let now = rig.status
                return now?.onAir == .mix
                    && now?.load?.mixer.map { $0.processID != first && $0.pace.made > 20 } ?? false
            }
            print(rig.notes.filter { $0.contains("mixer") })
            try await until { kill(first, 0) != 0 }
            let times = rig.segments.flatMap(\.frames).map(\.pts.inMilliseconds)
            try await rig.stop()
            // One viewer received everything, on one connection.
            let steps = zip(times, times.dropFirst()).map { $1 - $0 }
            print("longest step \(steps.max() ?? 0) ms")
            #expect(steps.allSatisfy { $0 > 0 && $0 < 101.5 }, "\(steps.max() ?? 0) ms")
        }
    }
}
