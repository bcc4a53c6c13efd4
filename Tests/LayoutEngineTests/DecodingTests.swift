import LayoutEngine
import Testing

struct DecodingTests {
    /// A broken file and exactly what is said about it.
    struct Broken: Sendable, CustomTestStringConvertible {
        var json: String
        var issues: [String]
        var testDescription: String { json }

        init(_ json: String, _ issues: String...) {
            self.json = json
            self.issues = issues
        }
    }

    static let algorithms = #""solo", "side-by-side", "picture-in-picture" or "grid""#

    static let broken: [Broken] = [
        // Not JSON: one issue, where reading stopped.
        Broken("", "1:1: $: found the end of the file, expected a JSON value"),
        Broken("{", "1:2: $: found the end of the file, expected a key in double quotes or `}`"),
        Broken("{\n  'a': 1\n}", "2:3: $: found `'`, expected a key in double quotes or `}`"),
        Broken(#"{"a": 1,}"#, "1:9: $: found `}`, expected a key in double quotes"),
        Broken(#"{"a" 1}"#, "1:6: $: found `1`, expected `:`"),
        Broken(#"{"a": [1 2]}"#, "1:10: $: found `2`, expected `,` or `]`"),
        Broken(#"{"a": tru}"#, "1:7: $: found `t`, expected a JSON value"),
        Broken(#"{"a": 01}"#, "1:8: $: found `1`, expected `,` or `}`"),
        Broken(#"{"a": 1.}"#, "1:9: $: found `}`, expected a digit"),
        Broken(#"{"a": 1e999}"#, "1:7: $: found a number beyond the range of a double, expected a smaller number"),
        Broken(#"{"a": "\x"}"#, "1:9: $: found `x`, expected an escape: one of \"\\/bfnrtu"),
        Broken(#"{"a": "\uD834"}"#, "1:9: $: found half of a surrogate pair, expected both halves"),
        Broken("{\"a\": \"\n\"}", "1:8: $: found byte 0xA, expected `\"` before the end of the line"),
        Broken("{} x", "1:4: $: found `x`, expected the end of the file"),
        Broken(
            String(repeating: "[", count: 100),
            "1:34: $: found nesting deeper than 32, expected at most 32 levels"),
        // JSON, but no template.
        Broken("[]", "1:1: $: found an empty array, expected an object"),
        Broken("{}", "1:1: $.arrangements: found nothing, expected an array of 1 to 32 arrangements"),
        Broken(
            #"{"arrangements": []}"#,
            "1:18: $.arrangements: found an empty array, expected an array of 1 to 32 arrangements"),
        Broken(
            #"{"arangements": [{"algorithm": "grid"}]}"#,
            #"1:2: $.arangements: found an unknown key, expected "$schema", "arrangements", "canvas", "description", "#
                + #""fit", "gap" or "margin"; did you mean "arrangements"?"#),
        Broken(
            #"{"arrangements": [{"algorithm": "gird"}]}"#,
            "1:33: $.arrangements[0].algorithm: found \"gird\", expected \(algorithms); did you mean \"grid\"?"),
        Broken(
            #"{"arrangements": [{"algorithm": 7}]}"#,
            "1:33: $.arrangements[0].algorithm: found 7, expected \(algorithms)"),
        Broken(
            #"{"arrangements": [{}]}"#,
            "1:19: $.arrangements[0].algorithm: found nothing, expected \(algorithms), or \"panes\""),
        Broken(
            #"{"arrangements": [{"algorithm": "grid", "corner": "top-left"}]}"#,
            #"1:41: $.arrangements[0].corner: found an unknown key, expected "algorithm", "fit", "gap", "margin", "#
                + #""tileAspect" or "when""#),
        Broken(
            #"{"arrangements": [{"algorithm": "picture-in-picture", "corner": "botom-left", "size": 0.9}]}"#,
            #"1:65: $.arrangements[0].corner: found "botom-left", expected "top-left", "top-right", "bottom-left" or "#
                + #""bottom-right"; did you mean "bottom-left"?"#,
            "1:87: $.arrangements[0].size: found 0.9, expected a number from 0.05 to 0.5"),
        Broken(
            #"{"arrangements": [{"algorithm": "grid", "tileAspect": "16/9"}]}"#,
            #"1:55: $.arrangements[0].tileAspect: found "16/9", expected a shape like "16:9", both sides 1 to 100"#),
        Broken(
            #"{"arrangements": [{"algorithm": "grid", "when": {"people": {"min": 3, "max": 2}}}]}"#,
            "1:60: $.arrangements[0].when.people: found min 3 above max 2, expected min ≤ max"),
        Broken(
            #"{"arrangements": [{"algorithm": "grid"}, {"algorithm": "solo"}]}"#,
            "1:42: $.arrangements[1]: found an arrangement that those before it always win over, "
                + "expected a condition that they do not cover"),
        Broken(
            #"{"fit": "cover", "fit": "contain", "arrangements": [{"algorithm": "grid"}]}"#,
            "1:18: $.fit: found the key again, expected it once (first on line 1)"),
        Broken(
            #"{"a b": null, "arrangements": [{"algorithm": "grid"}]}"#,
            #"1:2: $["a b"]: found an unknown key, expected "$schema", "arrangements", "canvas", "description", "fit", "#
                + #""gap" or "margin""#),
        // Everything at once, in the order of the file.
        Broken(
            """
            {
              "canvas": { "width": 721, "height": "big", "fps": 0, "background": "red", "colour": 1 },
              "gap": 1,
              "arrangements": [ { "algorithm": "grid", "fit": "covr" } ]
            }
            """,
            "2:24: $.canvas.width: found 721, expected an even whole number from 16 to 7680",
            "2:39: $.canvas.height: found \"big\", expected an even whole number from 16 to 7680",
            "2:53: $.canvas.fps: found 0, expected a whole number from 1 to 60",
            "2:70: $.canvas.background: found \"red\", expected a colour like \"#1A2B3C\"",
            "2:77: $.canvas.colour: found an unknown key, expected \"background\", \"fps\", \"height\" or \"width\"",
            "3:10: $.gap: found 1, expected a number from 0 to 0.25",
            "4:51: $.arrangements[0].fit: found \"covr\", expected \"cover\", \"contain\" or \"stretch\"; "
                + "did you mean \"cover\"?"),
        // Explicit panes.
        Broken(
            """
            {"arrangements": [{"panes": [
            {"x": 0, "y": 0, "width": 1, "height": 1},
            {"slot": 1, "user": "a", "x": 0, "y": 0, "width": 1, "height": 1, "z": 1},
            {"slot": 1, "x": 0.5, "y": 0, "width": 0.6, "height": 1, "z": 2},
            {"slot": 2, "x": 0, "y": 0, "width": 0.5, "z": 3},
            {"slot": 3, "x": 0, "y": 0, "width": 0.6, "height": 1, "z": 4},
            {"slot": 3, "x": 0.5, "y": 0.5, "width": 0.5, "height": 0.5, "z": 4},
            {"role": "gest", "x": 0, "y": 0, "width": 0.5, "hight": 0.5, "z": 5}
            ]}]}
            """,
            #"2:1: $.arrangements[0].panes[0]: found a pane for nobody, expected exactly one of "slot", "user" and "#
                + #""role""#,
            #"3:1: $.arrangements[0].panes[1]: found slot and user, expected exactly one of "slot", "user" and "role""#,
            "4:1: $.arrangements[0].panes[2]: found x + width = 1.1, expected at most 1, the canvas' edge",
            "5:1: $.arrangements[0].panes[3].height: found nothing, expected a number from 0.02 to 1",
            "7:1: $.arrangements[0].panes[5]: found a pane over $.arrangements[0].panes[4] with the same z, "
                + "expected another z, or rectangles that do not overlap",
            "7:1: $.arrangements[0].panes[5]: found the same person as in $.arrangements[0].panes[4], "
                + "expected each user and each slot once",
            #"8:10: $.arrangements[0].panes[6].role: found "gest", expected "host" or "guest"; did you mean "guest"?"#,
            #"8:48: $.arrangements[0].panes[6].hight: found an unknown key, expected "fit", "height", "role", "slot", "#
                + #""user", "width", "x", "y" or "z"; did you mean "height"?"#),
        Broken(
            #"{"arrangements": [{"panes": [], "gap": 0.1}]}"#,
            "1:29: $.arrangements[0].panes: found an empty array, expected an array of 1 to 16 panes",
            #"1:33: $.arrangements[0].gap: found an unknown key, expected "fit", "panes" or "when""#),
        Broken(
            #"{"arrangements": [{"algorithm": "grid", "panes": []}]}"#,
            "1:50: $.arrangements[0].panes: found panes beside an algorithm, expected one of the two"),
    ]

    @Test(arguments: broken)
    func brokenFileIsToldWhole(file: Broken) throws {
        let error = try #require(throws: LayoutError.self) {
            try LayoutTemplate.decode(file.json.utf8, name: "broken")
        }
        #expect(error.issues.map(\.description) == file.issues)
        #expect(error.description.hasPrefix("broken.json:\(file.issues[0])"))
    }

    @Test func bytesThatAreNoTextAreRefused() throws {
        let bytes = Array(#"{"a": ""#.utf8) + [0xFF] + Array(#""}"#.utf8)
        let error = try #require(throws: LayoutError.self) { try LayoutTemplate.decode(bytes, name: "x") }
        #expect(error.issues.map(\.found) == ["bytes that are not UTF-8"])
    }

    @Test func hugeFileIsRefusedUnread() throws {
        let bytes = [UInt8](repeating: UInt8(ascii: " "), count: 300_000)
        let error = try #require(throws: LayoutError.self) { try LayoutTemplate.decode(bytes, name: "x") }
        #expect(error.issues.map(\.expected) == ["at most 262144 bytes"])
    }

    @Test func everyKeyIsRead() throws {
        let json = """
            \u{FEFF}{
              "$schema": "layout.schema.json", "description": "\\u0041\\ud834\\udd1e\\n", "fit": "contain",
              "gap": 0.01, "margin": 0.02,
              "canvas": { "width": 1280, "height": 720, "fps": 25, "background": "#102030" },
              "arrangements": [
                { "when": { "people": { "max": 1 } }, "algorithm": "solo", "fit": "stretch", "margin": 0.1 },
                { "when": { "people": { "max": 2 } }, "algorithm": "side-by-side" },
                { "when": { "people": { "max": 3 } }, "algorithm": "picture-in-picture", "corner": "top-left",
                  "size": 0.25, "gap": 0 },
                { "when": { "people": { "max": 9 } }, "algorithm": "grid", "tileAspect": "4:3" },
                { "when": { "people": { "min": 10 } }, "panes": [
                  { "slot": 1, "x": 0, "y": 0, "width": 1e0, "height": 1 },
                  { "user": "bob", "x": 0.5, "y": 0.5, "width": 0.5, "height": 0.5, "z": 2, "fit": "cover" },
                  { "role": "host", "x": 0, "y": 0, "width": 0.5, "height": 0.5, "z": 1 } ] }
              ]
            }
            """
        let template = try LayoutTemplate.decode(json.utf8, name: "all")
        let (gap, margin) = (UnitFraction(0.01), UnitFraction(0.02))
        let half = UnitFraction(0.5)
        let one = UnitFraction(1)
        let expected = LayoutTemplate(
            name: "all", summary: "A𝄞\n",
            canvas: CanvasOverride(
                width: 1280, height: 720, fps: 25, background: RGB(red: 16, green: 32, blue: 48)),
            arrangements: [
                Arrangement(
                    when: .init(people: 0...1), placement: .solo, fit: .stretch, gap: gap,
                    margin: UnitFraction(0.1)),
                Arrangement(
                    when: .init(people: 0...2), placement: .sideBySide, fit: .contain, gap: gap, margin: margin),
                Arrangement(
                    when: .init(people: 0...3),
                    placement: .pictureInPicture(corner: .topLeft, size: UnitFraction(0.25)), fit: .contain,
                    margin: margin),
                Arrangement(
                    when: .init(people: 0...9), placement: .grid(tileAspect: Aspect(width: 4, height: 3)),
                    fit: .contain, gap: gap, margin: margin),
                Arrangement(
                    when: .init(people: 10...Int.max),
                    placement: .panes([
                        PaneTemplate(binding: .slot(1), x: .zero, y: .zero, width: one, height: one),
                        PaneTemplate(
                            binding: .user("bob"), x: half, y: half, width: half, height: half, z: 2, fit: .cover),
                        PaneTemplate(binding: .role(.host), x: .zero, y: .zero, width: half, height: half, z: 1),
                    ]), fit: .contain),
            ])
        #expect(template == expected)
    }
}
