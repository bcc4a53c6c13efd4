import Foundation
import TestSupport
import Testing

@testable import ViewerProbe

/// The layout editor while its layout is on air. The time from a click to the program is measured, so these tests run
/// alone.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct ConsoleDragTests {
    /// A pane is dragged in the editor and put on air: the program shows it there, and the rest of the text is
    /// unchanged.
    @Test(.timeLimit(.minutes(15))) func aDraggedPaneGoesOnAir() async throws {
        try await Stage.run(layout: "dragged") { stage in
            try stage.save(layout: ConsoleTests.panes, as: "dragged")
            let before = try await stage.openMix().panes

            let page = try await ConsoleTests.open("layouts/dragged", of: stage.client.port, in: stage.directory)
            try await page.wait(for: "document.querySelectorAll('.pane').length === 2")
            try await page.waitUntilShown()
            var place: [Double] = []
            // Content that loads late moves the pane.
            try await waitUntil("the pane stays where it is", every: 300) {
                let before = place
                place = try await page.evaluate(
                    """
                    (() => {
                      const pane = document.querySelector(".pane").getBoundingClientRect();
                      const canvas = document.querySelector(".canvas").getBoundingClientRect();
                      return [pane.x + pane.width / 2, pane.y + pane.height / 2, canvas.width, canvas.height];
                    })()
                    """)
                return place == before
            }
            let start = (x: place[0], y: place[1])
            try await page.drag(from: start, to: (x: start.x + place[2] * 0.2, y: start.y + place[3] * 0.1))
            try await page.wait(for: "!document.querySelector('\(ConsoleTests.area)').value.includes('\"x\": 0,')")
            let expected = ConsoleTests.panes.replacing("\"x\": 0, \"y\": 0,", with: "\"x\": 0.2, \"y\": 0.1,")
            #expect(try await ConsoleTests.text(of: page) == expected)
            try await page.click("Take on air")
            var panes = before
            try await waitUntil("the pane is on air where it was dragged to") {
                panes = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
                return panes != before
            }
            let alice = try #require(panes.first { $0.user == "alice" })
            let was = try #require(before.first { $0.user == "alice" })
            #expect(alice.x > was.x && alice.y > was.y && alice.width == was.width && alice.height == was.height)

            // Measures from the click to the program's picture. A key moves the pane further.
            var waits: [Double] = []
            for _ in 0..<5 {
                let shown = panes
                let _: Bool = try await page.evaluate(
                    """
                    (() => {
                      const pane = document.querySelector(".pane");
                      pane.focus();
                      pane.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
                      return true;
                    })()
                    """)
                // The editor plans its picture twice, and the measurement is that of a quiet machine.
                var picture = ""
                try await waitUntil("the picture stays as it is", every: 300) {
                    let before = picture
                    picture = try await page.evaluate("document.querySelector('.canvas img').src")
                    return picture == before
                }
                let buttons = "[...document.querySelectorAll('button:not(:disabled, [aria-busy])')]"
                let take = "\(buttons).find(one => one.textContent === 'Take on air')"
                try await page.wait(for: take)
                let clicked = ContinuousClock.now
                let _: Bool = try await page.evaluate("(\(take).click(), true)")
                try await waitUntil("the pane is on air one step on", every: 5) {
                    panes = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
                    return panes != shown
                }
                waits.append((ContinuousClock.now - clicked) / .milliseconds(1))
            }
            print("take to air in ms: \(waits.map { $0.rounded() })")
            // Other work on the machine delays single ones.
            #expect(waits.sorted()[2] <= 300 && waits.allSatisfy { $0 <= 1500 }, "\(waits)")
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
