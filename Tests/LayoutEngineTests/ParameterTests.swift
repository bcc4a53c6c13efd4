import LayoutEngine
import Testing

/// Values that an operator changes without editing a file.
struct ParameterTests {
    private static let file = """
        {"params": {
          "title": {"type": "text", "default": "Hello", "maxLength": 10},
          "brand": {"type": "color", "default": "#102030"},
          "space": {"type": "number", "default": 0.1, "max": 0.2},
          "logo": {"type": "image", "default": "a.png"},
          "ticker": {"type": "visible", "default": true}},
         "gap": {"param": "space"}, "canvas": {"background": {"param": "brand"}},
         "overlays": [
          {"text": "{title}: {host} and {guest}, {people} people, {viewers} watch, {likes} like, {comment}", "place": "top"},
          {"image": {"param": "logo"}, "place": "bottom"},
          {"text": "at {clock}", "place": "left", "utcOffset": 60, "visible": {"param": "ticker"}}],
         "arrangements": [{"algorithm": "side-by-side"}]}
        """

    private func scene(
        _ params: [String: LayoutParameter.Value] = [:], values: LayoutValues = LayoutValues()
    ) throws -> Scene {
        let template = try LayoutTemplate.decode(Self.file.utf8, name: "params").applying(params)
        return LayoutEngine.plan(template, participants: people(2), canvas: .landscape, values: values)
    }

    private func text(_ scene: Scene, _ index: Int = 0) -> String? {
        if case .text(let text, _) = scene.overlays[index].content { text } else { nil }
    }

    @Test func defaultsStandWhereNothingIsSet() throws {
        let scene = try scene()
        #expect(scene.canvas.background == RGB(hex: "#102030"))
        #expect(scene.panes[1].x - scene.panes[0].width == 72)
        #expect(text(scene) == "Hello: user0 and user1, 2 people, – watch, – like, ")
        #expect(scene.overlays.count == 3)
        let svg = scene.svg(time: 3600)
        #expect(svg.contains(">at 02:00</text>"))
    }

