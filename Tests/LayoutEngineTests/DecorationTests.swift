import LayoutEngine
import Testing

/// Borders, overlays and images, around and over the pictures.
struct DecorationTests {
    private func overlays(_ overlays: [OverlayTemplate], on canvas: Canvas = .portrait) -> [Overlay] {
        var template = LayoutTemplate(.solo)
        template.arrangements[0].settings.overlays = overlays
        return LayoutEngine.plan(template, participants: [], canvas: canvas).overlays
    }

    @Test(
        arguments: zip(
            Pane.Alignment.allCases,
            [
                [20, 20], [300, 20], [580, 20], [20, 580], [300, 580], [580, 580], [20, 1140], [300, 1140],
                [580, 1140],
            ]))
    func imageStandsAtItsPlace(place: Pane.Alignment, origin: [Int]) {
        let shown = overlays([
            OverlayTemplate(
                id: "a", place: .at(place, margin: UnitFraction(20.0 / 720)),
                content: .image("l.png", align: place, size: UnitFraction(120.0 / 720)))
        ])
        #expect(shown.map { [$0.x, $0.y] } == [origin])
        #expect(shown.map { [$0.width, $0.height] } == [[120, 120]])
        #expect(shown.first?.content == .image("l.png", align: place))
    }

    @Test func textIsAsWideAsItsLetters() throws {
        func box(_ text: String, isBold: Bool = false) throws -> Overlay {
            let style = OverlayTemplate.Style(size: UnitFraction(0.05), isBold: isBold)
            return try #require(
                overlays([OverlayTemplate(id: "a", place: .at(.centre, margin: .zero), content: .text(text, style))])
                    .first)
        }
        let (short, long, bold) = try (box("Live"), box("Live now"), box("Live", isBold: true))
        #expect(short.height == 72 && long.height == 72)
        #expect(short.width < long.width && short.width < bold.width)
        #expect((60...160).contains(short.width))
        #expect(try box("直播直播").width > short.width)
        // A text that is wider than the canvas gets more lines.
        let wrapped = try box(String(repeating: "word ", count: 40))
        #expect(wrapped.width == 720 && wrapped.height > 72 * 3)
        if case .text(_, let style) = short.content { #expect(style.size == 36) } else { Issue.record("no text") }
    }

    @Test func clockHasRoomForEveryTime() {
        let widths = Overlay.ClockFormat.allCases.map { format in
            overlays([
                OverlayTemplate(
                    id: "a", place: .at(.top, margin: .zero),
                    content: .clock(format, utcOffset: 60, .init(size: UnitFraction(0.05))))
            ]).first?.width ?? 0
        }
        #expect(widths[1] < widths[0] && widths[0] < widths[2] && widths[2] < widths[3])
        #expect(widths[1] > 36 * 3)
    }

    @Test func borderIsEvenAndLeavesThePictureVisible() {
        func widths(_ share: Double, _ count: Int) -> [Int?] {
            var template = LayoutTemplate(.stack(.horizontal))
            template.arrangements[0].settings.style.border = .init(width: UnitFraction(share))
            return LayoutEngine.plan(template, participants: people(count), canvas: .landscape).panes
                .map(\.border?.width)
        }
        #expect(widths(0.01, 1) == [8])
        #expect(widths(0, 1) == [nil])
        #expect(widths(0.001, 1) == [nil])
        #expect(widths(0.05, 1) == [36])
        #expect(widths(0.05, 16).allSatisfy { $0 == 20 })
    }

    private func everywhere() throws -> LayoutTemplate {
        try LayoutTemplate.decode(
            """
            { "canvas": { "image": "wall.jpg" }, "fallback": { "stalled": { "image": "stalled.png" } },
              "overlays": [{ "text": "a", "place": "top" }, { "image": "https://example.org/logo.png", "place": "top-left" }],
              "arrangements": [
                { "when": { "people": 1 }, "algorithm": "solo", "fallback": { "cameraOff": { "image": "off.png" } } },
                { "panes": [{ "slot": 1, "x": 0, "y": 0, "width": 0.5, "height": 1,
                              "fallback": { "absent": { "image": "seat.png" } } }],
                  "rest": { "x": 0.5, "y": 0, "width": 0.5, "height": 1, "algorithm": "grid",
                            "fallback": { "stalled": { "image": "rest.png" } } },
                  "overlays": [{ "image": "own.png", "place": "top" }] } ] }
            """.utf8, name: "t")
    }

    @Test func imagesAreFoundEverywhere() throws {
        #expect(
            try everywhere().images
                == [
                    "wall.jpg", "stalled.png", "https://example.org/logo.png", "off.png", "seat.png", "rest.png",
                    "own.png",
                ])
        #expect(LayoutLibrary.automatic.images == [])
    }

    @Test func imagesAreResolvedEverywhere() throws {
        let template = try everywhere()
        #expect(template.resolvingImages { $0 } == template)
        let resolved = template.resolvingImages { "files/\($0.hashValue == 0 ? "" : $0)" }
        #expect(resolved.images == Set(template.images.map { "files/\($0)" }))
        #expect(resolved.canvas.backdrop == .init(image: "files/wall.jpg", fit: .cover))
    }

    @Test func imagesThatCannotBeShownAreReplaced() throws {
        let template = try everywhere().resolvingImages { _ in nil }
        #expect(template.images == [])
        #expect(template.canvas.backdrop == nil)
        #expect(template.settings.overlays.map(\.id) == ["overlay-1"])
        #expect(template.settings.style.fallback == .init(stalled: .card))
        #expect(template.arrangements[0].settings.style.fallback == .init(cameraOff: .card, stalled: .card))
        let scene = LayoutEngine.plan(template, participants: [], canvas: .portrait)
        #expect(scene.panes.map(\.fallback) == [.card])
        #expect(scene.background == nil && scene.overlays.isEmpty)
    }

    @Test(arguments: [
        "a.png", "images/a b.png", "HTTPS://example.org/x.png?size=1&b=c#d", "http://10.0.0.1:8080/a", "ünï/çödé.webp",
        "..a/b..png",
    ])
    func imageReferencesThatMayBe(reference: String) throws {
        let file = "{\"canvas\": {\"image\": \"\(reference)\"}, \"arrangements\": [{\"algorithm\": \"solo\"}]}"
        #expect(try LayoutTemplate.decode(file.utf8, name: "t").images == [reference])
    }

    @Test(arguments: [
        "/etc/passwd", "../a.png", "a/../../b.png", "a/./b", "a//b", "a/", "file:///etc/passwd",
        "data:image/png;base64,",
        "ftp://a/b", "http://", "https:///x", "http://?a", "http://user name/", "c:/x.png", "\\\\\\\\server\\\\x",
        "a\\nb", "..", ".",
    ])
    func imageReferencesThatMayNotBe(reference: String) {
        let file = "{\"canvas\": {\"image\": \"\(reference)\"}, \"arrangements\": [{\"algorithm\": \"solo\"}]}"
        #expect(throws: LayoutError.self) { try LayoutTemplate.decode(file.utf8, name: "t") }
    }
}
