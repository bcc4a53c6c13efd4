import TestSupport
import Testing

@testable import EncodedMedia
@testable import LayoutEngine
@testable import ViewerProbe

@Suite(.serialized) struct BypassTests {
    /// The program of one participant is that participant's stream: every byte of H.264 and AAC, and every timestamp
    /// except for one constant.
    @Test(.timeLimit(.minutes(12)), arguments: TestLength.of(short: [2], long: [0, 2]))
    func bypassCopiesEveryByte(bFrames: Int) async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, bFrames: bFrames))
            try await stage.open(host: "alice")
            let direct = try await stage.record(stage.media.live("alice"), as: "direct")
            let viewer = try await stage.watch()
            try await viewer.receive(pictures: 150)
            direct.stop()
            viewer.stop()
            let source = try await direct.recording().trace()
            let program = try await viewer.recording().trace()
            #expect(program.configurations.allSatisfy { source.configurations.contains($0) })
            let first = try #require(program.video.first?.frame, "no video")
            let twin = try #require(source.video.first { $0.frame.payload == first.payload }?.frame, "not the host's")
            let shift = first.pts - twin.pts
            try compare("video", source.video.map(\.frame), program.video.map(\.frame), shift: shift)
            try compare("audio", source.audio.map(\.frame), program.audio.map(\.frame), shift: shift)
        }
    }

    /// - Parameter shift: Distance by which the program's timestamps are later than the host's, at the beginning.
    private func compare(
        _ name: String, _ own: [EncodedFrame], _ copy: [EncodedFrame], shift: MediaTime
    ) throws {
        // The viewer came later and both were stopped at nearly the same time: compare the frames that both have. Test
        // tones repeat, and so do their bytes: of equal frames the nearest in time is the match.
        let first = try #require(copy.first, "no \(name)")
        let start = try #require(
            own.indices.filter { own[$0].payload == first.payload }.min {
                (own[$0].pts + shift - first.pts).magnitude < (own[$1].pts + shift - first.pts).magnitude
            }, "the program's first \(name) is not the host's")
        let common = min(own.count - start, copy.count)
        #expect(common > 100, "\(common) frames of \(name) in common")
        var moved = 0.0
        for (index, (left, right)) in zip(own[start..<start + common], copy[..<common]).enumerated() {
            guard left.payload == right.payload, left.isIDR == right.isIDR else {
                Issue.record("\(name) frame \(index) differs: \(left.payload.count), \(right.payload.count) bytes")
                return
            }
            let difference = abs((right.pts - left.pts - shift).inMilliseconds)
            moved = max(moved, difference)
            // Rounding on either side, and the slow slew (500 ppm) that follows the publisher's clock.
            let passed = (left.pts - own[start].pts).inMilliseconds
            #expect(difference <= 2 + 0.0005 * passed, "\(name) frame \(index): timestamp moved by \(difference) ms")
            let composition = (right.pts - right.dts) - (left.pts - left.dts)
            #expect(abs(composition.inMilliseconds) <= 1, "\(name) frame \(index): pts − dts differs")
        }
        print("\(name): \(common) frames equal, timestamps within \(moved) ms")
    }

    /// The service's own HTTP-FLV is the same program.
    @Test(.timeLimit(.minutes(12))) func httpFLVPlaysTheProgram() async throws {
        // Small, because publishers, a mix and the viewer share two cores.
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640))
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let viewer = try await stage.record(
                "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv", as: "flv")
            try await viewer.receive(pictures: 40)
            try await stage.mixAndReturn("alice", with: "bob")
            try await viewer.receive(pictures: 5)
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
        }
    }
}