    @Test func valuesTakeTheirPlace() throws {
        let scene = try scene(
            [
                "title": .text("Bye"), "brand": .text("#FFFFFF"), "space": .number(0), "logo": .text("b.png"),
                "ticker": .flag(false),
            ], values: LayoutValues(viewers: 12_345, likes: 4_100_000, comment: "{title} <b>"))
        #expect(scene.canvas.background == .white)
        #expect(scene.panes[1].x == scene.panes[0].width)
        #expect(text(scene) == "Bye: user0 and user1, 2 people, 12.3K watch, 4.1M like, {title} <b>")
        #expect(scene.overlays.count == 2)
        if case .image(let name, _) = scene.overlays[1].content { #expect(name == "b.png") }
    }

    /// A comment or a name cannot put a clock into a text, nor disappear from it.
    @Test func foreignTextsAreShownAsTheyWereWritten() throws {
        let template = try LayoutTemplate.decode(
            """
            {"overlays": [{"text": "{comment} | {host} | {clock}", "place": "top", "utcOffset": 60}],
             "arrangements": [{"algorithm": "solo"}]}
            """.utf8, name: "foreign")
        var crowd = people(1)
        crowd[0].name = "{countdown}"
        let scene = LayoutEngine.plan(
            template, participants: crowd, canvas: .landscape, values: LayoutValues(comment: "at {clock}"))
        let svg = scene.svg(time: 3600)
        let shown = svg.unicodeScalars.filter { $0 != "\u{2060}" }
        #expect(String(String.UnicodeScalarView(shown)).contains(">at {clock} | {countdown} | 02:00</text>"))
    }

    @Test func valuesThatAreNotAllowedAreIgnored() throws {
        let values: [String: LayoutParameter.Value] = [
            "title": .text("far too long a title"), "brand": .text("red"), "space": .number(0.3), "logo": .text("../a"),
            "ticker": .number(0), "nobody": .flag(true),
        ]
        #expect(try scene(values) == scene())
    }

    @Test func defaultsComeBack() throws {
        let template = try LayoutTemplate.decode(Self.file.utf8, name: "params")
        let changed = template.applying(["brand": .text("#FFFFFF")])
        #expect(changed != template && changed.images == ["a.png"])
        #expect(changed.applying([:]) == template)
    }

    @Test(arguments: [
        (
            ##"{"params": {"a": {"type": "colour", "default": "#000000"}}, "arrangements": [{"algorithm": "solo"}]}"##,
            #"1:27: $.params.a.type: found "colour", expected "text", "number", "color", "image" or "visible"; did you "#
                + #"mean "color"?"#
        ),
        (
            #"{"params": {"a": {"type": "number", "default": 2}}, "arrangements": [{"algorithm": "solo"}]}"#,
            "1:48: $.params.a.default: found 2, expected a number from 0 to 1"
        ),
        (
            #"{"params": {"gap": {"type": "number", "default": 0}}, "gap": {"param": "gab"}, "arrangements": [{"algorithm": "solo"}]}"#,
            #"1:72: $.gap.param: found "gab", expected "gap"; did you mean "gap"?"#
        ),
        (
            #"{"params": {"s": {"type": "number", "default": 0}}, "gap": {"param": "s"}, "arrangements": [{"algorithm": "solo"}]}"#,
            "1:60: $.gap: found 1, expected a number from 0 to 0.25"
        ),
        (
            #"{"params": {"name": {"type": "text", "default": ""}}, "overlays": [{"text": "{nam}", "place": "top"}], "arrangements": [{"algorithm": "solo"}]}"#,
            #"1:77: $.overlays[0].text: found the name {nam}, expected "clock", "comment", "countdown", "guest", "host", "#
                + #""likes", "name", "people" or "viewers"; did you mean {name}?"#
        ),
        (
            #"{"params": {"host": {"type": "text", "default": ""}}, "arrangements": [{"algorithm": "solo"}]}"#,
            #"1:13: $.params.host: found the name "host", expected a letter, then letters, digits, "_" and "-", at most "#
                + #"40, each name once and none of "viewers", "likes", "comment", "host", "guest", "people", "clock" or "#
                + #""countdown""#
        ),
        (
            #"{"params": {"a": {"type": "text", "default": "", "max": 3}}, "arrangements": [{"algorithm": "solo"}]}"#,
            #"1:57: $.params.a.max: found "max" of a text, expected "max" only of a number"#
        ),
    ])
    func mistakesAreToldWithTheirPlace(json: String, issue: String) throws {
        let error = try #require(throws: LayoutError.self) { try LayoutTemplate.decode(json.utf8, name: "x") }
        #expect(error.issues.first?.description == issue)
    }

    /// A file without parameters may show braces.
    @Test func bracesOfEarlierFilesStay() throws {
        let json = #"{"overlays": [{"text": "{a} {host", "place": "top"}], "arrangements": [{"algorithm": "solo"}]}"#
        let template = try LayoutTemplate.decode(json.utf8, name: "x")
        let scene = LayoutEngine.plan(template, participants: people(1), canvas: .landscape)
        #expect(text(scene) == "{a} {host")
    }

    @Test func textsAreBounded() throws {
        let long = String(repeating: "é", count: 2000)
        let scene = try scene(values: LayoutValues(comment: long))
        #expect(try #require(text(scene)).utf8.count <= 512)
    }

    /// A background image may be left out, and with it its effects.
    @Test func anEmptyImageIsNone() throws {
        let template = try LayoutTemplate.decode(
            """
            {"params": {"picture": {"type": "image", "default": ""}},
             "canvas": {"background": {"from": "#102030", "to": "#000000"}, "image": {"param": "picture"},
                        "backdrop": {"blur": 0.05, "dim": 0.5}},
             "arrangements": [{"algorithm": "solo"}]}
            """.utf8, name: "x")
        func background(_ template: LayoutTemplate) -> Scene.Backdrop? {
            LayoutEngine.plan(template, participants: people(1), canvas: .landscape).background
        }
        let plain = Scene.Backdrop(Gradient(from: RGB(red: 16, green: 32, blue: 48), to: .black, angle: 180))
        #expect(background(template) == plain && template.images.isEmpty)
        let changed = template.applying(["picture": .text("a.png")])
        #expect(changed.images == ["a.png"])
        #expect(background(changed)?.image == "a.png" && background(changed)?.blur == 36)
        #expect(background(changed)?.dim == UnitFraction(0.5))
        // An image that cannot be shown is left out, too.
        #expect(background(changed.resolvingImages { _ in nil }) == plain)
        #expect(background(changed.applying(["picture": .text("")])) == plain)
    }

    @Test func tooManyParametersAreRefused() throws {
        let many = (0..<33).map { #""p\#($0)": {"type": "visible", "default": true}"# }.joined(separator: ",")
        let error = try #require(throws: LayoutError.self) {
            try LayoutTemplate.decode(
                #"{"params": {\#(many)}, "arrangements": [{"algorithm": "solo"}]}"#.utf8, name: "x")
        }
        #expect(error.issues.map(\.expected) == ["an object of at most 32 parameters"])
    }
}
