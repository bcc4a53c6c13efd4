import TextFormats
import Testing

@testable import LayoutEngine

/// Values of parameters, as requests change them.
struct ParameterMergingTests {
    private static let file = """
        {"params": {
          "title": {"type": "text", "default": "Hello", "maxLength": 10, "title": "Line below the picture"},
          "brand": {"type": "color", "default": "#102030"},
          "space": {"type": "number", "default": 0.1, "max": 0.2},
          "logo": {"type": "image", "default": "a.png"},
          "corner": {"type": "text", "default": "top-left"},
          "shown": {"type": "visible", "default": true}},
         "gap": {"param": "space"}, "canvas": {"background": {"param": "brand"}},
         "overlays": [
          {"text": "{title} {viewers}", "place": "top", "visible": {"param": "shown"}},
          {"image": {"param": "logo"}, "place": "bottom"}],
         "arrangements": [{"algorithm": "picture-in-picture", "corner": {"param": "corner"}}]}
        """

    private func merge(
        _ patch: String, into values: [String: LayoutParameter.Value] = [:], refused: [String: String] = [:],
        file: String = file
    ) throws -> [String: LayoutParameter.Value] {
        let node = try JSONNode(parsing: Array(patch.utf8), limits: .layouts)
        return try LayoutTemplate.decode(file.utf8, name: "x").merging(node, into: values, refusedImages: refused)
    }

    private func issues(_ patch: String, refused: [String: String] = [:], file: String = file) throws -> [String] {
        try #require(throws: LayoutError.self) { _ = try merge(patch, refused: refused, file: file) }.issues
            .map(\.description)
    }

    @Test func valuesAreSetAndTakenBack() throws {
        let first = try merge(##"{"title": "Bye", "space": 0.2, "shown": false, "brand": "#FFFFFF"}"##)
        #expect(
            first == ["title": .text("Bye"), "space": .number(0.2), "shown": .flag(false), "brand": .text("#FFFFFF")])
        let second = try merge(#"{"title": null, "space": 0, "corner": null}"#, into: first)
        #expect(second == ["space": .number(0), "shown": .flag(false), "brand": .text("#FFFFFF")])
        #expect(try merge("{}", into: second) == second)
    }

    @Test func everyIssueIsToldWithItsPlace() throws {
        let patch = """
            {"titel": "a", "title": "far too long a title",
             "brand": "red", "space": 0.3, "logo": "../a",
             "shown": 1}
            """
        #expect(
            try issues(patch) == [
                #"1:2: $.titel: found an unknown parameter, expected "title", "brand", "space", "logo", "corner" or "#
                    + #""shown"; did you mean "title"?"#,
                #"1:25: $.title: found "far too long a title", expected a text of at most 10 bytes"#,
                ##"2:11: $.brand: found "red", expected a colour like "#1A2B3C""##,
                "2:27: $.space: found 0.3, expected a number from 0 to 0.2",
                #"2:40: $.logo: found "../a", expected an http or https URL, or a path inside the layouts directory such "#
                    + #"as "images/logo.png""#,
                "3:11: $.shown: found 1, expected true or false",
            ])
        #expect(
            try issues("[]") == [
                "1:1: $: found an empty array, expected an object of names and values of the layout's parameters"
            ])
    }

    @Test func anImageThatCannotBeShownIsRefused() throws {
        #expect(
            try issues(#"{"logo": "b.png"}"#, refused: ["b.png": "does not exist"]) == [
                #"1:10: $.logo: found "b.png": does not exist, expected an image that can be shown"#
            ])
        #expect(try merge(#"{"logo": "c.png"}"#, refused: ["b.png": "does not exist"]) == ["logo": .text("c.png")])
    }

    /// A value may be valid for its type, but wrong at its place in the file.
    @Test func theLayoutIsValidWithTheValues() throws {
        #expect(try merge(#"{"corner": "top-right"}"#) == ["corner": .text("top-right")])
        let issues = try issues(#"{"corner": "topright"}"#)
        #expect(issues.count == 1)
        #expect(issues[0].contains(#"$.arrangements[0].corner: found "topright""#), "\(issues)")
        #expect(issues[0].hasSuffix(#"did you mean "top-right"?"#), "\(issues)")
    }

    /// Only a background may be without an image.
    @Test func anOverlayNeedsAnImage() throws {
        let issues = try issues(#"{"logo": ""}"#)
        #expect(issues.count == 1)
        #expect(issues[0].contains(#"$.overlays[1].image: found "", expected an http or https URL"#), "\(issues)")
    }

    @Test func aLayoutWithoutParametersSaysSo() throws {
        let file = #"{"arrangements": [{"algorithm": "solo"}]}"#
        #expect(
            try issues(#"{"a": 1}"#, file: file) == [
                #"1:2: $.a: found an unknown parameter, expected none, because the layout "x" has no parameters"#
            ])
    }

    /// Values wait for a layout that has their names, up to a limit.
    @Test func valuesOfOtherLayoutsStay() throws {
        let others = Dictionary(uniqueKeysWithValues: (0..<63).map { ("other\($0)", LayoutParameter.Value.number(1)) })
        let merged = try merge(#"{"title": "a"}"#, into: others)
        #expect(merged.count == 64)
        let template = try LayoutTemplate.decode(Self.file.utf8, name: "x")
        #expect(template.allowed(among: merged) == ["title": .text("a")])
        #expect(template.applying(merged).values == ["title": .text("a")])
        #expect(
            try merge(#"{"shown": false}"#, into: merged) == ["title": .text("a"), "shown": .flag(false)])
    }

    @Test func namesAreComparedByBytes() throws {
        let file = #"{"params": {"K": {"type": "visible", "default": true}}, "arrangements": [{"algorithm": "solo"}]}"#
        #expect(try issues("{\"\u{212A}\": true}", file: file).count == 1)
        #expect(try merge(#"{"K": false}"#, file: file) == ["K": .flag(false)])
    }

    @Test func issuesAreBounded() throws {
        let many = (0..<900).map { "\"p\($0)\": 1" }.joined(separator: ",")
        #expect(try issues("{\(many)}").count == 200)
    }

    @Test func imagesOfValuesAreKnown() throws {
        let template = try LayoutTemplate.decode(Self.file.utf8, name: "x")
        #expect(
            template.images(of: ["logo": .text("b.png"), "title": .text("c.png"), "brand": .text("d")]) == ["b.png"])
        #expect(template.images(of: ["logo": .text("../b.png")]) == [])
        #expect(template.images(of: ["logo": .text("")]) == [])
    }

    @Test func shownValuesAreThoseOfItsTexts() throws {
        let template = try LayoutTemplate.decode(Self.file.utf8, name: "x")
        #expect(template.shownValues == .viewers)
        #expect(template.applying(["shown": .flag(false)]).shownValues == [])
        let other = #"""
            {"overlays": [{"text": "{likes}", "place": "top"}],
             "arrangements": [{"algorithm": "solo", "overlays": [{"text": "{comment} {likes}", "place": "left"}]}]}
            """#
        #expect(try LayoutTemplate.decode(other.utf8, name: "x").shownValues == [.likes, .comment])
        #expect(
            LayoutValues(viewers: 1, likes: 2, comment: "3").only([.likes]) == LayoutValues(likes: 2))
    }
}
