import Foundation
import Testing

@testable import ViewerProbe

/// A program over SRT, as seen by a viewer.
@Suite(.serialized) struct SRTOutputFlowTests {
    /// One SRT connection carries copy, mix and copy, and adds no seam beyond those of RTMP. ffmpeg receives it and
    /// passes its packets on to the probe.
    @Test(.timeLimit(.minutes(5))) func oneConnectionCarriesCopyAndMix() async throws {
        try await Stage.run { stage in
            let port = HookingMediaServer.anyPort()
            let received = stage.media.cdn("received")
            let receiver = try ManagedProcess(
                "receiver", "ffmpeg",
                [
                    "-v", "error", "-nostdin", "-i", "srt://127.0.0.1:\(port)?mode=listener", "-c", "copy", "-f", "flv",
                    received,
                ], in: stage.directory)
            try await stage.publish("alice", SyntheticPublisher(id: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, gopSeconds: 1))
            try await stage.open(host: "alice")
            try await stage.waitForOnAir("bypass")
            // SRT drops packets that are later than its latency, as on a busy machine.
            let answer = try await stage.client.request(
                "PUT", "/v1/rooms/\(stage.room)",
                json: #"{"outputs": [{"id": "srt", "url": "srt://127.0.0.1:\#(port)?latency=1000"}]}"#)
            #expect((200..<300).contains(answer.status), "\(answer.text)")
            let viewer = try await stage.record(received, as: "viewer")
            try await waitUntil("the program is seen") { viewer.progress.timestamp > 2000 }
            try await stage.mixAndReturn("alice", with: "bob")
            // The viewer is behind by this latency.
            let mark = viewer.progress.timestamp
            try await waitUntil("the last switch is seen") { viewer.progress.timestamp > mark + 1000 }
            let report = try await stage.judge(viewer, expectedSwitches: 2)
            #expect(report.isWithinLimits, "\(report.table)")
            #expect(receiver.isRunning, "one connection: \(receiver.messages())")
            await receiver.stop()
        }
    }
}
