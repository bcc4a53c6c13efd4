import LayoutEngine
import TestSupport
import Testing
import WebRTCSupport

@testable import ViewerProbe

/// Real media over Web Call Server's signalling: a client publishes, a viewer of the program sees it, and another client
/// plays it.
@Suite(.serialized) struct WCSMediaTests {
    @Test(.timeLimit(.minutes(8))) func aClientIsOnAirAndPlayed() async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on", "MIXORCHESTRATOR_WEBRTC_WHEP": "on",
            "MIXORCHESTRATOR_WCS_ENABLED": "true",
        ]
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20), environment: environment) { stage in
            try await stage.client.putRoom(
                stage.room, host: "alice", output: stage.media.cdn(stage.room), layout: stage.layout,
                canvas: stage.canvas)
            let name = "alice#\(stage.room)"
            let alice = try await WCSClient.connect(to: stage.client)
            let others = Offers.chromium.replacing("\n", with: "\r\n").replacing("H264", with: "VP9")
            #expect(try await alice.refusal("vp9", name, publishes: true, offer: others) == "No common codecs")
            let source = SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 800_000)
            let camera = try await WhipPublisher("alice", source, on: stage)
            // Flashphoner's clients send their offers before they know their candidates.
            try await camera.publish(namingCandidates: false) { offer in
                try await alice.begin("publisher", name, publishes: true, offer: offer)
            }
            try await alice.wait(for: "PUBLISHING", of: "publisher")
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.record(
                "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv", as: "flv")
            try await waitUntil("alice is seen: \(viewer.progress)") { viewer.progress.videoTags > 40 }

            // Her stream, and the program of the room.
            let guest = try await WCSClient.connect(to: stage.client)
            #expect(try await guest.refusal("vp9", name, publishes: false, offer: others) == "No common codecs")
            var players: [WebRTCViewer] = []
            for (id, played) in [("stream", name), ("program", stage.room)] {
                let player = try await WebRTCViewer(addresses: [])
                players.append(player)
                let offer = try await player.offer(namingCandidates: false)
                player.peer.accept(try await guest.begin(id, played, publishes: false, offer: offer))
                try await waitUntil("the player is connected: \(player.failure ?? "")") { player.isConnected }
                try await guest.wait(for: "PLAYING", of: id)
                try await waitUntil("\(played) is played") { player.pictures.count > 40 && player.sound.count > 40 }
                #expect(player.sizes.last == [360, 640])
            }

            await alice.unpublish("publisher", name)
            #expect(try await alice.wait(for: "UNPUBLISHED", of: "publisher") == "Stopped by user")
            #expect(try await guest.wait(for: "FAILED", of: "stream") == "Stopped by publisher stop")
            try await waitUntil("alice has left") { try await stage.client.users(stage.room).isEmpty }
            for player in players { await player.stop() }
            await camera.stop()
            await alice.disconnect()
            await guest.disconnect()
            viewer.stop()
            let recording = await viewer.recording()
            let trace = try recording.trace()
            #expect(trace.video.count > 40 && trace.audio.count > 40 && recording.connections == 1)
        }
    }
}
