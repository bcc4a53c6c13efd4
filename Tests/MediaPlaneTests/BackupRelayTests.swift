import Foundation
import LayoutEngine
import MediaFormats
import MixModel
import Testing

@testable import EncodedMedia
@testable import ProgramSplicer

extension RealTime {
    /// A relay with real streams at two addresses.
    @Suite("Backups of sources", .timeLimit(.minutes(6)))
    struct BackupRelayTests {
        private static let id: SourceID = "alice/camera"

        private static func scene() -> Scene {
            let canvas = Canvas(width: 360, height: 640, fps: 20)
            return Scene(
                canvas: canvas,
                panes: [
                    Pane(
                        source: id.rawValue, user: "alice", x: 0, y: 0, width: 360, height: 640, fallback: .card,
                        card: Card(name: "Alice", user: "alice"))
                ], sound: SceneSound(levels: [.init(source: id.rawValue)]))
        }

        /// Returns a stream of four seconds.
        ///
        /// - Parameter rounds: Number of times that the four seconds are repeated.
        private static func stream(rounds: Int, fps: Int = 20, luma: UInt8 = 90) async throws -> [TestTrack] {
            [
                try await TestStreams.video(
                    TestPicture(fps: fps, palette: [SIMD3(luma, 128, 128)]), count: 4 * fps, keyInterval: fps
                ).looped(rounds),
                try await TestStreams.audio(count: 4 * 47) { 0.1 * sin(Float($0) * 0.05) }.looped(rounds),
            ]
        }

        private func waitFor(
            _ what: String, _ rig: RelayRig, sourceLocation: SourceLocation = #_sourceLocation,
            _ isTrue: (RelayRig) -> Bool
        ) async throws {
            try await rig.until(what, sourceLocation: sourceLocation) { isTrue(rig) }
        }

        private func checkTimes(_ rig: RelayRig, longest: Double) {
            let times = rig.segments.flatMap { $0.frames.map(\.dts) }
            let steps = zip(times, times.dropFirst()).map { ($1 - $0).inMilliseconds }
            print("\(times.count) pictures, steps \(steps.min() ?? 0) to \(steps.max() ?? 0) ms, notes \(rig.notes)")
            #expect((steps.min() ?? 0) > 0 && (steps.max() ?? 0) <= longest, "\(rig.account)")
        }

        @Test("A stream that ends is taken from its backup, and from its first address once that is back")
        func endAndReturn() async throws {
            let rig = try await RelayRig()
            rig.publish("first", try await Self.stream(rounds: 1))
            rig.publish("second", try await Self.stream(rounds: 30, luma: 160))
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [PlannedSource(id: Self.id, url: rig.url("first"), backup: rig.url("second"))],
                quality: QualityLimits(recoverySeconds: 2))
            try await rig.waitFor(.bypass)
            try await waitFor("the backup", rig) { $0.status?.sources.first?.usesBackup ?? false }
            try await waitFor("the note", rig) { $0.notes.contains { $0.hasPrefix("source-backup: alice/camera: ") } }
            try await rig.waitFor(.bypass)
            rig.publish("first", try await Self.stream(rounds: 30))
            try await waitFor("the return", rig) { $0.status.map { $0.sources.first?.usesBackup == nil } ?? false }
            try await waitFor("the note", rig) {
                $0.notes.contains { $0.hasSuffix("its first address is good again and is pulled") }
            }
            try await rig.untilMorePictures(40)
            try await waitFor("its stream", rig) {
                $0.status.map { $0.onAir == .bypass && $0.sources.first?.state == .live } ?? false
            }
            checkTimes(rig, longest: 105)
            try await rig.stop()
        }

