import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import EncodedMedia

extension RealTime {
    /// A relay with real streams whose pictures are frozen or black, and the process that examines them.
    @Suite("Frozen and black pictures", .timeLimit(.minutes(6)))
    struct PictureQualityTests {
        private static let id: SourceID = "alice/camera"

        private static func scene() -> Scene {
            Scene(
                canvas: Canvas(width: 360, height: 640, fps: 20),
                panes: [
                    Pane(
                        source: id.rawValue, user: "alice", x: 0, y: 0, width: 360, height: 640, fallback: .card,
                        card: Card(name: "Alice", user: "alice"))
                ], sound: SceneSound(levels: [.init(source: id.rawValue)]))
        }

        /// Returns a stream with a keyframe every second.
        ///
        /// - Parameter distinct: Number of different keyframes, which follow one another again and again. With 1, every
        ///   keyframe shows the same picture.
        private static func stream(distinct: Int, luma: UInt8 = 90) async throws -> [TestTrack] {
            [
                try await TestStreams.video(
                    TestPicture(palette: [SIMD3(luma, 128, 128)]), count: 20 * distinct, keyInterval: 20
                ).looped(120 / distinct),
                try await TestStreams.audio(count: 4 * 47) { 0.1 * sin(Float($0) * 0.05) }.looped(30),
            ]
        }

        @Test("A stream whose picture does not change is replaced by its card, or by its backup, which is kept")
        func frozen() async throws {
            let limits = QualityLimits(freezeSeconds: 3, recoverySeconds: 2)
            let rig = try await RelayRig()
            rig.publish("first", try await Self.stream(distinct: 1))
            rig.publish("second", try await Self.stream(distinct: 4))
            try rig.apply(
                .bypass(Self.id), Self.scene(), [PlannedSource(id: Self.id, url: rig.url("first"))], quality: limits)
            try await rig.waitFor(.bypass)
            try await rig.until("the reason") {
                rig.status?.sources.first?.poor == "its picture has not changed for 3 s"
            }
            try await rig.waitFor(.mix)
            try await rig.until("the card") { rig.status?.scene?.panes.first?.isLive == false }
            #expect(rig.notes.contains { $0.hasPrefix("source-poor: alice/camera: its picture") }, "\(rig.notes)")
            // The backup starts with another plan.
            try rig.apply(
                .bypass(Self.id), Self.scene(),
                [PlannedSource(id: Self.id, url: rig.url("first"), backup: rig.url("second"))], quality: limits)
            try await rig.until("the backup") {
                rig.status?.sources.first.map { $0.usesBackup == true && $0.poor == nil } ?? false
            }
            try await rig.waitFor(.bypass)
            // Three times the recovery: the first address is examined, too, and its picture is still the same.
            try await rig.untilMorePictures(120)
            #expect(
                rig.status?.sources.first.map { $0.usesBackup == true && $0.poor == nil } ?? false, "\(rig.account)")
            #expect(!rig.notes.contains { $0.hasPrefix("source-first") }, "\(rig.notes)")
            try await rig.stop()
        }

        @Test("A black stream is poor, and a stream that moves is not")
        func black() async throws {
            let limits = QualityLimits(freezeSeconds: 4, blackSeconds: 3, recoverySeconds: 2)
            let rig = try await RelayRig()
            rig.publish("moving", try await Self.stream(distinct: 4))
            rig.publish("black", try await Self.stream(distinct: 1, luma: 16))
            try rig.apply(
                .bypass(Self.id), Self.scene(), [PlannedSource(id: Self.id, url: rig.url("moving"))], quality: limits)
            try await rig.waitFor(.bypass)
            try await rig.untilMorePictures(160)
            #expect(rig.status?.sources.first?.poor == nil && rig.status?.onAir == .bypass, "\(rig.account)")
            try rig.apply(
                .bypass(Self.id), Self.scene(), [PlannedSource(id: Self.id, url: rig.url("black"))], quality: limits)
            try await rig.until("the reason") {
                rig.status?.sources.first?.poor == "its picture has been black for 3 s"
            }
            try await rig.waitFor(.mix)
            // Without limits, nothing is examined any more.
            try rig.apply(.bypass(Self.id), Self.scene(), [PlannedSource(id: Self.id, url: rig.url("black"))])
            try await rig.waitFor(.bypass)
            #expect(rig.status?.sources.first?.poor == nil)
            try await rig.stop()
        }
    }
}
