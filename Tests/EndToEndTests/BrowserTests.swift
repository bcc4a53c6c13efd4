import Foundation
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// What a program leaves, played in a browser: pictures change their size and their parameter sets where it switches.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct BrowserTests {
    @Test(.timeLimit(.minutes(3))) func recordingsAndHLSPlayAcrossSwitches() async throws {
        // The page is a file: of no origin that could be named.
        try await Stage.run(environment: ["MIXORCHESTRATOR_PLAYBACK_CORS": "*"]) { stage in
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, bFrames: 2, gopSeconds: 1))
            try await stage.publish("bob", SyntheticPublisher(id: 2, gopSeconds: 1))
            try await stage.open(host: "alice")
            let room = "/v1/rooms/\(stage.room)"
            #expect(try await stage.client.request("PUT", "\(room)/recording", json: "{}").status == 200)
            let hls = try await stage.client.request(
                "PUT", "\(room)/hls", json: #"{"segmentSeconds":1,"enableVOD":true}"#)
            #expect(hls.status == 200, "\(hls.text)")
            let master = try await stage.client.request("GET", "/live/\(stage.room)/index.m3u8")
            #expect(master.status == 200, "\(master.text)")
            try await Task.sleep(for: .seconds(2))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .seconds(2))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))
            for kind in ["recording", "hls"] {
                #expect(try await stage.client.request("DELETE", "\(room)/\(kind)").status == 204)
            }
            let browser = Browser(directory: stage.directory)

            // Over HTTP a page of another place may not ask this service for recordings: it plays a copy.
            var name = ""
            try await waitUntil("the recording is closed", within: 15) {
                let answer = try await stage.client.request("GET", "\(room)/recordings")
                let list = try JSONSerialization.jsonObject(with: answer.body) as? [String: [[String: Any]]]
                let file = list?["recordings"]?.first
                name = file?["file"] as? String ?? ""
                return file?["state"] as? String == "complete"
            }
            let recording = try await stage.client.request("GET", "\(room)/recordings/\(name)")
            try recording.body.write(to: stage.directory.appendingPathComponent("recording.mp4"))
            try check(try await browser.play("recording.mp4", within: 60), "MP4")

            let top = try #require(master.text.split(separator: "\n").first { !$0.hasPrefix("#") })
            let vod = "/live/\(stage.room)/\(top.replacing("video.m3u8", with: "vod.m3u8"))"
            try await waitUntil("the playlists are closed", within: 15) {
                try await stage.client.request("GET", vod).status == 200
            }
            try check(try await browser.play("http://127.0.0.1:\(stage.client.port)\(vod)", within: 60), "HLS")
        }
    }

    private func check(_ playback: Browser.Playback, _ what: String) throws {
        print("\(what) in Chromium: \(playback)")
        #expect(playback.error == nil)
        // Bypass, mix, bypass.
        #expect(playback.sizes == ["360x640", "720x1280", "360x640"])
        #expect(playback.duration > 6)
        // 20 pictures a second; the last may be shown after the end.
        #expect(Double(playback.decoded) > playback.duration * 20 - 5, "of \(playback.duration) s")
    }
}
