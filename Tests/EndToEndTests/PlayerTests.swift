import Foundation
import TestSupport
import Testing

@testable import ViewerProbe

/// The player, and the page around it, in Chromium.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct PlayerTests {
    /// Returns the text that the page shows now.
    private static func words(_ page: ManagedProcess) -> String { Browser.watched(by: page)?.words ?? "" }

    private static func expectNoComplaint(_ page: ManagedProcess) {
        let complaints = page.messages(last: 2000).split(separator: "\n").filter {
            $0.contains("Uncaught") || $0.contains("Content Security Policy") || $0.contains("violates")
        }
        #expect(complaints.isEmpty, "\(complaints)")
    }

    /// The tests in `Tests/Player/player-tests.js` pass: reader, timeline, fragments, decisions and texts.
    @Test(.timeLimit(.minutes(4))) func thePartsThatNeedNoBrowserAreRight() async throws {
        let found = try await Browser.runParts(of: "Tests/Player/player-tests.js")
        print("the player's parts: \(found.passed) passed, seed \(found.seed)")
        #expect(found.failed == [] && found.passed >= 15, "seed \(found.seed)")
    }

    /// The tests in `Tests/Player/controls-tests.js` pass: the player's controls without a program.
    @Test(.timeLimit(.minutes(4))) func theControlsNeedNoProgram() async throws {
        let found = try await Browser.runParts(of: "Tests/Player/controls-tests.js")
        #expect(found.failed == [] && found.passed >= 1)
    }

    /// The tests in `Tests/Player/hls-tests.js` pass: the player in a browser without Media Source Extensions.
    @Test(.timeLimit(.minutes(4))) func aBrowserThatPlaysOnlyHLSIsServed() async throws {
        let found = try await Browser.runParts(of: "Tests/Player/hls-tests.js")
        #expect(found.failed == [] && found.passed == 4)
    }

    /// The viewer is told of a page that stalls, of a killed service and of the end of the program, and then sees the
    /// program again.
    @Test(.timeLimit(.minutes(6))) func aViewerComesBackAndIsToldTheEnd() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let page = try await Browser(directory: stage.directory).watch(
                "http://127.0.0.1:\(stage.client.port)/watch/\(stage.room)#figures", pictures: 40)
            try await waitUntil("it is near the newest picture") { (Browser.watched(by: page)?.behind ?? 9) < 1.8 }

            try await waitUntil("it says how many watch") { Browser.watched(by: page)?.viewers == "1 watching" }

            // The pause is long enough for a jump: after a shorter one, the page catches up by playing faster, gaining
            // 0.15 s per second.
            let stopped = [page.identifier] + ProcessTable.descendants(of: page.identifier).map(\.identifier)
            for identifier in stopped { kill(identifier, SIGSTOP) }
            try await Task.sleep(for: .seconds(10))
            for identifier in stopped { kill(identifier, SIGCONT) }
            let before = Browser.watched(by: page)?.shown ?? 0
            try await waitUntil("it has caught up") {
                guard let now = Browser.watched(by: page) else { return false }
                return now.shown > before + 40 && (now.behind ?? 9) < 3 && now.words.hasPrefix("Live")
            }

            let connections = try #require(Browser.watched(by: page)).connections
            try await stage.killService()
            try await waitUntil("it says that the connection is lost") {
                Self.words(page) == "Connection lost. Reconnecting…"
            }
            try await stage.startServiceAgain()
            try await waitUntil("it plays again") {
                guard let now = Browser.watched(by: page) else { return false }
                return now.connections > connections && now.words.hasPrefix("Live")
            }

            try await stage.leave("alice")
            _ = try await stage.client.request("DELETE", "/v1/rooms/\(stage.room)")
            try await waitUntil("it says that the program has ended") {
                Self.words(page).hasPrefix("The program has ended.")
            }
            Self.expectNoComplaint(page)
            await page.stop()
        }
    }

    /// Two lines of HTML embed the player in a page of another site, which receives the participants in the picture.
    @Test(.timeLimit(.minutes(5))) func aStrangerEmbedsThePlayer() async throws {
        struct Told: Decodable {
            var state: String
            var people: [String]
            /// The effects of keys.
            var keys: [String]
        }
        // The page is a file, so its origin cannot be named.
        try await Stage.run(environment: ["MIXORCHESTRATOR_PLAYBACK_CORS": "*"]) { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let sei = #"{"program":{"sei":{"layoutVolume":{"intervalMs":1000,"followIdr":true}}}}"#
            let patched = try await stage.client.request(
                "PATCH", "/v1/tasks/auto-\(stage.room)", json: sei,
                headers: ["Content-Type": "application/merge-patch+json", "If-Match": "*"])
            #expect(patched.status == 200, "\(patched.text)")
            let place = "http://127.0.0.1:\(stage.client.port)"
            let file = stage.directory.appendingPathComponent("site.html")
            let html = """
                <!doctype html>
                <script type="module" src="\(place)/assets/player.js"></script>
                <co-stream-player src="\(place)/live/\(stage.room).flv" controls></co-stream-player>
                <script>
                const player = document.querySelector("co-stream-player");
                let people = [], keys = [];
                player.addEventListener("layout", event => { people = event.detail?.regions.map(region => region.uid) ?? []; });
                setInterval(() => console.log("EMBED " + JSON.stringify({ state: player.state, people, keys })), 500);
                const until = condition => new Promise(resolve => {
                  const timer = setInterval(() => { if (condition()) { clearInterval(timer); resolve(); } }, 50);
                });
                const press = key => player.dispatchEvent(new KeyboardEvent("keydown", { key }));
                (async () => {
                  await until(() => player.figures?.presented > 20 && people.length);
                  press("m"); keys.push("muted " + player.muted);
                  press("ArrowUp"); keys.push("muted " + player.muted);
                  press(" "); keys.push(player.state);
                  press(" "); await until(() => player.state === "playing"); keys.push("playing");
                  const { video } = player, buffer = () => video.buffered, last = () => buffer().length - 1;
                  await until(() => last() >= 0 && video.currentTime - buffer().start(last()) > 11);
                  press("ArrowLeft"); press("ArrowLeft");
                  // The player would have caught up by now.
                  await new Promise(resolve => setTimeout(resolve, 1000));
                  keys.push("behind " + (buffer().end(last()) - video.currentTime > 8));
                })();
                </script>
                """
            try html.write(to: file, atomically: true, encoding: .utf8)
            let page = try Browser(directory: stage.directory).open(file.absoluteString)
            func latest() -> Told? { (Browser.logged("EMBED ", by: page) as [Told]).last }
            try await waitUntil("the page is told who is on air\n\(page.messages())") {
                latest()?.people == ["alice"]
            }
            try await waitUntil("keys have done what they stand for") { latest()?.keys.count == 5 }
            #expect(latest()?.keys == ["muted true", "muted false", "paused", "playing", "behind true"])
            Self.expectNoComplaint(page)
            await page.stop()
        }
    }

    /// The text for a viewer whose link is invalid.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("", "This link is not valid for this program. Ask for a new one."),
            ("expired", "This link has expired. Ask for a new one."),
            ("signed", "The program has not started yet. It plays here automatically when it does."),
        ])
    func aBadLinkIsSaidToBeOne(link: String, sentence: String) async throws {
        let key = "0123456789abcdef"
        try await Stage.run(environment: ["MIXORCHESTRATOR_PLAYBACK_KEY": key]) { stage in
            var query: Substring = ""
            if !link.isEmpty {
                let url = "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv"
                let signing = try ManagedProcess(
                    "sign-url", Workspace.executable("mixorchestrator"),
                    ["sign-url", url, "--key", key, "--ttl", link == "expired" ? "1" : "600"], in: stage.directory)
                try await waitUntil("the URL is signed") { !signing.isRunning }
                query = signing.messages().trimmingCharacters(in: .whitespacesAndNewlines).dropFirst(url.count)
            }
            let page = try Browser(directory: stage.directory).open(
                "http://127.0.0.1:\(stage.client.port)/watch/\(stage.room)\(query)#figures")
            try await waitUntil("the page says it\n\(page.messages())") { Self.words(page) == sentence }
            Self.expectNoComplaint(page)
            await page.stop()
        }
    }
}
