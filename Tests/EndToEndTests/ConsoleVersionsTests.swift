import Foundation
import TestSupport
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// Versions of a layout in the console: comparing them, and rolling back while the layout is on air.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct ConsoleVersionsTests {
    private static let layout = """
        {
            "arrangements": [
                { "when": { "people": 2 }, "panes": [
                    { "slot": 1, "x": 0.25, "y": 0, "width": 0.5, "height": 0.5 },
                    { "slot": 2, "x": 0.5, "y": 0.5, "width": 0.5, "height": 0.5 }
                ] },
                { "algorithm": "grid" }
            ]
        }
        """

    private struct Layout: Decodable { var version: Int }

    /// An operator takes another version on air, compares the previous one with it, and rolls back.
    @Test(.timeLimit(.minutes(15))) func anEarlierVersionIsOnAirAgain() async throws {
        try await Stage.run(layout: "rolled") { stage in
            try stage.save(layout: Self.layout, as: "rolled")
            let first = try await stage.openMix().panes
            func version() async throws -> Int {
                let answer = try await stage.client.request("GET", "/v1/layouts/rolled")
                return try JSONDecoder().decode(Layout.self, from: answer.body).version
            }
            let old = try await version()

            let page = try await ConsoleTests.open("layouts/rolled", of: stage.client.port, in: stage.directory)
            try await page.wait(for: "document.querySelectorAll('.pane').length === 2")
            try await page.type("0.125", inPlaceOf: "0.25", in: "#layout-text")
            try await page.click("Take on air")
            try await page.hear("Version \(old + 1) is on air.")
            try await waitUntil("the other version is on air") {
                try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes != first
            }

            try await page.press("Compare version \(old) with the editor")
            try await page.wait(for: "document.querySelector('dialog[open] .diff')")
            let changes: [String] = try await page.evaluate(
                """
                ["removed", "added"].map(kind => [...document.querySelectorAll(`dialog[open] .diff .${kind}`)]
                  .map(line => line.textContent).join(""))
                """)
            #expect(changes.count == 2 && changes[0].contains("\"x\": 0.25") && changes[1].contains("\"x\": 0.125"))
            #expect(!changes.contains { $0.contains("\"slot\": 2") }, "\(changes)")
            try await page.click("Close")
            try await page.wait(for: "!document.querySelector('dialog')")

            try await page.press("Roll back to version \(old)")
            // The button of the dialog has the same text as that of the list.
            try await page.wait(for: "document.querySelector('dialog[open]')")
            try await page.click("Roll back")
            try await waitUntil("the earlier version is on air") {
                try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes == first
            }
            // It is restored as the newest version.
            #expect(try await version() == old + 2)
            let versions = "[...document.querySelectorAll('section[aria-labelledby=versions] li')]"
            try await page.wait(
                for: "\(versions).find(one => one.querySelector('.tag'))?.textContent.includes('by rollback')")
            try await page.wait(for: "document.querySelector('#layout-text').value.includes('\"x\": 0.25')")
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
