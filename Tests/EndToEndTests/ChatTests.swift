import Foundation
import Testing

@testable import ViewerProbe

/// The room's channel on the watch pages of two viewers, each in a separate Chromium.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct ChatTests {
    @Test(.timeLimit(.minutes(15))) func twoPeopleTalkOnTheWatchPage() async throws {
        try await Stage.run { stage in
            try await stage.publish("alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let watch = "http://127.0.0.1:\(stage.client.port)/watch/\(stage.room)"
            let first = try await BrowserPage.open(watch + "#as=bob&name=Bob", in: stage.directory)
            let second = try await BrowserPage.open(
                watch + "#as=cara&name=Cara", in: stage.directory, width: 390, height: 844)
            for page in [first, second] {
                try await page.wait(for: Self.shows("2 watching"))
                try await page.wait(for: Self.shows("On air: alice"))
            }

            try await Self.write("Hello <b>you</b> 👋", on: first)
            for page in [first, second] { try await page.wait(for: Self.logs("BobHello <b>you</b> 👋")) }
            try await Self.write("Hi Bob", on: second)
            for page in [first, second] { try await page.wait(for: Self.logs("CaraHi Bob")) }
            try await second.click("♥")
            for page in [first, second] { try await page.wait(for: Self.shows("1 ♥")) }

            // Hearts that are not visible are not drawn, and no more are drawn than can be seen.
            let hearts = "document.querySelectorAll('room-chat .heart').length"
            try await second.wait(for: "\(hearts) === 0")
            let _: Bool = try await second.evaluate(
                "(Object.defineProperty(document, 'hidden', { get: () => window.isHidden ?? true }), true)")
            func like(_ total: Int) async throws {
                let body = #"{"kind": "like", "count": 10, "user": "fan\#(total)"}"#
                let answer = try await stage.client.request("POST", "/v1/rooms/\(stage.room)/messages", json: body)
                #expect(answer.status == 201, "\(answer.text)")
                try await second.wait(for: Self.shows("\(total) ♥"))
            }
            try await like(11)
            #expect(try await second.evaluate(hearts, as: Int.self) == 0)
            let _: Bool = try await second.evaluate(
                """
                (() => {
                  window.isHidden = false;
                  const sheet = new CSSStyleSheet();
                  sheet.replaceSync("room-chat .heart { animation: none !important; }");
                  document.adoptedStyleSheets = [sheet];
                  return true;
                })()
                """)
            for total in stride(from: 21, through: 71, by: 10) { try await like(total) }
            try await second.wait(for: "\(hearts) === 40")

            // A moderator deletes the first comment, and a viewer who writes a forbidden word is told the reason.
            let messages = try await stage.client.request("GET", "/v1/rooms/\(stage.room)/messages")
            let history = try JSONDecoder().decode(History.self, from: Data(messages.text.utf8))
            let greeting = try #require(history.messages.first { $0.text?.hasPrefix("Hello") == true })
            let deleted = try await stage.client.request(
                "DELETE", "/v1/rooms/\(stage.room)/messages/\(greeting.id)")
            #expect(deleted.status == 204, "\(deleted.text)")
            for page in [first, second] { try await page.wait(for: "!\(Self.logs("Hello <b>you</b>"))") }
            let rules = try await stage.client.request(
                "PATCH", "/v1/rooms/\(stage.room)/rules", json: #"{"words":["bananas"]}"#,
                headers: ["Content-Type": "application/merge-patch+json"])
            #expect(rules.status == 200, "\(rules.text)")
            try await Self.write("I sell bananas", on: first)
            let refusal: String = "document.querySelector('room-chat [role=alert]').textContent"
            try await first.wait(for: "\(refusal).length > 0")
            let sentence: String = try await first.evaluate(refusal)
            #expect(sentence.contains("word"), "\(sentence)")
            let isThere: Bool = try await second.evaluate("Boolean(\(Self.logs("bananas")))")
            #expect(!isThere)

            // A viewer who comes later reads the earlier comments.
            let third = try await BrowserPage.open(watch, in: stage.directory)
            try await third.wait(for: Self.logs("CaraHi Bob"))
            for page in [first, second, third] {
                let complaints = await page.complaints
                #expect(complaints.isEmpty, "\(complaints)")
                await page.close()
            }
        }
    }

    private struct History: Decodable {
        struct Message: Decodable {
            var id: Int64
            var text: String?
        }
        var messages: [Message]
    }

    /// Returns an expression that tells whether the panel contains a text anywhere.
    private static func shows(_ text: String) -> String {
        "document.querySelector('room-chat')?.textContent.includes('\(text)')"
    }

    /// Returns an expression that tells whether the list of comments contains a text.
    private static func logs(_ text: String) -> String {
        "document.querySelector('room-chat [role=log]')?.textContent.includes('\(text)')"
    }

    private static func write(_ text: String, on page: BrowserPage) async throws {
        let _: Bool = try await page.evaluate("(document.querySelector('room-chat input').value = '', true)")
        try await page.type(text, inPlaceOf: "", in: "room-chat input")
        try await page.click("Send")
    }
}
