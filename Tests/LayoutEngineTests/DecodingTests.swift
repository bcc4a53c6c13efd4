import Testing

@testable import LayoutEngine

struct DecodingTests {
    /// A broken file and its exact issues.
    struct Broken: Sendable, CustomTestStringConvertible {
        var json: String
        var issues: [String]
        var testDescription: String { json }

        init(_ json: String, _ issues: String...) {
            self.json = json
            self.issues = issues
        }
    }

    static let algorithms = JSONPath.list(LayoutAlgorithms.names)
    static let topKeys =
        #""$schema", "align", "arrangements", "audio", "border", "canvas", "card", "description", "fallback", "fit", "#
        + #""gap", "label", "margin", "omitAudioOnly", "opacity", "overlays", "params", "radius", "screenFit", "shadow", "#
        + #""slate", "speaking", "surround" or "transition""#

    static let broken: [Broken] = [
        // Not JSON: one issue, at the position where reading stopped.
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
        // JSON, but not a template.
        Broken("[]", "1:1: $: found an empty array, expected an object"),
        Broken("{}", "1:1: $.arrangements: found nothing, expected an array of 1 to 32 arrangements"),
        Broken(
            #"{"arrangements": []}"#,
            "1:18: $.arrangements: found an empty array, expected an array of 1 to 32 arrangements"),
        Broken(
            #"{"arangements": [{"algorithm": "grid"}]}"#,
            "1:2: $.arangements: found an unknown key, expected \(topKeys); did you mean \"arrangements\"?"),
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
            #"1:41: $.arrangements[0].corner: found an unknown key, expected "algorithm", "align", "audio", "border", "#
                + #""card", "fallback", "featured", "fit", "gap", "label", "margin", "omitAudioOnly", "opacity", "#
                + #""overlays", "radius", "screenFit", "shadow", "speaking", "surround", "tileAspect", "#
                + #""transition" or "when""#),
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
            "1:60: $.arrangements[0].when.people: found min 3 greater than max 2, expected min ≤ max"),
        Broken(
            #"{"arrangements": [{"algorithm": "grid"}, {"algorithm": "solo"}]}"#,
            "1:42: $.arrangements[1]: found an arrangement that is never used: earlier ones always match, "
                + "expected a condition that the earlier ones do not cover"),
        Broken(
            #"{"fit": "cover", "fit": "contain", "arrangements": [{"algorithm": "grid"}]}"#,
            "1:18: $.fit: found a duplicate key, expected each key once (first on line 1)"),
        Broken(
            #"{"a b": null, "arrangements": [{"algorithm": "grid"}]}"#,
            #"1:2: $["a b"]: found an unknown key, expected \#(topKeys)"#),
        // All kinds of issues at once, in the order of the file.
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
            "2:70: $.canvas.background: found \"red\", expected a colour like \"#1A2B3C\", or "
                + "{\"from\": …, \"to\": …, \"angle\": …}",
            "2:77: $.canvas.colour: found an unknown key, expected \"backdrop\", \"background\", \"fps\", "
                + "\"height\", \"image\", \"imageFit\" or \"width\"",
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
            #"2:1: $.arrangements[0].panes[0]: found a pane without a participant, expected exactly one of "slot", "user" and "#
                + #""role", or "stream""#,
            #"3:1: $.arrangements[0].panes[1]: found slot and user, expected exactly one of "slot", "user" and "role", "#
                + #"or "stream""#,
            "4:1: $.arrangements[0].panes[2]: found x + width = 1.1, expected at most 1, the edge of the canvas",
            "5:1: $.arrangements[0].panes[3].height: found nothing, expected a number from 0.02 to 1",
            "7:1: $.arrangements[0].panes[5]: found a pane that overlaps $.arrangements[0].panes[4] at the same z, "
                + "expected another z, or rectangles that do not overlap",
            "7:1: $.arrangements[0].panes[5]: found the same person as in $.arrangements[0].panes[4], "
                + "expected each user and each slot once",
            #"8:10: $.arrangements[0].panes[6].role: found "gest", expected "host" or "guest"; did you mean "guest"?"#,
            #"8:48: $.arrangements[0].panes[6].hight: found an unknown key, expected "align", "border", "card", "fallback", "#
                + #""fit", "height", "label", "opacity", "radius", "role", "screenFit", "shadow", "slot", "speaking", "#
                + #""stream", "surround", "user", "visible", "width", "x", "y" or "z"; "#
                + #"did you mean "height"?"#),
        Broken(
            #"{"arrangements": [{"panes": [], "gap": 0.1}]}"#,
            "1:29: $.arrangements[0].panes: found an empty array, expected an array of 1 to 16 panes",
            #"1:33: $.arrangements[0].gap: found an unknown key, expected "align", "audio", "border", "card", "fallback", "#
                + #""fit", "label", "omitAudioOnly", "opacity", "overlays", "panes", "radius", "rest", "screenFit", "shadow", "#
                + #""speaking", "surround", "transition" or "when""#),
        Broken(
            #"{"arrangements": [{"algorithm": "grid", "panes": []}]}"#,
            "1:50: $.arrangements[0].panes: found panes together with an algorithm, expected one of the two"),
        // Settings that arrangements share.
        Broken(
            """
            {"label": {"edge": "left", "size": 0.5}, "border": true, "opacity": 2, "align": "middle",
            "transition": "fade", "omitAudioOnly": 1,
            "fallback": {"cameraOff": "crad", "absent": {"image": "../x.png"}, "stalled": 1},
            "audio": {"loudest": 17, "gains": [{"gain": 1}, {"user": "a"}, {"user": "a", "gain": 5, "mute": true}]},
            "arrangements": [{"algorithm": "stack", "direction": "up", "featured": {}}]}
            """,
            #"1:20: $.label.edge: found "left", expected "top" or "bottom""#,
            "1:36: $.label.size: found 0.5, expected a number from 0.01 to 0.2",
            "1:52: $.border: found true, expected an object or false",
            "1:69: $.opacity: found 2, expected a number from 0 to 1",
            #"1:81: $.align: found "middle", expected "top-left", "top", "top-right", "left", "center", "right", "#
                + #""bottom-left", "bottom" or "bottom-right""#,
            #"2:15: $.transition: found "fade", expected "cut", or {"duration": …, "easing": …}"#,
            "2:40: $.omitAudioOnly: found 1, expected true or false",
            #"3:27: $.fallback.cameraOff: found "crad", expected "last-frame", "card" or "nothing", or {"image": …}; "#
                + #"did you mean "card"?"#,
            #"3:55: $.fallback.absent.image: found "../x.png", expected an http or https URL, or a path inside the "#
                + #"layouts directory such as "images/logo.png""#,
            #"3:79: $.fallback.stalled: found 1, expected "last-frame", "card" or "nothing", or {"image": …}"#,
            "4:22: $.audio.loudest: found 17, expected a whole number from 1 to 16",
            #"4:36: $.audio.gains[0]: found an empty selector, expected one or more of "user", "role" and "stream""#,
            #"4:49: $.audio.gains[1]: found neither gain nor mute, expected exactly one of "gain" and "mute""#,
            #"4:64: $.audio.gains[2]: found gain and mute, expected exactly one of "gain" and "mute""#,
            "4:86: $.audio.gains[2].gain: found 5, expected a number from 0 to 4",
            #"5:54: $.arrangements[0].direction: found "up", expected "vertical" or "horizontal""#,
            #"5:72: $.arrangements[0].featured: found an empty selector, expected one or more of "user", "role" "#
                + #"and "stream""#),
        Broken(
            #"{"transition": {"easing": "bounce"}, "canvas": {"imageFit": "cover"}, "arrangements": [{"algorithm": "solo"}]}"#,
            "1:16: $.transition.duration: found nothing, expected milliseconds, a whole number from 0 to 5000",
            #"1:27: $.transition.easing: found "bounce", expected "linear", "ease-in", "ease-out" or "ease-in-out""#,
            #"1:61: $.canvas.imageFit: found "imageFit" without an image, expected "image" as well"#),
        // Pages.
        Broken(
            """
            {"overlays": [
            {"page": "https://a.example/", "place": "top"},
            {"page": "ftp://a.example/", "x": 0, "y": 0, "width": 1, "height": 1, "align": "left"}
            ], "arrangements": [{"algorithm": "solo"}]}
            """,
            "2:1: $.overlays[0].x: found nothing, expected a number from 0 to 1",
            "2:1: $.overlays[0].width: found nothing, expected a number from 0.02 to 1",
            "2:1: $.overlays[0].y: found nothing, expected a number from 0 to 1",
            "2:1: $.overlays[0].height: found nothing, expected a number from 0.02 to 1",
            #"2:32: $.overlays[0].place: found an unknown key, expected "height", "opacity", "page", "visible", "#
                + #""width", "x", "y" or "z""#,
            #"3:10: $.overlays[1].page: found "ftp://a.example/", expected an http or https URL of printable ASCII"#,
            #"3:71: $.overlays[1].align: found an unknown key, expected "height", "opacity", "page", "visible", "#
                + #""width", "x", "y" or "z""#),
        // Overlays.
        Broken(
            """
            {"overlays": [
            {"place": "top"},
            {"text": "a", "image": "b.png"},
            {"text": "", "place": "top", "align": "left"},
            {"clock": "HH", "x": 0, "y": 0, "width": 1, "place": "top"},
            {"image": "b.png", "bold": true}
            ], "arrangements": [{"algorithm": "solo"}]}
            """,
            #"2:1: $.overlays[0]: found an overlay without content, expected exactly one of "image", "text", "#
                + #""clock" and "page""#,
            #"3:1: $.overlays[1]: found image and text, expected exactly one of "image", "text", "clock" and "page""#,
            #"4:10: $.overlays[2].text: found "", expected a text of 1 to 256 bytes"#,
            #"4:30: $.overlays[2].align: found an unknown key, expected "background", "backgroundOpacity", "bold", "#
                + #""color", "font", "margin", "opacity", "outline", "place", "radius", "size", "text", "until", "utcOffset", "visible" or "z""#,
            "5:1: $.overlays[3].height: found nothing, expected a number from 0.02 to 1",
            #"5:11: $.overlays[3].clock: found "HH", expected "HH:mm:ss", "HH:mm", "yyyy-MM-dd" or "#
                + #""yyyy-MM-dd HH:mm:ss""#,
            "5:54: $.overlays[3].place: found both a place and a rectangle, expected one of the two",
            #"6:1: $.overlays[4].place: found nothing, expected "top-left", "top", "top-right", "left", "center", "#
                + #""right", "bottom-left", "bottom" or "bottom-right", or x, y, width and height"#,
            #"6:20: $.overlays[4].bold: found an unknown key, expected "image", "margin", "opacity", "place", "size", "#
                + #""visible" or "z""#
        ),
        // Pixels.
        Broken(
            """
            {"canvas": {"width": 360, "height": 640}, "arrangements": [{"panes": [
            {"slot": 1, "x": "3px", "y": "-2px", "width": "400px", "height": "0px"},
            {"slot": 2, "x": "100px", "y": 0, "width": "262px", "height": 1},
            {"slot": 3, "x": "120px", "y": 0, "width": 0.7, "height": 1}]}]}
            """,
            #"2:18: $.arrangements[0].panes[0].x: found "3px", expected a number from 0 to 1, or even pixels up to "#
                + #""360px""#,
            #"2:30: $.arrangements[0].panes[0].y: found "-2px", expected a number from 0 to 1, or even pixels up to "#
                + #""640px""#,
            #"2:47: $.arrangements[0].panes[0].width: found "400px", expected a number from 0.02 to 1, or even pixels "#
                + #"up to "360px""#,
            #"2:66: $.arrangements[0].panes[0].height: found "0px", expected a number from 0.02 to 1, or even pixels "#
                + #"up to "640px""#,
            "3:1: $.arrangements[0].panes[1]: found x + width = 362px, expected at most 360px, the edge of the canvas",
            "4:1: $.arrangements[0].panes[2]: found x + width = 1.033333, expected at most 1, the edge of the canvas"),
        Broken(
            #"{"arrangements": [{"panes": [{"slot": 1, "x": "2px", "y": 0, "width": 1, "height": 1}]}]}"#,
            #"1:47: $.arrangements[0].panes[0].x: found "2px", expected a number from 0 to 1; pixels need a canvas "#
                + "with width and height in the file"),
        // The remaining keys.
        Broken(
            """
            {"arrangements": [{"panes": [{"slot": 1, "x": 0, "y": 0, "width": 0.6, "height": 1, "z": 1}],
            "rest": {"x": 0.5, "y": 0, "width": 0.5, "height": 1, "algorithm": "picture-in-picture"}},
            {"panes": [{"slot": 1, "x": 0, "y": 0, "width": 1, "height": 1, "z": 1}],
            "rest": {"x": 0, "y": 0, "width": 1, "height": 1}},
            {"algorithm": "grid", "rest": {}}]}
            """,
            "2:9: $.arrangements[0].rest: found a pane that overlaps $.arrangements[0].panes[0] at the same z, "
                + "expected another z, or rectangles that do not overlap",
            "3:1: $.arrangements[1]: found an arrangement that is never used: earlier ones always match, "
                + "expected a condition that the earlier ones do not cover",
            "4:9: $.arrangements[1].rest.algorithm: found nothing, expected \(algorithms)",
            "5:1: $.arrangements[2]: found an arrangement that is never used: earlier ones always match, "
                + "expected a condition that the earlier ones do not cover",
            #"5:31: $.arrangements[2].rest: found rest together with an algorithm, expected "rest" only with "panes""#),
        // Conditions that cannot hold.
        Broken(
            """
            {"canvas": {"width": 1280, "height": 720}, "arrangements": [
            {"when": {"hosts": 2, "guests": {"min": 1}, "people": 2}, "algorithm": "solo"},
            {"when": {"audioOnly": {"min": 3}, "people": 2}, "algorithm": "solo"},
            {"when": {"screen": true, "people": {"max": 0}}, "algorithm": "solo"},
            {"when": {"canvas": "portrait"}, "algorithm": "solo"},
            {"when": {"people": "two"}, "algorithm": "solo"}]}
            """,
            "2:10: $.arrangements[0].when: found at least 3 hosts and guests among at most 2 people, "
                + "expected a condition that can be met",
            "3:10: $.arrangements[1].when: found at least 3 audio-only among at most 2 people, "
                + "expected a condition that can be met",
            "4:10: $.arrangements[2].when: found a screen in an empty room, expected a condition that can be met",
            #"5:10: $.arrangements[3].when: found canvas "portrait" in a file with a landscape canvas, "#
                + "expected a condition that can be met",
            #"6:21: $.arrangements[4].when.people: found "two", expected a whole number from 0 to 1000, or "#
                + #"{"min": …, "max": …}"#),
    ]

    @Test(arguments: broken)
    func brokenFileIsToldWhole(file: Broken) throws {
        let error = try #require(throws: LayoutError.self) {
            try LayoutTemplate.decode(file.json.utf8, name: "broken")
        }
        #expect(error.issues.map(\.description) == file.issues)
        #expect(error.description.hasPrefix("broken.json:\(file.issues[0])"))
    }

    /// A missing required key is reported even if another key's name is so similar that it could be a typing error.
    @Test(arguments: [
        (#"{"arrangements": [{"panes": [{"slot": 1, @}]}]}"#, ["x", "y", "width", "height"]),
        (
            #"{"arrangements": [{"panes": [{"slot": 1, "x": 0, "y": 0, "width": 1, "height": 1, "z": 3}], "rest": {@}}]}"#,
            ["x", "y", "width", "height", "algorithm"]
        ),
        (#"{"overlays": [{"text": "a", @}], "arrangements": [{"algorithm": "solo"}]}"#, ["x", "y", "width", "height"]),
    ])
    func everyRequiredKeyIsMissed(file: String, keys: [String]) throws {
        let values = ["x": "0", "y": "0", "width": "1", "height": "1", "algorithm": "\"solo\""]
        func decode(without missing: String?) throws -> LayoutTemplate {
            let members = keys.filter { $0 != missing }.compactMap { key in values[key].map { "\"\(key)\": \($0)" } }
            return try LayoutTemplate.decode(
                file.replacing("@", with: members.joined(separator: ", ")).utf8, name: "x")
        }
        _ = try decode(without: nil)
        for key in keys {
            let error = try #require(throws: LayoutError.self, "\(key)") { try decode(without: key) }
            #expect(error.issues.count == 1)
            #expect(error.issues.first?.path.hasSuffix(".\(key)") == true)
            #expect(error.issues.first?.found == "nothing")
        }
    }

    @Test func manyIssuesAreCounted() throws {
        let keys = (0..<5000).map { "\"key\($0)\": \($0)" }.joined(separator: ",\n")
        let error = try #require(throws: LayoutError.self) {
            try LayoutTemplate.decode("{\(keys)}".utf8, name: "x")
        }
        #expect(error.issues.count == 201)
        #expect(error.issues.last?.found == "4801 more issues from here on")
        #expect(error.issues.last?.line == 200)
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
}
