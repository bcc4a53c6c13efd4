import LayoutEngine
import Testing

/// The meaning of each key of a file.
struct EveryKeyTests {
    private let half = UnitFraction(0.5)
    private let red = RGB(red: 255, green: 0, blue: 0)

    private func decode(_ json: String) throws -> LayoutTemplate {
        try LayoutTemplate.decode(json.utf8, name: "all")
    }

    private func arrangement(_ json: String, top: String = "") throws -> Arrangement {
        try #require(decode("{\(top)\"arrangements\": [\(json)]}").arrangements.first)
    }

    @Test func topOfAFile() throws {
        let template = try decode(
            """
            \u{FEFF}{
              "$schema": "layout.schema.json", "description": "\\u0041\\ud834\\udd1e\\n",
              "canvas": { "width": 1280, "height": 720, "fps": 25, "background": "#102030", "image": "images/b.png",
                          "imageFit": "contain" },
              "gap": 0.01, "margin": 0.02, "omitAudioOnly": true,
              "transition": { "duration": 250, "easing": "ease-out" },
              "arrangements": [
                { "when": { "people": 1 }, "algorithm": "solo" },
                { "algorithm": "side-by-side", "omitAudioOnly": false, "gap": 0, "transition": "cut" } ]
            }
            """)
        let settings = ArrangementSettings(
            gap: UnitFraction(0.01), margin: UnitFraction(0.02), omitsAudioOnly: true,
            transition: Transition(duration: 250, easing: .easeOut))
        var own = settings
        own.omitsAudioOnly = false
        own.gap = .zero
        own.transition = .cut
        let expected = LayoutTemplate(
            name: "all", summary: "A𝄞\n",
            canvas: CanvasOverride(
                width: 1280, height: 720, fps: 25, background: RGB(red: 16, green: 32, blue: 48),
                backdrop: .init(image: "images/b.png", fit: .contain)),
            arrangements: [
                Arrangement(when: .init(people: 1...1), placement: .algorithm(.solo), settings: settings),
                Arrangement(placement: .algorithm(.sideBySide), settings: own),
            ],
            settings: settings)
        #expect(template == expected)
    }

    @Test func transitionWithoutEasingIsSmoothAtBothEnds() throws {
        let settings = try arrangement(#"{"algorithm": "solo", "transition": {"duration": 1}}"#).settings
        #expect(settings.transition == Transition(duration: 1, easing: .easeInOut))
    }

    @Test func conditions() throws {
        let condition = try arrangement(
            """
            { "algorithm": "solo", "when": { "people": { "min": 3 }, "hosts": 1, "guests": { "max": 4 },
              "audioOnly": { "min": 1, "max": 2 }, "screen": false, "canvas": "square", "sources": "mixed" } }
            """
        ).when
        #expect(
            condition
                == Condition(
                    people: 3...Int.max, hosts: 1...1, guests: 0...4, audioOnly: 1...2, screen: false,
                    canvas: .square, sources: .mixed))
    }

