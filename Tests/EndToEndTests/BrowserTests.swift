import EncodedMedia
import Foundation
import TestSupport
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// The output of a program, played in a browser: pictures change size and parameter sets at switches.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct BrowserTests {
    // Smaller than the canvas, since this participant is never shown alone and the browser decodes without hardware
    // acceleration.
    private static let bob = SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1)

    @Test(.timeLimit(.minutes(15))) func recordingsAndHLSPlayAcrossSwitches() async throws {
        // The page is a file, so its origin cannot be named.
        try await Stage.run(environment: ["MIXORCHESTRATOR_PLAYBACK_CORS": "*"]) { stage in
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, bFrames: 2, gopSeconds: 1))
            try await stage.publish("bob", Self.bob)
            try await stage.open(host: "alice")
            let room = "/v1/rooms/\(stage.room)"
            #expect(try await stage.client.request("PUT", "\(room)/recording", json: "{}").status == 200)
            let hls = try await stage.client.request(
                "PUT", "\(room)/hls", json: #"{"segmentSeconds":1,"enableVOD":true}"#)
            #expect(hls.status == 200, "\(hls.text)")
            // Segments and files that begin late would contain no pictures of alice alone.
            var master = ""
            try await waitUntil("HLS has begun: \(master)") {
                let answer = try await stage.client.request("GET", "/live/\(stage.room)/index.m3u8")
                master = answer.text
                return answer.status == 200
            }
            var state = ""
            try await waitUntil("a file is written: \(state)") {
                let answer = try await stage.client.request("GET", "\(room)/recording")
                state = answer.text
                let shown = try JSONSerialization.jsonObject(with: answer.body) as? [String: Any]
                return shown?["running"] as? Bool == true
                    && (shown?["streams"] as? [[String: Any]])?.first?["state"] as? String == "recording"
            }
            try await Task.sleep(for: .seconds(2))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .seconds(2))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            // The players need the machine.
            await stage.stopPublishing("bob")
            try await Task.sleep(for: .seconds(2))
            for kind in ["recording", "hls"] {
                #expect(try await stage.client.request("DELETE", "\(room)/\(kind)").status == 204)
            }
            let browser = Browser(directory: stage.directory)

            // Over HTTP, a page of another origin may not request recordings from this service, so the browser plays a
            // copy.
            var name = ""
            try await waitUntil("the recording is closed") {
                let answer = try await stage.client.request("GET", "\(room)/recordings")
                let list = try JSONSerialization.jsonObject(with: answer.body) as? [String: [[String: Any]]]
                let file = list?["recordings"]?.first
                name = file?["file"] as? String ?? ""
                return file?["state"] as? String == "complete"
            }
            let recording = try await stage.client.request("GET", "\(room)/recordings/\(name)")
            try recording.body.write(to: stage.directory.appendingPathComponent("recording.mp4"))
            try check(try await browser.play("recording.mp4", within: patience), "MP4")

            let top = try #require(master.split(separator: "\n").first { !$0.hasPrefix("#") })
            let vod = "/live/\(stage.room)/\(top.replacing("video.m3u8", with: "vod.m3u8"))"
            try await waitUntil("the playlists are closed") {
                try await stage.client.request("GET", vod).status == 200
            }
            let address = "http://127.0.0.1:\(stage.client.port)\(vod)"
            try check(try await browser.play(address, within: patience), "HLS")
        }
    }

    /// The page for viewers keeps one connection and never pauses while the program switches 4 times, or 20.
    @Test(.timeLimit(.minutes(20))) func theWatchPagePlaysAcrossSwitches() async throws {
        try await Stage.run { stage in
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, bFrames: 2, gopSeconds: 1))
            try await stage.publish("bob", Self.bob)
            try await stage.open(host: "alice")
            let page = try await Browser(directory: stage.directory).watch(
                "http://127.0.0.1:\(stage.client.port)/watch/\(stage.room)#figures", pictures: 40)
            func latest() -> Browser.Watched? { Browser.watched(by: page) }
            // Programs carry no SEI messages by default; the feed states the layout.
            try await waitUntil("the page names alice: \(String(describing: latest()))") {
                latest()?.names == ["alice"] && latest()?.people == "On air: alice"
            }
            let began = MonotonicClock.now()
            let first = try #require(latest())
            var pauses: [String: [Int]] = [:]
            /// Counts the player's pauses from now to three seconds after the switch.
            func count(_ kind: String, _ change: () async throws -> Void) async throws {
                let before = latest().map { $0.slow + $0.waits } ?? 0
                try await change()
                try await stage.waitForOnAir(kind)
                try await Task.sleep(for: .seconds(3))
                pauses[kind, default: []].append((latest().map { $0.slow + $0.waits } ?? 0) - before)
            }
            for _ in 0..<TestLength.of(short: 2, long: 10) {
                try await count("mix") { try await stage.join("bob") }
                try await waitUntil("the page names both: \(String(describing: latest()))") {
                    Set(latest()?.names ?? []) == ["alice", "bob"]
                }
                try await count("bypass") { try await stage.leave("bob") }
            }
            try await waitUntil("the page names alice: \(String(describing: latest()))") {
                latest()?.names == ["alice"]
            }
            try await waitUntil("it is near: \(String(describing: latest()))") {
                guard let now = latest() else { return false }
                return now.words.hasPrefix("Live") && now.size == "360x640" && (now.behind ?? 9) < 3
            }
            let watched = try #require(latest())
            print("the watch page: \(watched)")
            #expect(!page.messages(last: 2000).contains("Uncaught"), "\(page.messages())")
            await page.stop()
            #expect(watched.connections == 1)
            // A browser that draws without a graphics card drops pictures on a busy machine.
            #expect(watched.shown > 100 && watched.dropped * 2 < watched.shown, "\(watched)")
            // A browser on a busy machine stalls now and then, but not at every join or leave.
            for (kind, found) in pauses { #expect(found.sorted()[(found.count - 1) / 2] == 0, "\(kind): \(found)") }
            // No single pause is long; the pauses at switches are counted above.
            #expect(watched.longest < 4000, "\(watched)")
            // While the machine does not stand still, nor does the picture.
            let standstills = MachineWatch.shared.standstills(in: began...MonotonicClock.now())
            print(standstills.joined(separator: "\n"))
            if standstills.isEmpty {
                #expect(watched.waits == first.waits && watched.slow <= first.slow + 1, "\(first) \(watched)")
                #expect(watched.longest <= max(first.longest, 500), "\(first) \(watched)")
            }
        }
    }

    /// A browser shows the pictures of a bypass, of a mix, and of a bypass again, over WebRTC.
    @Test(.timeLimit(.minutes(12))) func theWatchPagePlaysOverWebRTC() async throws {
        try await Stage.run(environment: ["MIXORCHESTRATOR_WEBRTC_WHEP": "on"]) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 4))
            try await stage.publish("bob", Self.bob)
            try await stage.open(host: "alice")
            let page = try await Browser(directory: stage.directory).watch(
                "http://127.0.0.1:\(stage.client.port)/watch/\(stage.room)#webrtc&figures", pictures: 40)
            func latest() -> Browser.Watched? { Browser.watched(by: page) }
            #expect(latest()?.size == "360x640", "\(String(describing: latest()))")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await waitUntil("the mix is shown: \(String(describing: latest()))") { latest()?.size == "720x1280" }
            try await Task.sleep(for: .seconds(3))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await waitUntil("the bypass is shown: \(String(describing: latest()))") { latest()?.size == "360x640" }
            try await Task.sleep(for: .seconds(3))
            let watched = try #require(latest())
            print("the watch page over WebRTC: \(watched)")
            try await waitUntil("there is one viewer") {
                try await stage.client.viewers(stage.room) == 1
            }
            await page.stop()
            try await waitUntil("the viewer has left") {
                try await stage.client.viewers(stage.room) == 0
            }
            #expect(watched.connections == 1 && watched.words.hasPrefix("Live"), "\(watched)")
            // A browser without a screen drops some pictures that arrive between two of its own frames.
            #expect(watched.shown > 60 && watched.dropped * 2 < watched.shown, "\(watched)")
            // The longest pause is 67 to 100 ms on an idle machine, and 2000 ms on average for a viewer that waits for
            // a keyframe.
            #expect(watched.longest < 1500, "\(watched)")
        }
    }

    private func check(_ playback: Browser.Playback, _ what: String) throws {
        print("\(what) in Chromium: \(playback)")
        #expect(playback.error == nil)
        // Bypass, mix, bypass.
        #expect(playback.sizes == ["360x640", "720x1280", "360x640"])
        #expect(playback.duration > 6)
        // The program has 20 pictures a second; the last ones may be shown after the end.
        #expect(Double(playback.decoded) > playback.duration * 20 - 5, "of \(playback.duration) s")
    }
}
