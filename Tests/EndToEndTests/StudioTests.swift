import Foundation
import Testing

@testable import ViewerProbe

/// Two people in browsers, and a third who watches: no media server, no app server, no event.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct StudioTests {
    /// What the publish page says about the others.
    private struct Studio: Decodable {
        struct Other: Decodable {
            var user: String
            var pictures: Int
        }
        var others: [Other]
        var words: String
    }

    @Test(.timeLimit(.minutes(3))) func twoTabsAreACoStream() async throws {
        let port = HookingMediaServer.anyPort()
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)", "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
            "MIXORCHESTRATOR_WEBRTC_WHEP": "on", "MIXORCHESTRATOR_WEBRTC_SILENCE": "2",
        ]
        try await Stage.run(environment: environment) { stage in
            let client = stage.client
            let settings = #"{"outputs": [{"id": "cdn", "url": "\#(stage.media.cdn(stage.room))"}]}"#
            #expect(try await client.request("PUT", "/v1/rooms/\(stage.room)", json: settings).status < 300)
            let place = "http://127.0.0.1:\(client.port)"
            let browser = Browser(directory: stage.directory)
            func publish(_ user: String) throws -> ManagedProcess {
                try browser.open("\(place)/publish/\(stage.room)#user=\(user)&live=1&figures=1")
            }
            let alice = try publish("alice")
            try await stage.waitForOnAir("bypass", within: 30)
            let watch = try browser.open("\(place)/watch/\(stage.room)#figures")
            func latest() -> BrowserTests.Watched? {
                (Browser.logged("WATCH ", by: watch) as [BrowserTests.Watched]).last
            }
            try await waitUntil("the watch page plays", within: 30) { (latest()?.shown ?? 0) > 30 }
            #expect(latest()?.size == "1280x720", "\(String(describing: latest()))")
            let bob = try publish("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"], within: 30)
            func studio() -> Studio? { (Browser.logged("PUBLISH ", by: alice) as [Studio]).last }
            try await waitUntil("alice sees bob: \(String(describing: studio()))", within: 20) {
                (studio()?.others.first { $0.user == "bob" }?.pictures ?? 0) > 30
            }
            #expect(studio()?.others.count == 1 && studio()?.words == "You are live.")
            try await Task.sleep(for: .seconds(4))
            // Killed without a word.
            bob.kill9()
            try await waitUntil("bob's browser is gone", within: 5) { !bob.isRunning }
            let onAir = try await stage.waitForOnAir("bypass", within: 20)
            #expect(onAir.outputs.map(\.reconnects) == [0])
            try await waitUntil("alice no longer sees bob", within: 10) { studio()?.others.isEmpty ?? false }
            try await Task.sleep(for: .seconds(3))
            let watched = try #require(latest())
            print("two tabs, and one that watches: \(watched)")
            #expect(watched.connections == 1 && watched.words.hasPrefix("Live") && watched.size == "1280x720")
            #expect((watched.behind ?? 9) < 3)
            await alice.stop(within: 5)
            try await waitUntil("alice has left", within: 15) { try await client.users(stage.room).isEmpty }
            await watch.stop()
        }
    }
}