    @Test func algorithms() throws {
        func placement(_ json: String) throws -> Arrangement.Placement { try arrangement("{\(json)}").placement }
        #expect(try placement(#""algorithm": "solo""#) == .algorithm(.solo))
        #expect(
            try placement(#""algorithm": "side-by-side", "featured": {"role": "guest", "stream": "camera"}"#)
                == .algorithm(.sideBySide, featured: StreamSelector(role: .guest, stream: .camera)))
        #expect(
            try placement(#""algorithm": "picture-in-picture""#)
                == .algorithm(.pictureInPicture(corner: .bottomRight, size: UnitFraction(0.3))))
        #expect(
            try placement(#""algorithm": "picture-in-picture", "corner": "top-left", "size": 0.25"#)
                == .algorithm(.pictureInPicture(corner: .topLeft, size: UnitFraction(0.25))))
        #expect(
            try placement(#""algorithm": "grid", "tileAspect": "4:3""#)
                == .algorithm(.grid(tileAspect: Aspect(width: 4, height: 3))))
        #expect(
            try placement(
                """
                "algorithm": "spotlight", "featured": {"user": "bob"}, "edge": "top", "size": 0.2, "max": 3,
                "tileAspect": "1:1"
                """)
                == .algorithm(
                    .spotlight(
                        .init(edge: .top, size: UnitFraction(0.2), most: 3, tileAspect: Aspect(width: 1, height: 1))),
                    featured: StreamSelector(user: "bob")))
        #expect(try placement(#""algorithm": "spotlight""#) == .algorithm(.spotlight(.init())))
        #expect(try placement(#""algorithm": "stack""#) == .algorithm(.stack(.vertical)))
        #expect(try placement(#""algorithm": "stack", "direction": "horizontal""#) == .algorithm(.stack(.horizontal)))
    }

    @Test func stylesAreInheritedKeyByKey() throws {
        let arrangement = try arrangement(
            """
            { "opacity": 0.5, "label": { "side": "right", "color": "#FF0000" }, "fallback": { "stalled": "nothing" },
              "panes": [
                { "slot": 1, "x": 0, "y": 0, "width": 0.5, "height": 0.5 },
                { "slot": 2, "x": 0.5, "y": 0, "width": 0.5, "height": 0.5, "label": false, "border": false,
                  "fallback": { "absent": { "image": "https://example.org/a.png" } } },
                { "slot": 3, "x": 0, "y": 0.5, "width": 0.5, "height": 0.5, "align": "top",
                  "label": { "size": 0.05, "background": "#FF0000", "backgroundOpacity": 1 } } ] }
            """,
            top: """
                "fit": "contain", "align": "bottom-left", "border": { "width": 0.01, "color": "#FF0000" },
                "label": { "edge": "top" }, "fallback": { "cameraOff": "nothing", "absent": "last-frame", "cardAfter": 3.5, "dropAfter": 45,
                  "reconnecting": "Back soon" },
                """)
        var style = PaneStyle(
            fit: .contain, align: .bottomLeft, opacity: half,
            border: .init(width: UnitFraction(0.01), colour: red),
            label: .init(edge: .top, side: .right, colour: red),
            fallback: .init(
                cameraOff: .nothing, absent: .lastFrame, stalled: .nothing, cardAfter: 3500, dropAfter: 45_000,
                reconnecting: "Back soon"))
        #expect(arrangement.settings.style == style)
        guard case .panes(let panes, nil) = arrangement.placement else {
            Issue.record("\(arrangement.placement)")
            return
        }
        var second = style
        (second.label, second.border) = (nil, nil)
        second.fallback.absent = .image("https://example.org/a.png")
        style.align = .top
        style.label?.size = UnitFraction(0.05)
        style.label?.background = red
        style.label?.backgroundOpacity = .whole
        #expect(panes.map(\.style) == [nil, second, style])
    }

    @Test func panesAndTheirRest() throws {
        let placement = try arrangement(
            """
            { "margin": 0.1, "panes": [
                { "user": "bob", "x": 0, "y": 0, "width": 0.5, "height": 1e0, "z": 2 },
                { "user": "bob", "stream": "screen", "x": 0, "y": 0, "width": 0.5, "height": 1, "z": 1 },
                { "role": "host", "x": 0.5, "y": 0, "width": 0.5, "height": 0.5 },
                { "stream": "audio", "x": 0, "y": 0, "width": 0.5, "height": 1, "z": 5 } ],
              "rest": { "x": 0.5, "y": 0.5, "width": 0.5, "height": 0.5, "z": 3, "fit": "stretch", "gap": 0.02,
                "margin": 0.03, "algorithm": "picture-in-picture", "featured": { "stream": "camera" } } }
            """.replacing("\"margin\": 0.1, ", with: "")
        ).placement
        let area = Area(x: .zero, y: .zero, width: half, height: .whole)
        let corner = Area(x: half, y: half, width: half, height: half)
        let panes = [
            PaneTemplate(binding: .user("bob"), area: area, z: 2),
            PaneTemplate(binding: .user("bob"), stream: .screen, area: area, z: 1),
            PaneTemplate(binding: .role(.host), area: Area(x: half, y: .zero, width: half, height: half)),
            PaneTemplate(binding: .anybody, stream: .audio, area: area, z: 5),
        ]
        let rest = Arrangement.Rest(
            area: corner, z: 3, algorithm: .pictureInPicture(corner: .bottomRight, size: UnitFraction(0.3)),
            featured: StreamSelector(stream: .camera),
            settings: ArrangementSettings(
                style: PaneStyle(fit: .stretch), gap: UnitFraction(0.02), margin: UnitFraction(0.03)))
        #expect(placement == .panes(panes, rest: rest))
    }

    @Test func pixelsAreExact() throws {
        // Thirds of 1280 and odd millionths: panes that touch in pixels touch on the canvas.
        let template = try decode(
            """
            { "canvas": { "width": 1280, "height": 722 }, "arrangements": [ { "panes": [
              { "slot": 1, "x": "0px", "y": "2px", "width": "2px", "height": "720px" },
              { "slot": 2, "x": "2px", "y": "2px", "width": "426px", "height": "4px" },
              { "slot": 3, "x": "428px", "y": 0, "width": "852px", "height": 0.5 } ],
              "rest": { "x": "2px", "y": "6px", "width": "426px", "height": "716px", "algorithm": "solo" } } ] }
            """)
        let scene = LayoutEngine.plan(template, participants: people(4), canvas: .portrait)
        #expect(
            scene.panes.map(\.rectangle)
                == [[0, 2, 2, 720], [2, 2, 426, 4], [428, 0, 852, 362], [2, 6, 426, 716]])
    }

    @Test func everyEvenPixelOfACanvasComesBack() throws {
        for width in [16, 360, 720, 1078, 1280, 1918, 7680] {
            for x in stride(from: 0, through: width - 2, by: max(2, width / 200 & ~1)) {
                let template = try decode(
                    """
                    { "canvas": { "width": \(width), "height": 64 }, "arrangements": [ { "panes": [
                      { "slot": 1, "x": "\(x)px", "y": 0, "width": "\(width - x)px", "height": 1 } ] } ] }
                    """)
                let scene = LayoutEngine.plan(template, participants: people(1), canvas: .portrait)
                #expect(scene.panes.map(\.rectangle) == [[x, 0, width - x, 64]])
            }
        }
    }

    @Test func soundAndItsGains() throws {
        let sound = try arrangement(
            """
            { "algorithm": "solo", "audio": { "loudest": 3, "gains": [ { "user": "bob", "stream": "screen", "gain": 4 },
              { "role": "guest", "mute": true }, { "stream": "audio", "mute": false }, { "user": "a", "gain": 0.335 } ] } }
            """
        ).settings.sound
        let gains = [
            SoundTemplate.Gain(of: StreamSelector(user: "bob", stream: .screen), percent: 400),
            SoundTemplate.Gain(of: StreamSelector(role: .guest), percent: 0),
            SoundTemplate.Gain(of: StreamSelector(stream: .audio), percent: 100),
            SoundTemplate.Gain(of: StreamSelector(user: "a"), percent: 34),
        ]
        #expect(sound == SoundTemplate(loudest: 3, gains: gains))
    }

    @Test func overlays() throws {
        let overlays = try arrangement(
            """
            { "algorithm": "solo", "overlays": [
              { "image": "a b.png", "place": "top-right", "margin": 0.05, "size": 0.3, "opacity": 0.5 },
              { "image": "c.png", "x": 0, "y": 0, "width": 0.5, "height": 1, "align": "left" },
              { "text": "Live", "place": "top", "size": 0.05, "color": "#FF0000", "bold": true,
                "background": "#FF0000", "backgroundOpacity": 1 },
              { "clock": "HH:mm", "utcOffset": -90, "x": 0, "y": 0, "width": 0.5, "height": 1, "align": "bottom" },
              { "page": "https://boards.example/score?room=1", "x": 0, "y": 0, "width": 0.5, "height": 1,
                "z": 7, "opacity": 0.5 },
              { "text": "{countdown}", "until": "1970-01-01T01:00:01.5Z", "place": "top" } ] }
            """
        ).settings.overlays
        let area = Area(x: .zero, y: .zero, width: half, height: .whole)
        let expected = [
            OverlayTemplate(
                id: "overlay-1", place: .at(.topRight, margin: UnitFraction(0.05)), opacity: half,
                content: .image("a b.png", align: .topRight, size: UnitFraction(0.3))),
            OverlayTemplate(id: "overlay-2", place: .area(area), content: .image("c.png", align: .left)),
            OverlayTemplate(
                id: "overlay-3", place: .at(.top, margin: UnitFraction(0.02)),
                content: .text(
                    "Live",
                    .init(
                        size: UnitFraction(0.05), colour: red, isBold: true, background: red, backgroundOpacity: .whole)
                )),
            OverlayTemplate(
                id: "overlay-4", place: .area(area),
                content: .clock(.minutes, utcOffset: -90, .init(align: .bottom))),
            OverlayTemplate(
                id: "overlay-5", place: .area(area), z: 7, opacity: half,
                content: .page(try #require(PageAddress("https://boards.example/score?room=1")), picture: nil)),
            OverlayTemplate(
                id: "overlay-6", place: .at(.top, margin: UnitFraction(0.02)),
                content: .text("{countdown}", .init(until: 3601))),
        ]
        #expect(overlays == expected)
    }

    @Test func overlaysOfAnArrangementReplaceThoseOfTheFile() throws {
        let top = #""overlays": [{ "text": "A", "place": "top" }], "#
        #expect(try arrangement(#"{"algorithm": "solo"}"#, top: top).settings.overlays.count == 1)
        #expect(try arrangement(#"{"algorithm": "solo", "overlays": []}"#, top: top).settings.overlays.isEmpty)
    }
}
