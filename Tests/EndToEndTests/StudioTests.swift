import Foundation
import Testing

@testable import ViewerProbe

/// Two publishers in browsers, and a viewer: no media server, no app server, no event.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct StudioTests {
    /// The scripts by which a page keeps its connection and opens devices pass their tests.
    @Test(.timeLimit(.minutes(4)), arguments: ["publish-tests.js": 17, "devices-tests.js": 12])
    func thePartsThatNeedNoCameraAreRight(file: String, least: Int) async throws {
        let found = try await Browser.runParts(of: "Tests/Player/\(file)")
        print("\(file): \(found.passed) passed")
        #expect(found.failed == [] && found.passed >= least)
    }

    @Test(.timeLimit(.minutes(6))) func twoTabsAreACoStream() async throws {
        let port = HookingMediaServer.anyPort()
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(port)", "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
            "MIXORCHESTRATOR_WEBRTC_WHEP": "on",
        ]
        try await Stage.run(environment: environment) { stage in
            let client = stage.client
            try await stage.makeRoom()
            let place = "http://127.0.0.1:\(client.port)"
            let browser = Browser(directory: stage.directory)
            func publish(_ user: String) throws -> ManagedProcess {
                try browser.open("\(place)/publish/\(stage.room)#user=\(user)&live=1&figures=1")
            }
            let alice = try publish("alice")
            func waitForOnAir(_ kind: String, _ pages: [ManagedProcess], users: Set<String>? = nil) async throws {
                do {
                    try await stage.waitForOnAir(kind, users: users)
                } catch {
                    for page in pages { print("--- \(page.name)\n\(page.messages(last: 40))") }
                    let room = try await client.request("GET", "/v1/rooms/\(stage.room)").text
                    print("--- room\n\(room)")
                    throw error
                }
            }
            try await waitForOnAir("bypass", [alice])
            let watch = try await browser.watch("\(place)/watch/\(stage.room)#figures", pictures: 30)
            func latest() -> Browser.Watched? { Browser.watched(by: watch) }
            #expect(latest()?.size == "1280x720", "\(String(describing: latest()))")
            let bob = try publish("bob")
            try await waitForOnAir("mix", [alice, bob], users: ["alice", "bob"])
            func studio() -> Browser.Published? { Browser.published(by: alice) }
            try await waitUntil("alice sees bob: \(String(describing: studio()))") {
                guard let studio = studio(), studio.others.map(\.user) == ["bob"] else { return false }
                return studio.others[0].pictures > 30 && studio.words == "You are live."
            }
            try await Task.sleep(for: .seconds(2))
            // The page is killed without closing.
            bob.kill9()
            try await waitUntil("bob's browser is gone") { !bob.isRunning }
            try await waitForOnAir("bypass", [alice])
            let onAir = try await stage.waitForOnAir("bypass")
            #expect(onAir.outputs.map(\.reconnects) == [0])
            try await waitUntil("alice no longer sees bob") { studio()?.others.isEmpty ?? false }
            let before = latest()?.shown ?? 0
            try await waitUntil("the viewer is near: \(String(describing: latest()))") {
                guard let now = latest() else { return false }
                return now.shown > before + 20 && now.words.hasPrefix("Live") && (now.behind ?? 9) < 3
            }
            let watched = try #require(latest())
            print("two tabs, and one that watches: \(watched)")
            #expect(watched.connections == 1 && watched.size == "1280x720")
            await alice.stop()
            try await waitUntil("alice has left") { try await client.users(stage.room).isEmpty }
            await watch.stop()
        }
    }

    /// The room belongs to another app. Of two pages with one name, the second takes the stream over, and the first
    /// does not take it back.
    @Test(.timeLimit(.minutes(6))) func pagesAreForEveryAppAndANameIsForOne() async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on", "MIXORCHESTRATOR_WEBRTC_WHEP": "on",
            "MIXORCHESTRATOR_APPS_0_ID": "shop",
        ]
        try await Stage.run(environment: environment) { stage in
            let client = stage.client
            try await stage.makeRoom(query: "?app=shop")
            let place = "http://127.0.0.1:\(client.port)"
            let browser = Browser(directory: stage.directory)
            let publish = "\(place)/publish/\(stage.room)#app=shop&user=alice&live=1&figures=1"
            let first = try await browser.publish(publish)
            #expect(try await client.request("GET", "/v1/rooms/\(stage.room)").status == 404)
            for fragment in ["#figures", "#webrtc&figures", "#user=alice&figures"] {
                let watch = try await browser.watch("\(place)/watch/\(stage.room)?app=shop\(fragment)", pictures: 20)
                await watch.stop()
            }
            let second = try await browser.publish(publish)
            try await Browser.wait(for: "another publisher has taken over this stream key", at: first)
            // The wait is longer than the first page would need to come back.
            try await Task.sleep(for: .seconds(5))
            #expect(Browser.published(by: second)?.words == "You are live.", "\(second.messages(last: 20))")
            for page in [first, second] { await page.stop() }
        }
    }

    /// On a machine without a camera, the microphone is on air nevertheless.
    @Test(.timeLimit(.minutes(5))) func whoHasNoCameraIsHeard() async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
        ]
        try await Stage.run(environment: environment) { stage in
            try await stage.makeRoom()
            let page = try await Browser(directory: stage.directory).publish(
                "http://127.0.0.1:\(stage.client.port)/publish/\(stage.room)#user=alice&live=1&figures=1",
                options: ["--use-fake-device-for-media-stream=device-count=0"])
            var room = ""
            try await waitUntil("her voice is on air: \(room)") {
                room = try await stage.client.request("GET", "/v1/rooms/\(stage.room)").text
                return room.contains(#""onAir""#) && room.contains(#""state":"live""#)
            }
            await page.stop()
        }
    }

    /// On a machine without any device, a screen can be chosen, and the earlier error is no longer shown.
    @Test(.timeLimit(.minutes(4))) func whoHasNoDeviceShowsAScreen() async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
        ]
        try await ControlStage.run(environment: environment) { stage in
            let page = try await BrowserPage.open(
                "http://127.0.0.1:\(stage.client.port)/publish/show#user=alice", in: stage.directory)
            let state = "document.getElementById('state').textContent"
            try await page.wait(for: "\(state).startsWith('Cannot use this device: ')")
            let _: Bool = try await page.evaluate(
                """
                (() => {
                  const canvas = document.createElement("canvas"), choice = document.getElementById("camera");
                  const drawing = canvas.getContext("2d");
                  let time = 0;
                  setInterval(() => { drawing.fillStyle = ++time % 2 ? "red" : "blue"; drawing.fillRect(0, 0, 320, 240); }, 100);
                  Object.assign(canvas, { width: 320, height: 240 });
                  navigator.mediaDevices.getDisplayMedia = async () => window.screenStream = canvas.captureStream(5);
                  choice.value = "screen";
                  choice.dispatchEvent(new Event("change"));
                  return true;
                })()
                """)
            try await page.wait(for: "\(state) === '' && document.getElementById('preview').srcObject")
            try await page.click("Go live")
            try await page.wait(for: "\(state) === 'You are live.' && document.getElementById('user').readOnly")
            // A page that the browser may show again later is no longer live.
            let _: Bool = try await page.evaluate("(dispatchEvent(new Event('pagehide')), true)")
            try await page.wait(
                for: "\(state) === 'You are no longer live.' && !document.getElementById('user').readOnly")
            // The end of the screen share is shown, and the screen can be chosen again.
            let _: Bool = try await page.evaluate(
                "(screenStream.getTracks()[0].dispatchEvent(new Event('ended')), true)")
            try await page.wait(for: "\(state).startsWith('The camera or screen share has stopped')")
            let choice: String = try await page.evaluate("document.getElementById('camera').value")
            #expect(choice == "none")
            try await page.click("Go live")
            try await page.wait(for: "\(state).startsWith('Allow access')")
            // A live page that has nothing left to send stops, and does not reconnect again and again.
            let _: Bool = try await page.evaluate(
                """
                (() => {
                  const ask = window.fetch, choice = document.getElementById("camera");
                  window.requests = [];
                  window.fetch = (url, options) => {
                    if (["POST", "DELETE"].includes(options?.method)) requests.push(options.method);
                    return ask(url, options);
                  };
                  choice.value = "screen";
                  choice.dispatchEvent(new Event("change"));
                  return true;
                })()
                """)
            try await page.wait(for: "document.getElementById('preview').srcObject.getTracks().length === 1")
            try await page.click("Go live")
            try await page.wait(for: "\(state) === 'You are live.'")
            let _: Bool = try await page.evaluate(
                "(screenStream.getTracks()[0].dispatchEvent(new Event('ended')), true)")
            try await page.wait(for: "\(state).includes('has stopped, so you are no longer live')")
            try await page.wait(for: "requests.join() === 'POST,DELETE'")
            let isLive: Bool = try await page.evaluate("document.getElementById('user').readOnly")
            #expect(!isLive)
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// Tokens that only allow publishing: participants see who is on air with them.
    @Test(.timeLimit(.minutes(5))) func whoMayOnlyPublishSeesTheOthers() async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on", "MIXORCHESTRATOR_WEBRTC_WHEP": "on",
            "MIXORCHESTRATOR_APPS_0_ID": "default",
            "MIXORCHESTRATOR_APPS_0_TOKENS_0_TOKEN": "token-of-a-guest-0123456789",
            "MIXORCHESTRATOR_APPS_0_TOKENS_0_SCOPES": "publish", "MIXORCHESTRATOR_OUTPUTS_ALLOW": ControlStage.nowhere,
            "MIXORCHESTRATOR_ROOMS_OUTPUTS": "\(ControlStage.nowhere)/live/{room}",
        ]
        try await ControlStage.run(environment: environment) { stage in
            let browser = Browser(directory: stage.directory)
            let place = "http://127.0.0.1:\(stage.client.port)/publish/show"
            let pages = try ["alice", "bob"].map { user in
                try browser.open("\(place)#user=\(user)&live=1&figures=1&token=token-of-a-guest-0123456789")
            }
            for (page, other) in zip(pages, ["bob", "alice"]) {
                try await waitUntil("\(other) is seen\n\(page.messages())", within: 120) {
                    let last = Browser.published(by: page)
                    return last?.others.map(\.user) == [other] && (last?.others[0].pictures ?? 0) > 10
                }
            }
            for page in pages { await page.stop() }
        }
    }
}