        @Test("An address where nobody listens gives way to the backup")
        func unreachable() async throws {
            let rig = try await RelayRig()
            rig.publish("second", try await Self.stream(rounds: 15))
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [PlannedSource(id: Self.id, url: "http://127.0.0.1:9/none", backup: rig.url("second"))])
            try await rig.waitFor(.bypass)
            try await waitFor("the backup", rig) { $0.status?.sources.first?.usesBackup == true }
            try await rig.untilMorePictures(60)
            checkTimes(rig, longest: 105)
            #expect(rig.notes.count { $0.hasPrefix("source-backup") } == 1, "\(rig.notes)")
            try await rig.stop()
        }

        @Test("A first address that exceeds its bounds is tried again after 10 s, beside its backup as well")
        func excessive() async throws {
            let rig = try await RelayRig()
            // Each is a change. The last one keeps the connection open for a second.
            let tags = (0...40).map { number in
                FLVTag(
                    CodecConfiguration(track: .audio, bytes: number % 2 == 0 ? [0x11, 0x90] : [0x12, 0x10]),
                    at: number < 40 ? .zero : .seconds(1), origin: .zero)
            }
            rig.publish("first", tags: tags)
            rig.publish("second", try await Self.stream(rounds: 15))
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [PlannedSource(id: Self.id, url: rig.url("first"), backup: rig.url("second"))])
            try await waitFor("the backup", rig) { $0.status?.sources.first?.usesBackup == true }
            try await rig.untilMorePictures(80)
            #expect(rig.connections(of: "first") == 1, "\(rig.account)")
            try await waitFor("the next attempt", rig) { $0.connections(of: "first") == 2 }
            try await rig.untilMorePictures(80)
            #expect(rig.connections(of: "first") == 2, "\(rig.account)")
            try await rig.stop()
        }

        @Test("A first address that delivers nothing is not blamed for crashes while its backup is in use")
        func mute() async throws {
            let rig = try await RelayRig()
            let server = try RTMPOddServer()
            defer { server.stop() }
            rig.publish("second", try await Self.stream(rounds: 15))
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [
                    PlannedSource(
                        id: Self.id, url: "rtmp://127.0.0.1:\(server.port)/live/x", backup: rig.url("second"))
                ])
            try await waitFor("its record", rig) { $0.pullRecord[Self.id.rawValue]?.isOnProbation == true }
            try await waitFor("the backup", rig) { $0.status?.sources.first?.usesBackup == true }
            let before = server.accepted
            try await waitFor("an attempt", rig) { _ in server.accepted > before }
            try await rig.untilMorePictures(20)
            #expect(rig.pullRecord[Self.id.rawValue] == nil, "\(rig.pullRecord)")
            try await rig.stop()
        }

        @Test("A backup that ends while the first address is quarantined is pulled again, without a note of a change")
        func endInQuarantine() async throws {
            let rig = try await RelayRig(blamed: Self.id)
            rig.publish("first", try await Self.stream(rounds: 15))
            rig.publish("second", try await Self.stream(rounds: 1))
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [PlannedSource(id: Self.id, url: rig.url("first"), backup: rig.url("second"))])
            try await waitFor("the backup", rig) { $0.status?.sources.first?.usesBackup == true }
            try await waitFor("the backup again", rig) { $0.connections(of: "second") == 2 }
            #expect(rig.connections(of: "first") == 0)
            #expect(rig.notes.count { $0.hasPrefix("source-backup: ") } == 1, "\(rig.notes)")
            #expect(!rig.notes.contains { $0.hasPrefix("source-first: ") }, "\(rig.notes)")
            #expect(rig.status?.sources.first?.usesBackup == true)
            try await rig.stop()
        }

        @Test("A stream that begins with its backup keeps it for the recovery of the plan")
        func recoveryOfThePlan() async throws {
            let rig = try await RelayRig(blamed: Self.id)
            rig.publish("first", try await Self.stream(rounds: 15))
            rig.publish("second", try await Self.stream(rounds: 15))
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [PlannedSource(id: Self.id, url: rig.url("first"), backup: rig.url("second"))],
                quality: QualityLimits(recoverySeconds: 20))
            try await waitFor("the backup", rig) { $0.status?.sources.first?.usesBackup == true }
            try await waitFor("the end of the quarantine", rig) { $0.connections(of: "first") == 1 }
            try await waitFor("its record", rig) { $0.pullRecord[Self.id.rawValue]?.isOnProbation == true }
            // Two seconds more than the usual recovery, and at most the time between two keyframes.
            try await rig.untilMorePictures(140)
            #expect(rig.status?.sources.first?.usesBackup == true, "\(rig.account)")
            #expect(!rig.notes.contains { $0.hasPrefix("source-first: ") }, "\(rig.notes)")
            try await rig.stop()
        }

        @Test("A poor stream is replaced by its backup, and without one by its card")
        func poor() async throws {
            let limits = QualityLimits(minFrameRate: 10, windowSeconds: 1, recoverySeconds: 2)
            let rig = try await RelayRig()
            rig.publish("first", try await Self.stream(rounds: 20, fps: 5))
            rig.publish("second", try await Self.stream(rounds: 20))
            try rig.apply(
                .bypass(Self.id), Self.scene(), [PlannedSource(id: Self.id, url: rig.url("first"))], quality: limits)
            try await rig.waitFor(.mix)
            try await waitFor("the reason", rig) {
                $0.status?.sources.first?.poor?.contains("pictures per second, fewer than the 10") ?? false
            }
            try await waitFor("the card", rig) { $0.status?.scene?.panes.first?.isLive == false }
            try await waitFor("the note", rig) { $0.notes.contains { $0.hasPrefix("source-poor: alice/camera: ") } }
            // The backup starts with another plan.
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [PlannedSource(id: Self.id, url: rig.url("first"), backup: rig.url("second"))], quality: limits)
            try await rig.waitFor(.bypass)
            try await waitFor("the backup", rig) {
                $0.status?.sources.first.map { $0.usesBackup == true && $0.poor == nil } ?? false
            }
            try await rig.untilMorePictures(20)
            // The longest interval is at most that of the poor stream plus one picture of the canvas.
            checkTimes(rig, longest: 255)
            try await rig.stop()
        }
    }
}

extension RelayRig {
    /// The pulls that the relay has recorded for its successor.
    fileprivate var pullRecord: [String: SourceQuarantine.Record] {
        let file = URL(filePath: socketPath).deletingLastPathComponent().appending(path: "relay.pulls")
        return (try? JSONDecoder().decode([String: SourceQuarantine.Record].self, from: Data(contentsOf: file))) ?? [:]
    }
}
