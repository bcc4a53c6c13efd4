import LayoutEngine
import Testing

struct SceneSVGTests {
    private func pane(
        _ user: String, live: Bool = true, fallback: Pane.Fallback = .card, opacity: UnitFraction = .whole
    ) -> Pane {
        Pane(
            source: "\(user)/camera", user: user, x: 0, y: 0, width: 360, height: 640, opacity: opacity,
            border: .init(width: 4, colour: .white), label: Label(text: "label of \(user)", size: 16), isLive: live,
            fallback: fallback)
    }

    @Test func pictureIsWellFormedWhateverUsersAreCalled() throws {
        var crowd = people(2)
        crowd[0].user = "<&>\"'\u{1}\u{FFFF}𝄞 ]]>"
        let scene = LayoutEngine.plan(LayoutLibrary.automatic, participants: crowd, canvas: .portrait)
        let svg = scene.svg()
        #expect(svg.hasPrefix("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 1280\""))
        #expect(svg.contains("&lt;&amp;&gt;&quot;'\u{FFFD}\u{FFFD}𝄞 ]]&gt;</text>"))
        #expect(svg.contains("696×622 cover"))
        #expect(svg == scene.svg())
        _ = ParsedSVG(svg)
    }

    @Test func everyPartOfASceneIsDrawn() {
        let clock = Overlay(
            id: "c", x: 0, y: 0, width: 200, height: 40, opacity: UnitFraction(0.5),
            content: .clock(.time, utcOffset: 0, TextStyle(size: 20)))
        let logo = Overlay(id: "l", x: 0, y: 0, width: 200, height: 40, content: .image("logo.png", align: .topLeft))
        let scene = Scene(
            canvas: .portrait, background: .init(image: "images/wall.jpg"),
            panes: [
                pane("ada", opacity: UnitFraction(0.25)), pane("bob", live: false),
                pane("eve", live: false, fallback: .nothing),
                pane("ian", live: false, fallback: .image("away.png")), pane("joe", live: false, fallback: .lastFrame),
            ], overlays: [clock, logo])
        let parsed = ParsedSVG(scene.svg(time: 3661))
        #expect(
            parsed.texts == [
                "wall.jpg", "ada", "360×640 cover", "label of ada", "B", "bob", "label of bob", "away.png",
                "label of ian", "J", "joe", "label of joe", "01:01:01", "logo.png",
            ])
        #expect(parsed.attributes.compactMap { $0["opacity"] } == ["0.250000", "0.500000"])
        #expect(parsed.attributes.filter { $0["stroke"] == "#FFFFFF" && $0["stroke-width"] == "4" }.count == 4)
    }

    @Test func imagesAreEmbeddedOnlyFromDataURIs() {
        let scene = Scene(
            canvas: .portrait, background: .init(image: "wall", fit: .cover),
            panes: [pane("ian", live: false, fallback: .image("away"))],
            overlays: [
                Overlay(id: "l", x: 0, y: 0, width: 9, height: 9, content: .image("logo", align: .bottomRight))
            ])
        let parsed = ParsedSVG(
            scene.svg(images: [
                "wall": "data:image/png;base64,AAAA", "away": "https://example.org/\"><script>",
                "logo": "data:image/\"&<",
            ]))
        let images = zip(parsed.elements, parsed.attributes).filter { $0.0 == "image" }.map(\.1)
        #expect(images.map { $0["href"] } == ["data:image/png;base64,AAAA", "data:image/\"&<"])
        #expect(images.map { $0["preserveAspectRatio"] } == ["xMidYMid slice", "xMaxYMax"])
        #expect(!parsed.elements.contains("script"))
    }

    @Test func sheetShowsEverySceneWithItsTitle() throws {
        let entries = [0, 1, 2, 3, 4, 5, 9, 16].map { count in
            SceneSheet.Entry(
                title: "\(count) people",
                scene: LayoutEngine.plan(LayoutLibrary.automatic, participants: people(count), canvas: .portrait))
        }
        let svg = SceneSheet(entries).svg()
        let parsed = ParsedSVG(svg)
        #expect(parsed.texts.filter { $0.hasSuffix("people") } == entries.map(\.title))
        // The name is in the middle of the pane, and a label where there are several panes.
        #expect(parsed.texts.filter { $0 == "user0" }.count == 13)
        #expect(parsed.elements.filter { $0 == "defs" }.count == 1)
        // The sheet has two rows of four thumbnails of 180×320.
        #expect(parsed.attributes[0]["width"] == "840" && parsed.attributes[0]["height"] == "772")
        #expect(svg == SceneSheet(entries).svg())
        _ = ParsedSVG(SceneSheet([]).svg())
    }
}
