import Testing

@testable import LayoutEngine

/// `{countdown}` in texts, from the file to the picture.
struct CountdownTests {
    private static let end = 1_769_889_600

    private static func file(_ overlay: String) -> String {
        """
        {"params": {"start": {"type": "text", "default": ""}}, "overlays": [\(overlay)],
         "arrangements": [{"algorithm": "solo"}]}
        """
    }

    private static func scene(_ overlay: String, params: [String: LayoutParameter.Value] = [:]) throws -> Scene {
        let template = try LayoutTemplate.decode(file(overlay).utf8, name: "soon")
        return LayoutEngine.plan(template.applying(params), participants: people(1), canvas: .landscape)
    }

    private static let soon = #"{"text": "in {countdown}", "until": "2026-01-31T20:00:00Z", "place": "top"}"#

    @Test(arguments: [
        (-5, "0:00"), (0, "0:00"), (9, "0:09"), (725, "12:05"), (3599, "59:59"), (3600, "1:00:00"), (3725, "1:02:05"),
        (176_400, "49:00:00"), (Int.max, "999:59:59"),
    ])
    func whatIsLeftIsShort(seconds: Int, text: String) {
        #expect(Overlay.Content.remaining(seconds) == text)
    }

    @Test func itCountsAndStops() throws {
        let overlay = try #require(Self.scene(Self.soon).overlays.first)
        #expect(overlay.content.showsTime)
        #expect(overlay.svg(time: Self.end - 65)?.contains("in 1:05") == true)
        #expect(overlay.svg(time: Self.end + 65)?.contains("in 0:00") == true)
        let content = overlay.content
        #expect(content.beginning(at: Self.end - 65) == Self.end - 65)
        #expect(content.next(after: Self.end - 65) == Self.end - 64)
        #expect(content.next(after: Self.end - 1) == Self.end)
        // After its end, the countdown is not drawn again.
        #expect(content.next(after: Self.end) == nil)
        #expect(content.beginning(at: Self.end + 3600) == Self.end)
    }

    @Test func besideAClockBothGoOn() throws {
        let text = #"{"text": "{clock}, {countdown} left", "until": "2026-01-31T20:00:00Z", "place": "top"}"#
        let content = try #require(Self.scene(text).overlays.first).content
        #expect(content.next(after: Self.end - 30) == Self.end - 29)
        #expect(content.next(after: Self.end + 30) == Self.end + 60)
        #expect(content.beginning(at: Self.end + 90) == Self.end + 60)
    }

    @Test func withoutAnEndItStandsForNothing() throws {
        let text = #"{"text": "@{countdown}", "until": {"param": "start"}, "place": "top"}"#
        #expect(try Self.scene(text.replacing("@", with: "")).overlays.isEmpty)
        let words = try #require(Self.scene(text.replacing("@", with: "soon ")).overlays.first)
        #expect(!words.content.showsTime && words.svg(time: 0)?.contains("countdown") == false)
        let set = try Self.scene(
            text.replacing("@", with: ""), params: ["start": .text("2026-01-31T21:00:00+01:00")])
        #expect(set.overlays.first?.svg(time: Self.end - 10)?.contains("0:10") == true)
    }

    @Test func anotherTextIsRefused() {
        let text = Self.file(Self.soon.replacing("2026-01-31T20:00:00Z", with: "tonight"))
        let error = #expect(throws: LayoutError.self) { try LayoutTemplate.decode(text.utf8, name: "soon") }
        let issue = error?.issues.first
        #expect(issue?.path == "$.overlays[0].until" && issue?.expected.contains("2026-01-31T20:00:00Z") == true)
    }

    @Test func aSceneWithAnAbsurdEndIsNotPlausible() throws {
        var scene = try Self.scene(Self.soon)
        #expect(scene.isPlausible)
        guard case .text(let text, var style) = scene.overlays[0].content else { return }
        style.until = .max
        scene.overlays[0].content = .text(text, style)
        #expect(!scene.isPlausible)
    }
}
