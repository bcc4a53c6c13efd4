import Foundation
import TestSupport
import Testing

/// The parts of the console that need no program: preparing a room, access, and pages of rooms that are not on air.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct ConsoleRoomTests {
    /// The pages for viewers and publishers, in a room that is not on air.
    @Test(.timeLimit(.minutes(15)), arguments: [1400, 390])
    func everyOtherPageIsAccessible(width: Int) async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("show")
            let comment = #"{"text": "Hello", "user": "vera", "name": "Vera"}"#
            #expect(
                try await stage.client.request("POST", "/v1/rooms/show/messages", json: comment).status == 201)
            for (path, sign) in [
                ("watch/show", "document.querySelector('room-chat li')"),
                ("publish/show", "document.querySelector('#user')"),
                ("embed/show", "document.querySelector('h1')?.textContent === 'show'"),
                // The view of a single participant, with the button back.
                ("embed/show#user=alice", "document.querySelector('#back:not([hidden])')"),
            ] {
                let page = try await BrowserPage.open(
                    "http://127.0.0.1:\(stage.client.port)/\(path)", in: stage.directory, width: width)
                try await page.wait(for: sign)
                if path == "watch/show" {
                    // The page shows no such badge without a program.
                    let badge = "document.querySelector('main').appendChild(document.createElement('p'))"
                    let _: Bool = try await page.evaluate(
                        "(Object.assign(\(badge), { className: 'badge live', textContent: 'Live' }), true)")
                }
                #expect(try await page.faults() == [], "\(path)")
                #expect(await page.complaints == [])
                await page.close()
            }
        }
    }

    /// A room with outputs, whose keys the page never receives, is prepared before the first publisher.
    @Test(.timeLimit(.minutes(12))) func aRoomIsPreparedBeforeItIsOnAir() async throws {
        let board = """
            {"params": {"home": {"type": "text", "default": "Home"}},
             "overlays": [{"text": "{home}", "place": "top"}], "arrangements": [{"algorithm": "grid"}]}
            """
        try await ControlStage.run { stage in
            let client = stage.client
            #expect(try await client.request("PUT", "/v1/layouts/board", json: board).status == 201)
            try await stage.makeRoom("show", outputs: ["main"])
            let page = try await ConsoleTests.open("rooms/show", of: client.port, in: stage.directory)
            func room() async throws -> String { try await client.request("GET", "/v1/rooms/show").text }
            func write(_ text: String, into id: String) async throws {
                try await page.wait(for: "document.querySelector('\(id)')")
                let _: Bool = try await page.evaluate("(document.querySelector('\(id)').value = '', true)")
                try await page.type(text, inPlaceOf: "", in: id)
            }
            try await page.wait(for: "document.querySelector('#layout-board')")
            func press(_ selector: String) async throws {
                let _: Bool = try await page.evaluate("(document.querySelector('\(selector)').click(), true)")
            }
            try await press("#layout-board")
            try await press("section[aria-labelledby=settings] .primary")
            try await waitUntil("the layout is set") { try await room().contains(#""layout":"board""#) }
            try await write("Ada", into: "#param-home")
            try await press("section[aria-labelledby=params] .primary")
            try await waitUntil("the value is set") { try await room().contains(#""home":"Ada""#) }
            try await press("section[aria-labelledby=outputs] summary")
            try await write("second", into: "#output-id")
            try await write("\(ControlStage.nowhere)/show/S3CRET", into: "#output-url")
            try await page.click("Add output")
            try await page.wait(for: "document.querySelector('[aria-label=\"Remove second\"]')")
            try await press("[aria-label=\"Remove main\"]")
            try await page.click("Remove output")
            try await page.wait(for: "!document.querySelector('[aria-label=\"Remove main\"]')")
            let shown = try await room()
            #expect(shown.contains(#""id":"second""#) && !shown.contains("S3CRET"), "\(shown)")
            #expect(await page.complaints == [])
            await page.close()

            try await client.published("show", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            try await waitUntil("the program goes there") {
                let task = try await client.request("GET", "/v1/tasks/auto-show").text
                return task.contains(#""second""#) && task.contains(#""board""#) && task.contains("Ada")
            }
        }
    }

    /// An operator sets values of the layout's parameters; refusals are shown in the service's own words.
    @Test(.timeLimit(.minutes(12))) func valuesOfTheLayoutAreSet() async throws {
        let board = """
            {"params": {"home": {"type": "text", "default": "Home", "maxLength": 8, "title": "Name at the left"},
                        "score": {"type": "number", "default": 0, "max": 9}, "shown": {"type": "visible", "default": true},
                        "brand": {"type": "color", "default": "#102030"}, "logo": {"type": "image", "default": "a.png"}},
             "overlays": [{"text": "{home} {score}", "place": "top", "background": {"param": "brand"},
                           "visible": {"param": "shown"}}, {"image": {"param": "logo"}, "place": "left"}],
             "arrangements": [{"algorithm": "grid"}]}
            """
        try await ControlStage.run { stage in
            let client = stage.client
            #expect(try await client.request("PUT", "/v1/layouts/board", json: board).status == 201)
            let room = """
                {"layout": "board", "outputs": [{"id": "main", "url": "\(ControlStage.nowhere)/show/main"}], \(ControlStage.canvas)}
                """
            #expect(try await client.request("PUT", "/v1/rooms/show", json: room).status == 201)
            try await client.published("show", user: "alice", url: "\(ControlStage.nowhere)/live/alice")
            let page = try await ConsoleTests.open("rooms/show", of: client.port, in: stage.directory)
            try await page.wait(for: "document.querySelector('#param-home')")
            #expect(try await page.faults() == [])
            let types: [String] = try await page.evaluate(
                "[...document.querySelectorAll('.param input')].map(input => input.type + (input.getAttribute('role') ?? ''))"
            )
            #expect(types == ["text", "number", "checkboxswitch", "color", "text"])

            // A stepper takes effect at once, other controls with "Apply".
            let _: Bool = try await page.evaluate(
                "(document.querySelector('[aria-label=\"Increase score immediately\"]').click(), true)")
            try await page.hear("On air: score 1")
            let set = """
                (() => {
                  const write = (id, value) => {
                    const input = document.querySelector(id);
                    input.value = value;
                    input.dispatchEvent(new Event("input", { bubbles: true }));
                  };
                  write("#param-home", "Ada");
                  write("#param-brand", "#a0b0c0");
                  write("#param-logo", "missing.png");
                  document.querySelector("#params ~ form .primary, .panel .param ~ .apply .primary").click();
                  return true;
                })()
                """
            let _: Bool = try await page.evaluate(set)
            try await page.wait(for: "document.querySelector('.problem[role=alert]')")
            let refused: String = try await page.evaluate("document.querySelector('.problem[role=alert]').textContent")
            #expect(refused.contains("$.logo: found \"missing.png\": does not exist"), "\(refused)")
            #expect(try await client.request("GET", "/v1/tasks/auto-show/params").text.contains("\"Home\""))
            let _: Bool = try await page.evaluate(
                set.replacing("\"missing.png\"", with: "\"a.png\"").replacing("#a0b0c0", with: "#0a0b0c"))
            try await page.wait(for: "!document.querySelector('.problem[role=alert]')")
            try await waitUntil("the values are stored") {
                let text = try await client.request("GET", "/v1/rooms/show").text
                return text.contains("\"Ada\"") && text.contains("#0A0B0C") && text.contains("\"score\":1")
            }
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// The editor's picture is tried with other values. Invalid ones are reported, and none of them is stored.
    @Test(.timeLimit(.minutes(12))) func valuesAreTriedInTheEditor() async throws {
        let board = """
            {"params": {"home": {"type": "text", "default": "Home"}, "score": {"type": "number", "default": 0, "max": 9},
                        "brand": {"type": "color", "default": "#102030"}, "shown": {"type": "visible", "default": true}},
             "overlays": [{"text": "{home} {score}", "place": "top", "background": {"param": "brand"}},
                          {"text": "{viewers} of {comment}", "place": "bottom", "visible": {"param": "shown"}}],
             "arrangements": [{"algorithm": "grid"}]}
            """
        try await ControlStage.run { stage in
            #expect(try await stage.client.request("PUT", "/v1/layouts/board", json: board).status == 201)
            let page = try await ConsoleTests.open("layouts/board", of: stage.client.port, in: stage.directory)
            let picture = "decodeURIComponent(document.querySelector('.canvas img')?.src ?? '')"
            func shows(_ text: String) -> String { "\(picture).includes('\(text)')" }
            func write(_ id: String, _ value: String) async throws {
                let _: Bool = try await page.evaluate(
                    """
                    (() => {
                      const input = document.querySelector("\(id)");
                      if (input.type === "checkbox") input.checked = \(value == "true");
                      else input.value = "\(value)";
                      for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind, { bubbles: true }));
                      return true;
                    })()
                    """)
            }
            try await page.wait(for: shows("Home 0"))
            try await page.wait(for: shows("1234 of Ann: What a goal!"))
            let _: Bool = try await page.evaluate("(document.querySelector('details summary').click(), true)")
            #expect(try await page.faults() == [])

            try await write("#try-home", "Ada")
            try await write("#try-score", "7")
            try await write("#try-brand", "#a0b0c0")
            try await write("#try-channel-viewers", "12")
            try await write("#try-channel-comment", "Bo: Hi")
            try await page.wait(for: "\(shows("Ada 7")) && \(shows("12 of Bo: Hi"))")
            try await page.wait(for: "/#a0b0c0/i.test(\(picture))")
            try await write("#try-shown", "false")
            try await page.wait(for: "!\(shows("Bo: Hi"))")

            // A value out of range is reported beside the text, and the picture stays that of the last valid one.
            try await write("#try-score", "70")
            try await page.wait(
                for: "document.querySelector('.problem')?.textContent.includes('tried value is not allowed')")
            let problem: String = try await page.evaluate("document.querySelector('.problem').textContent")
            #expect(problem.contains("70") && problem.contains("9"), "\(problem)")
            let isKept: Bool = try await page.evaluate(shows("Ada 7"))
            #expect(isKept)
            try await write("#try-score", "8")
            try await page.wait(for: "\(shows("Ada 8")) && !document.querySelector('.problem')")

            let stored = try await stage.client.request("GET", "/v1/layouts/board")
            #expect(stored.entityTag == "\"1\"" && !stored.text.contains("Ada"))
            let isUnchanged: Bool = try await page.evaluate(
                "[...document.querySelectorAll('button')].find(one => one.textContent === 'Take on air').disabled")
            #expect(isUnchanged)
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// The page asks for a token, showing the reason of the refusal, until a token is valid. The token appears in no
    /// address and in no persistent storage.
    @Test(.timeLimit(.minutes(12))) func aTokenThatIsNoGoodIsSaidToBeNone() async throws {
        let token = "token-of-the-operator-0123"
        let environment = [
            "MIXORCHESTRATOR_APPS_0_ID": "shop", "MIXORCHESTRATOR_APPS_0_TOKENS_0_TOKEN": token,
            "MIXORCHESTRATOR_APPS_0_TOKENS_0_SCOPES": "read",
        ]
        try await ControlStage.run(environment: environment) { stage in
            let page = try await ConsoleTests.open("rooms", of: stage.client.port, in: stage.directory)
            let problem = "document.querySelector('dialog[open]:not(.before) .problem')"
            try await page.wait(for: problem)
            let first: String = try await page.evaluate("\(problem).textContent")
            let title =
                try #require(
                    try JSONSerialization.jsonObject(with: await stage.client.request("GET", "/v1/rooms").body)
                        as? [String: Any])["title"] as? String
            #expect(first.contains(try #require(title)), "\(first)")
            for text in ["token-that-has-expired-1", token] {
                try await page.wait(for: problem)
                let _: Bool = try await page.evaluate("(document.querySelector('#login-token').value = '', true)")
                try await page.type(text, inPlaceOf: "", in: "#login-token")
                // The next dialog is a different one.
                let _: Bool = try await page.evaluate(
                    "(document.querySelector('dialog[open]').classList.add('before'), true)")
                try await page.click("Log in")
            }
            try await page.wait(for: "document.querySelector('.empty')?.textContent.includes('There are no rooms yet')")
            let places: [String] = try await page.evaluate(
                "[location.href, JSON.stringify(localStorage), document.cookie]")
            #expect(places.allSatisfy { !$0.contains(token) }, "\(places)")

            // A room's page makes many requests at once, and asks for one token.
            let room = try await ConsoleTests.open("rooms/show", of: stage.client.port, in: stage.directory)
            try await room.wait(for: "document.querySelector('dialog[open]')")
            // By the time of its next attempt, the feed has been refused too.
            try await Task.sleep(for: .seconds(1))
            #expect(try await room.evaluate("document.querySelectorAll('dialog').length", as: Int.self) == 1)
            try await room.type(token, inPlaceOf: "", in: "#login-token")
            try await room.click("Log in")
            try await room.wait(for: "document.querySelector('.problem')?.textContent.includes('show')")
            #expect(try await room.evaluate("document.querySelectorAll('dialog').length", as: Int.self) == 0)
            #expect(await room.complaints == [])
            await room.close()

            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// An operator who leaves a room with settings that are not applied is asked first, as in a layout.
    @Test(.timeLimit(.minutes(12))) func changesOfARoomAreNotLostUnasked() async throws {
        try await ControlStage.run { stage in
            try await stage.makeRoom("show")
            let page = try await ConsoleTests.open("rooms/show", of: stage.client.port, in: stage.directory)
            try await page.wait(for: "document.querySelector('#set-bypass')")
            let _: Bool = try await page.evaluate(
                """
                (() => {
                  window.asked = [];
                  window.confirm = text => { asked.push(text); return asked.length > 1; };
                  const choice = document.querySelector("#set-bypass");
                  choice.value = "never";
                  choice.dispatchEvent(new Event("change"));
                  location.hash = "#/layouts";
                  return true;
                })()
                """)
            try await page.wait(for: "asked.length === 1 && location.hash === '#/rooms/show'")
            let value: String = try await page.evaluate("document.querySelector('#set-bypass').value")
            #expect(value == "never")
            let _: Bool = try await page.evaluate("(location.hash = '#/layouts', true)")
            try await page.wait(for: "asked.length === 2 && document.title.startsWith('Layouts')")
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// An answer that arrives after its view was closed does not affect the next view.
    @Test(.timeLimit(.minutes(12))) func aClosedViewIsNotDrawn() async throws {
        try await ControlStage.run { stage in
            let client = stage.client
            let made = try await client.request(
                "POST", "/v1/subscriptions", json: #"{"url": "http://127.0.0.1:1/hooks", "note": "nobody"}"#)
            #expect(made.status == 201, "\(made.text)")
            let page = try await ConsoleTests.open("webhooks", of: client.port, in: stage.directory)
            try await page.wait(for: "document.querySelector('.card-link')")
            let _: Bool = try await page.evaluate("(location.hash = document.querySelector('.card-link').hash, true)")
            try await page.wait(for: "document.querySelector('#deliveries')")
            let _: Bool = try await page.evaluate(
                """
                (() => {
                  const { fetch } = window;
                  window.fetch = async (url, options) => {
                    const answer = await fetch(url, options);
                    if (options?.method === "POST") await new Promise(resolve => { window.release = resolve; });
                    return answer;
                  };
                  return true;
                })()
                """)
            try await page.click("Send test message")
            try await page.wait(for: "window.release")
            let _: Bool = try await page.evaluate("(location.hash = '#/service', true)")
            try await page.wait(for: "document.querySelector('h1').textContent === 'Service'")
            let titles: [String] = try await page.evaluate(
                """
                new Promise(resolve => {
                  const titles = [], main = document.getElementById("main");
                  new MutationObserver(() => titles.push(main.querySelector("h1").textContent))
                    .observe(main, { subtree: true, childList: true, characterData: true });
                  window.release();
                  // The answer is read, and drawn, in a few turns.
                  setTimeout(() => resolve(titles), 500);
                })
                """)
            #expect(titles.allSatisfy { $0 == "Service" }, "\(titles)")
            await page.close()
        }
    }

    /// A room that does not exist is reported as missing.
    @Test(.timeLimit(.minutes(12))) func aRoomThatIsNotThereIsSaidToBeMissing() async throws {
        try await ControlStage.run { stage in
            let page = try await ConsoleTests.open("rooms/nobody", of: stage.client.port, in: stage.directory)
            try await page.wait(for: "document.querySelector('.problem[role=alert]')")
            let shown: String = try await page.evaluate("document.querySelector('.problem[role=alert]').textContent")
            let answer = try await stage.client.request("GET", "/v1/rooms/nobody").text
            #expect(answer.contains("nobody") && shown.contains("nobody"), "\(shown)")
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
