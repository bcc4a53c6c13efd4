import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import ProgramRelay

/// A relay's treatment of sources that workers pull.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PullRelayTests {
    private static func scene(_ ids: [SourceID]) -> Scene {
        let width = 360 / ids.count
        let panes = ids.enumerated().map { index, id in
            Pane(
                source: id.rawValue, user: id.user.rawValue, x: index * width, y: 0, width: width, height: 640,
                fit: .stretch)
        }
        return Scene(
            canvas: Canvas(width: 360, height: 640, fps: 30), panes: panes,
            sound: SceneSound(levels: ids.map { .init(source: $0.rawValue) }), transition: .cut)
    }

    @Test func testPatternsAreCopiedAndMixed() async throws {
        let rig = try await RelayRig()
        let sources = ["a/camera", "b/camera"].map { (id: SourceID) in
            PlannedSource(id: id, url: "test://localhost/ball?size=360x640")
        }
        try rig.apply(.bypass("a/camera"), Self.scene(["a/camera"]), [sources[0]])
        try await rig.waitFor(.bypass)
        #expect(try await outputEventually { rig.status?.sources.first?.pictureSize == .init(width: 360, height: 640) })
        #expect(rig.status?.sources.first?.transcoded == nil)
        try rig.apply(.mix(host: "a/camera"), Self.scene(["a/camera", "b/camera"]), sources)
        try await rig.waitFor(.mix)
        #expect(try await outputEventually { rig.status?.sources.allSatisfy { $0.state == .live } == true })
        try rig.apply(.bypass("a/camera"), Self.scene(["a/camera"]), [sources[0]])
        try await rig.waitFor(.bypass)
        try await rig.stop()
    }

    /// The relay notices within a second that a server is silent, and has its stream within another second once the
    /// server is back.
    @Test(.enabled(if: PullSender.hasRTSPServer)) func aServerThatGoesAndComesBackIsPulledAgain() async throws {
        let rig = try await RelayRig()
        let port = try PullSender.freePort()
        var server = try PullSender.rtsp(port)
        #expect(try await outputEventually { PullSender.isListening(port) })
        let source = PlannedSource(id: "a/camera", url: "rtsp://127.0.0.1:\(port)/live")
        try rig.apply(.bypass("a/camera"), Self.scene(["a/camera"]), [source])
        try await rig.waitFor(.bypass)
        #expect(try await outputEventually { rig.status?.sources.first?.transcoded == .audio }, "Opus")
        let gone = ContinuousClock.now
        server.stop()
        #expect(try await outputEventually { rig.status?.sources.contains { $0.state != .live } == true })
        let noticed = ContinuousClock.now - gone
        server = try PullSender.rtsp(port)
        #expect(try await outputEventually { PullSender.isListening(port) })
        let up = ContinuousClock.now
        #expect(try await outputEventually { rig.status?.sources.first?.state == .live })
        print("RTSP server gone: noticed after \(noticed), live \(ContinuousClock.now - up) after it listens again")
        // One second is promised; the connection itself would fail only after ten.
        #expect(noticed < .seconds(8))
        server.stop()
        try await rig.stop()
    }
}
