import Foundation
import TestSupport
import Testing

@testable import ViewerProbe

/// The operators' console in Chromium, against a real service.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct ConsoleTests {
    static let area = "#layout-text"
    /// Two panes, the second above the first, so that they may overlap.
    static let panes = """
        {
            "arrangements": [
                { "when": { "people": 2 }, "panes": [
                    { "slot": 1, "x": 0, "y": 0, "width": 0.5, "height": 0.5 },
                    { "slot": 2, "z": 1,  "x": 0.5, "y": 0.5, "width": 0.5, "height": 0.5 }
                ] },
                { "algorithm": "grid" }
            ]
        }
        """

    static func text(of page: BrowserPage) async throws -> String {
        try await page.evaluate("document.querySelector('\(area)').value")
    }

    static func open(_ place: String, of port: Int, in directory: URL, width: Int = 1400) async throws
        -> BrowserPage
    {
        try await BrowserPage.open("http://127.0.0.1:\(port)/console#/\(place)", in: directory, width: width)
    }

    /// The tests in `Tests/Console/console-tests.js` pass: JSON with places, completion, panes, differences, feeds and
    /// texts.
    @Test(.timeLimit(.minutes(12))) func thePartsThatNeedNoServiceAreRight() async throws {
        let found = try await Browser.runParts(of: "Tests/Console/console-tests.js")
        print("the console's parts: \(found.passed) passed, seed \(found.seed)")
        #expect(found.failed == [] && found.passed >= 18, "seed \(found.seed)")
    }

    /// The tests in these files in `Tests/Console` pass: drawing, and operators' changes, without a service.
    @Test(.timeLimit(.minutes(12)), arguments: ["console-page-tests.js", "console-change-tests.js"])
    func thePartsThatDrawNeedNoService(file: String) async throws {
        let found = try await Browser.runParts(of: "Tests/Console/\(file)")
        #expect(found.failed == [] && found.passed >= 5)
    }

    /// Labels, roles, headings, focus order, contrast and reflow are right on every view, at the size of a desktop and
    /// of a phone.
    @Test(.timeLimit(.minutes(15)), arguments: [1400, 390])
    func everyViewIsAccessible(width: Int) async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("show", outputs: ["main"])
            let client = stage.client
            for body in [#"{"type":"participant.joined","user":"alice","name":"Alice"}"#] {
                #expect(try await client.request("POST", "/v1/rooms/show/events", json: body).status == 202)
            }
            for user in ["alice", "away"] {
                let path = "/v1/rooms/show/participants/\(user)"
                #expect(try await client.request("PATCH", path, json: #"{"muted": true, "gain": 80}"#).status == 200)
            }
            let comment = #"{"text": "Hello", "user": "vera", "name": "Vera"}"#
            #expect(try await client.request("POST", "/v1/rooms/show/messages", json: comment).status == 201)
            #expect(try await client.request("PUT", "/v1/rooms/show/muted/mallory").status == 204)
            #expect(try await stage.client.request("PUT", "/v1/layouts/mine", json: Self.panes).status == 201)
            let page = try await Self.open("rooms", of: stage.client.port, in: stage.directory, width: width)
            let views = [
                ("rooms", ".card"), ("rooms/show", ".comments li"), ("layouts", ".shot img"), ("layouts/mine", ".pane"),
                ("webhooks", "#hook-url"), ("service", "#release"),
            ]
            for (view, sign) in views {
                let _: Bool = try await page.evaluate("(location.hash = '#/\(view)', true)")
                try await page.wait(for: "document.querySelector('\(sign)')")
                #expect(try await page.faults() == [], "\(view)")
            }
            // No view shows these without a program.
            let kinds = ["air bypass", "air mix", "air slate", "pill rec"]
            let badges = kinds.map { "<span class='\($0)'>On air</span>" }.joined(separator: " ")
            let _: Bool = try await page.evaluate(
                "(document.body.insertAdjacentHTML('beforeend', \"<p>\(badges)</p>\"), true)")
            #expect(try await page.faults() == [], "badges")
            // The checker finds a fault when there is one.
            let _: Bool = try await page.evaluate(
                "(document.querySelector('main').append(document.createElement('button')), true)")
            let faults = try await page.faults()
            #expect(faults.contains { $0.contains("has no accessible name") }, "\(faults)")
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// A layout with an error is refused with the words and the position of the API's message, and of `layout validate`.
    @Test(.timeLimit(.minutes(12))) func theEditorRefusesABrokenLayoutAsTheAPIDoes() async throws {
        struct Problem: Decodable {
            struct Issue: Decodable {
                var path: String
                var line: Int
                var column: Int
                var found: String
                var expected: String
            }
            var title: String
            var issues: [Issue]
        }
        try await ControlStage.run { stage in
            #expect(try await stage.client.request("PUT", "/v1/layouts/mine", json: Self.panes).status == 201)
            let page = try await Self.open("layouts/mine", of: stage.client.port, in: stage.directory)
            try await page.wait(for: "document.querySelector('.pane')")
            try await page.type("algoritm", inPlaceOf: "algorithm", in: Self.area)
            try await page.wait(for: "document.querySelector('.issues')")
            try await page.click("Take on air")
            try await page.wait(for: "document.querySelector('.problem[role=alert]')")

            let broken = try await Self.text(of: page)
            let answer = try await stage.client.request("PUT", "/v1/layouts/mine", json: broken)
            #expect(answer.status == 422)
            let problem = try JSONDecoder().decode(Problem.self, from: answer.body)
            let shown: String = try await page.evaluate("document.querySelector('.problem[role=alert]').textContent")
            #expect(shown.hasPrefix(problem.title) && !problem.issues.isEmpty)
            for issue in problem.issues {
                #expect(shown.contains("Line \(issue.line), column \(issue.column)"), "\(shown)")
                #expect(shown.contains("\(issue.path): found \(issue.found), expected \(issue.expected)"), "\(shown)")
            }
            // `validate` prints `…mine.json:line:column: words` for each of them.
            let file = stage.directory.appendingPathComponent("mine.json")
            try Data(broken.utf8).write(to: file)
            let validate = try ManagedProcess(
                "validate", Workspace.executable("mixorchestrator"), ["layout", "validate", file.path],
                in: stage.directory)
            try await waitUntil("the layout is validated") { !validate.isRunning }
            let printed = validate.messages().matches(of: /mine\.json:(\d+):(\d+): (.+)/)
            #expect(printed.count == problem.issues.count, "\(validate.messages())")
            for line in printed { #expect(shown.contains("Line \(line.1), column \(line.2) \(line.3)"), "\(shown)") }
            // The position links into the text.
            try await page.click("Line \(problem.issues[0].line), column \(problem.issues[0].column)")
            let rest: String = try await page.evaluate(
                "document.activeElement.value.slice(document.activeElement.selectionStart)")
            #expect(rest.hasPrefix("\"algoritm\""), "\(rest)")
            #expect(try await stage.client.request("GET", "/v1/layouts/mine").entityTag == "\"1\"")
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// When two operators change the same layout, the second one sees both texts, and neither is lost.
    @Test(.timeLimit(.minutes(12))) func twoOperatorsConflict() async throws {
        try await ControlStage.run { stage in
            #expect(try await stage.client.request("PUT", "/v1/layouts/mine", json: Self.panes).status == 201)
            let one = try await Self.open("layouts/mine", of: stage.client.port, in: stage.directory)
            let two = try await Self.open("layouts/mine", of: stage.client.port, in: stage.directory)
            for (page, algorithm) in [(one, "mosaic"), (two, "stack")] {
                try await page.wait(for: "document.querySelector('.pane')")
                try await page.type("\"\(algorithm)\"", inPlaceOf: "\"grid\"", in: Self.area)
            }
            try await one.click("Take on air")
            try await one.hear("Version 2 is on air.")
            try await two.click("Take on air")
            try await two.wait(for: "document.querySelector('dialog[open] .both')")
            let both: [String] = try await two.evaluate(
                "[...document.querySelectorAll('dialog .both pre')].map(text => text.textContent)")
            #expect(both.count == 2 && both[0].contains("mosaic") && both[1].contains("stack"), "\(both)")
            try await two.click("Take mine on air")
            try await two.hear("Version 3 is on air.")
            #expect(try await stage.client.request("GET", "/v1/layouts/mine").text.contains("\"stack\""))
            #expect(try await stage.client.request("GET", "/v1/layouts/mine/versions/2").text.contains("\"mosaic\""))
            // An operator without changes continues with the text in use.
            try await one.wait(for: "document.querySelector('\(Self.area)').value.includes('stack')")
            for page in [one, two] {
                #expect(await page.complaints == [])
                await page.close()
            }
        }
    }

    /// An operator mutes, turns down and hides participants, sees their pictures and levels, and deletes a comment.
    @Test(.timeLimit(.minutes(15))) func peopleAreSteeredAndCommentsModerated() async throws {
        struct Person: Decodable {
            var muted: Bool
            var gain: Int
            var hidden: Bool
        }
        try await Stage.run(environment: ["MIXORCHESTRATOR_THUMBNAILS_INTERVAL": "1"]) { stage in
            try await stage.openMix()
            let room = "/v1/rooms/\(stage.room)"
            func bob() async throws -> Person {
                try JSONDecoder().decode(
                    Person.self, from: try await stage.client.request("GET", "\(room)/participants/bob").body)
            }
            let page = try await Self.open("rooms/\(stage.room)", of: stage.client.port, in: stage.directory)
            let people = "section[aria-labelledby=people]"
            try await page.wait(
                for:
                    "[...document.querySelectorAll('\(people) img.thumb')].filter(one => one.naturalWidth > 0).length === 2"
            )
            try await page.wait(
                for: "[...document.querySelectorAll('\(people) meter')].filter(one => one.value > 0.3).length === 2")
            try await page.press("Mute bob")
            try await page.wait(for: "document.querySelector('[aria-label=\"Unmute bob\"][aria-pressed=true]')")
            #expect(try await bob().muted)
            let _: Bool = try await page.evaluate(
                """
                (() => {
                  const slider = document.querySelector("#gain-bob");
                  slider.value = 50;
                  for (const kind of ["input", "change"]) slider.dispatchEvent(new Event(kind, { bubbles: true }));
                  return true;
                })()
                """)
            try await waitUntil("bob is at half") { try await bob().gain == 50 }
            try await page.press("Hide bob")
            try await stage.waitForOnAir("bypass")
            try await page.wait(for: "document.querySelector('[aria-label=\"Show bob\"][aria-pressed=true]')")
            #expect(try await bob().hidden)

            // Refusals are shown in the service's own words.
            for number in 1..<256 {
                let path = "\(room)/participants/u\(number)"
                #expect(try await stage.client.request("PATCH", path, json: #"{"muted": true}"#).status == 200)
            }
            try await page.press("Mute alice")
            try await page.wait(for: "document.querySelector('\(people) .problem[role=alert]')")
            let problem: String = try await page.evaluate(
                "document.querySelector('\(people) .problem[role=alert]').textContent")
            #expect(problem.contains("Too many users are muted, hidden or have a gain"), "\(problem)")
            try await page.press("Reset u1")
            try await waitUntil("u1 is as usual") {
                try await !stage.client.request("GET", "\(room)/participants/u1").text.contains("\"muted\":true")
            }

            let comment = #"{"text": "Buy this", "user": "mallory"}"#
            #expect(try await stage.client.request("POST", "\(room)/messages", json: comment).status == 201)
            try await page.press("Mute mallory in chat")
            try await page.wait(for: "document.querySelector('[aria-label=\"Unmute mallory in chat\"]')")
            try await page.press("Delete comment by mallory")
            try await page.wait(for: "!document.querySelector('.comments')")
            #expect(try await stage.client.request("GET", "\(room)/messages").text.contains(#""messages":[]"#))
            #expect(try await stage.client.request("POST", "\(room)/messages", json: comment).status == 403)

            // A preview plays again when the page becomes visible, unless it was paused before.
            let states: [String] = try await page.evaluate(
                """
                (() => {
                  const player = document.querySelector("co-stream-player"), states = [];
                  const show = isShown => {
                    Object.defineProperty(document, "hidden", { get: () => !isShown, configurable: true });
                    document.dispatchEvent(new Event("visibilitychange"));
                    states.push(player.state);
                  };
                  for (const isPaused of [false, true]) {
                    if (isPaused) player.pause();
                    for (const isShown of [false, true]) show(isShown);
                  }
                  return states;
                })()
                """)
            #expect(states == ["paused", "connecting", "paused", "paused"])
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
