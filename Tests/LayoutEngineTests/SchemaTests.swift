import Foundation
import Testing

@testable import LayoutEngine

/// `layout.schema.json` and the decoder know the same keys and words, in every place of a file.
///
/// The test uses the decoder's error messages: for an unknown key it lists all known keys, and for a wrong word all
/// valid words.
struct SchemaTests {
    /// A place in a file: a template with `@` where members are inserted, and the path of their object in the schema.
    struct Place: Sendable, CustomTestStringConvertible {
        var name: String
        var file: String
        /// Path of keys from the schema's root.
        var schema: String
        /// Keys of the schema's object that are forbidden in this form of it.
        var without: Set<String> = []
        var testDescription: String { name }
    }

    private static let algorithmKeys = Set(LayoutAlgorithms.keys).union(["featured"])
    private static let ownKeys: [(String, Set<String>)] = LayoutAlgorithms.all.map {
        ($0.name, Set($0.keys.map(\.name)).union(["featured"]))
    }
    private static let solo = #""arrangements": [{"algorithm": "solo"}]"#
    private static let rectangle = #""x": 0, "y": 0, "width": 1, "height": 1"#

    private static func look(_ key: String, _ member: String) -> Place {
        Place(name: key, file: "{\"\(key)\": {\"\(member)\": 0 @}, \(solo)}", schema: "$defs/\(key)/anyOf/1")
    }

    static let places: [Place] =
        [
            Place(name: "file", file: "{\(solo) @}", schema: ""),
            Place(name: "canvas", file: "{\"canvas\": {\"fps\": 20 @}, \(solo)}", schema: "$defs/canvas"),
            Place(name: "label", file: "{\"label\": {\"size\": 0.1 @}, \(solo)}", schema: "$defs/label/anyOf/1"),
            Place(name: "slate", file: "{\"slate\": {\"title\": \"a\" @}, \(solo)}", schema: "$defs/slate"),
            Place(
                name: "parameter", file: "{\"params\": {\"a\": {\"type\": \"text\", \"default\": \"\" @}}, \(solo)}",
                schema: "$defs/param"),
            Place(
                name: "gradient",
                file: "{\"canvas\": {\"background\": {\"from\": \"#000000\", \"to\": \"#FFFFFF\" @}}, \(solo)}",
                schema: "$defs/canvas/properties/background/anyOf/1"),
            Place(
                name: "backdrop", file: "{\"canvas\": {\"image\": \"a\", \"backdrop\": {\"blur\": 0 @}}, \(solo)}",
                schema: "$defs/canvas/properties/backdrop"),
            look("border", "width"), look("shadow", "blur"), look("surround", "blur"), look("speaking", "width"),
            Place(
                name: "fallback", file: "{\"fallback\": {\"absent\": \"card\" @}, \(solo)}", schema: "$defs/fallback"),
            Place(
                name: "fallback image", file: "{\"fallback\": {\"absent\": {\"image\": \"a\" @}}, \(solo)}",
                schema: "$defs/fallbackPicture/anyOf/1"),
            Place(
                name: "transition", file: "{\"transition\": {\"duration\": 1 @}, \(solo)}",
                schema: "$defs/transition/anyOf/1"),
            Place(name: "audio", file: "{\"audio\": {\"loudest\": 1 @}, \(solo)}", schema: "$defs/audio"),
            Place(
                name: "gain", file: "{\"audio\": {\"gains\": [{\"user\": \"a\", \"gain\": 1 @}]}, \(solo)}",
                schema: "$defs/audio/properties/gains/items"),
            Place(
                name: "when", file: "{\"arrangements\": [{\"when\": {\"hosts\": 1 @}, \"algorithm\": \"solo\"}]}",
                schema: "$defs/when"),
            Place(
                name: "count",
                file: "{\"arrangements\": [{\"when\": {\"hosts\": {\"min\": 1 @}}, \"algorithm\": \"solo\"}]}",
                schema: "$defs/count/anyOf/1"),
            Place(
                name: "featured",
                file: "{\"arrangements\": [{\"featured\": {\"user\": \"a\" @}, \"algorithm\": \"solo\"}]}",
                schema: "$defs/featured"),
            Place(
                name: "pane", file: "{\"arrangements\": [{\"panes\": [{\"slot\": 1, \(rectangle) @}]}]}",
                schema: "$defs/pane"),
            Place(
                name: "panes",
                file: "{\"arrangements\": [{\"panes\": [{\"slot\": 1, \(rectangle)}] @}]}",
                schema: "$defs/arrangement",
                without: algorithmKeys.union(["algorithm", "gap", "margin"])),
        ]
        + ownKeys.map { algorithm, own in
            Place(
                name: algorithm, file: "{\"arrangements\": [{\"algorithm\": \"\(algorithm)\" @}]}",
                schema: "$defs/arrangement", without: algorithmKeys.subtracting(own).union(["panes", "rest"]))
        }
        + ownKeys.map { algorithm, own in
            Place(
                name: "rest: \(algorithm)",
                file: """
                    {"arrangements": [{"panes": [{"slot": 1, \(rectangle), "z": 3}],
                    "rest": {"algorithm": "\(algorithm)", \(rectangle) @}}]}
                    """,
                schema: "$defs/rest", without: algorithmKeys.subtracting(own))
        }
        + [
            (
                "image", "\"image\": \"a\"",
                ["color", "bold", "background", "backgroundOpacity", "utcOffset", "until", "font", "outline", "radius"]
            ),
            ("text", "\"text\": \"a\"", ["image", "clock"]),
            ("clock", "\"clock\": \"HH:mm\"", ["image", "text", "until"]),
        ].flatMap { kind, member, others in
            let kinds = Set(["image", "text", "clock", "page"]).subtracting([kind])
            return [
                Place(
                    name: "\(kind) at a place", file: "{\"overlays\": [{\(member), \"place\": \"top\" @}], \(solo)}",
                    schema: "$defs/overlay",
                    without: kinds.union(others).union(["x", "y", "width", "height", "align"])),
                Place(
                    name: "\(kind) in a rectangle", file: "{\"overlays\": [{\(member), \(rectangle) @}], \(solo)}",
                    schema: "$defs/overlay",
                    without: kinds.union(others).union(["place", "margin"]).union(kind == "image" ? ["size"] : [])),
            ]
        }
        + [
            Place(
                name: "page in a rectangle",
                file: "{\"overlays\": [{\"page\": \"https://a.example/\", \(rectangle) @}], \(solo)}",
                schema: "$defs/overlay",
                without: [
                    "image", "text", "clock", "place", "margin", "align", "size", "color", "bold", "background",
                    "backgroundOpacity", "font", "outline", "radius", "utcOffset", "until",
                ])
        ]

    @Test(arguments: places) func placeHasTheSameKeysInBoth(place: Place) throws {
        #expect(throws: Never.self, "the file itself is right") {
            try LayoutTemplate.decode(place.file.replacing(" @", with: "").utf8, name: "x")
        }
        let properties = try #require(Schema.object(place.schema)["properties"] as? [String: Any])
        let described = Set(properties.keys).subtracting(place.without)
        #expect(try known(in: place) == described)
        #expect(try Schema.object(place.schema)["additionalProperties"] as? Bool == false)
    }

    /// The keys in `without` are exactly those that the schema's rules forbid in a place, so that this table cannot
    /// hide a difference.
    @Test(arguments: places.filter { !$0.without.isEmpty }) func schemaForbidsTheOtherKeys(place: Place) throws {
        let file = try #require(
            JSONSerialization.jsonObject(with: Data(place.file.replacing(" @", with: "").utf8)) as? [String: Any])
        let object = try #require(
            place.schema.hasSuffix("overlay")
                ? (file["overlays"] as? [[String: Any]])?.first
                : (file["arrangements"] as? [[String: Any]])?.first)
        let here = place.schema.hasSuffix("rest") ? object["rest"] as? [String: Any] : object
        #expect(Schema.forbidden(in: try #require(here), by: try Schema.object(place.schema)) == place.without)
    }

    /// Every place with one of several words: a file with `@` instead of the word, and the schema's list.
    static let words: [(file: String, schema: String)] =
        [
            ("{\"fit\": @, \(solo)}", "$defs/fit"),
            ("{\"screenFit\": @, \(solo)}", "$defs/screenFit"),
            ("{\"canvas\": {\"image\": \"a\", \"imageFit\": @}, \(solo)}", "$defs/fit"),
            ("{\"align\": @, \(solo)}", "$defs/align"),
            ("{\"label\": {\"edge\": @}, \(solo)}", "$defs/label/anyOf/1/properties/edge"),
            ("{\"label\": {\"side\": @}, \(solo)}", "$defs/label/anyOf/1/properties/side"),
            ("{\"label\": {\"style\": @}, \(solo)}", "$defs/label/anyOf/1/properties/style"),
            ("{\"label\": {\"font\": @}, \(solo)}", "$defs/font"),
            ("{\"overlays\": [{\"text\": \"a\", \"place\": \"top\", \"font\": @}], \(solo)}", "$defs/font"),
            ("{\"card\": @, \(solo)}", "$defs/card"),
            ("{\"fallback\": {\"stalled\": @}, \(solo)}", "$defs/fallbackPicture/anyOf/0"),
            (
                "{\"transition\": {\"duration\": 1, \"easing\": @}, \(solo)}",
                "$defs/transition/anyOf/1/properties/easing"
            ),
            (
                "{\"audio\": {\"gains\": [{\"mute\": true, \"stream\": @}]}, \(solo)}",
                "$defs/audio/properties/gains/items/properties/stream"
            ),
            (
                "{\"audio\": {\"gains\": [{\"mute\": true, \"role\": @}]}, \(solo)}",
                "$defs/audio/properties/gains/items/properties/role"
            ),
            ("{\"overlays\": [{\"clock\": @, \"place\": \"top\"}], \(solo)}", "$defs/overlay/properties/clock"),
            ("{\"overlays\": [{\"text\": \"a\", \"place\": @}], \(solo)}", "$defs/align"),
            ("{\"arrangements\": [{\"algorithm\": @}]}", "$defs/algorithm"),
            (
                "{\"arrangements\": [{\"algorithm\": \"solo\", \"when\": {\"canvas\": @}}]}",
                "$defs/when/properties/canvas"
            ),
            (
                "{\"arrangements\": [{\"algorithm\": \"solo\", \"when\": {\"sources\": @}}]}",
                "$defs/when/properties/sources"
            ),
            ("{\"arrangements\": [{\"panes\": [{\"role\": @, \(rectangle)}]}]}", "$defs/pane/properties/role"),
            ("{\"arrangements\": [{\"panes\": [{\"stream\": @, \(rectangle)}]}]}", "$defs/pane/properties/stream"),
            (
                "{\"arrangements\": [{\"algorithm\": \"solo\", \"featured\": {\"role\": @}}]}",
                "$defs/featured/properties/role"
            ),
        ]
        + LayoutAlgorithms.all.flatMap { algorithm in
            algorithm.keys.compactMap { key in
                guard case .words = key.values else { return nil }
                let file = "{\"arrangements\": [{\"algorithm\": \"\(algorithm.name)\", \"\(key.name)\": @}]}"
                return (file, "$defs/\(key.name)")
            }
        }

    @Test(arguments: words) func placeHasTheSameWordsInBoth(file: String, schema: String) throws {
        let described = try Schema.words(schema)
        let wrong = file.replacing("@", with: "\"no such word\"")
        let issue = try #require(issues(of: wrong).first { $0.found.contains("no such word") })
        #expect(Schema.quoted(in: issue.expected).filter { $0 != "image" && $0 != "panes" } == Set(described))
        for word in described {
            #expect(throws: Never.self) {
                try LayoutTemplate.decode(file.replacing("@", with: "\"\(word)\"").utf8, name: "x")
            }
        }
    }

    /// Every list of words in the schema is compared above.
    @Test func noListOfWordsIsForgotten() throws {
        var lists: Set<Set<String>> = []
        func collect(_ value: Any) {
            if let object = value as? [String: Any] {
                if let list = object["enum"] as? [String] { lists.insert(Set(list)) }
                for (key, value) in object where key != "not" { collect(value) }
            } else if let array = value as? [Any] {
                array.forEach(collect)
            }
        }
        collect(try Schema.object(""))
        let compared = try Set(Self.words.map { try Set(Schema.words($0.schema)) })
        #expect(lists == compared)
    }

    /// Every value in the schema may be that of a parameter.
    @Test func everyValueMayBeOfAParameter() throws {
        var values = 0
        func check(_ schema: [String: Any], _ path: String, isAlternative: Bool = false) {
            let types = (schema["type"] as? [String]) ?? (schema["type"] as? String).map { [$0] } ?? []
            if types.contains(where: { ["number", "integer", "boolean", "string"].contains($0) }), !isAlternative {
                values += 1
                #expect(types.contains("object") && schema["$ref"] as? String == "#/$defs/orParam", "\(path)")
            }
            #expect(schema["enum"] == nil || isAlternative, "\(path)")
            let alternatives = schema["anyOf"] as? [[String: Any]] ?? []
            let references = alternatives.contains { $0["$ref"] as? String == "#/$defs/reference" }
            if alternatives.contains(where: { $0["enum"] != nil }) {
                values += 1
                #expect(references, "\(path)")
            }
            for (index, alternative) in alternatives.enumerated() {
                check(alternative, "\(path)/anyOf/\(index)", isAlternative: references)
            }
            for (key, property) in schema["properties"] as? [String: [String: Any]] ?? [:] {
                check(property, "\(path)/\(key)")
            }
            if let items = schema["items"] as? [String: Any] { check(items, "\(path)/items") }
        }
        for (key, property) in try Schema.object("properties")
        where !["$schema", "description", "params"].contains(key) {
            check(try #require(property as? [String: Any]), key)
        }
        for (key, definition) in try Schema.object("$defs") where !["param", "reference", "orParam"].contains(key) {
            check(try #require(definition as? [String: Any]), "$defs/\(key)")
        }
        #expect(values > 60)
    }

    /// The decoder accepts the parameters that the schema allows.
    @Test func decoderTakesParametersInEveryKindOfPlace() throws {
        let template = try LayoutTemplate.decode(
            """
            {"params": {
               "fit": {"type": "text", "default": "contain"}, "space": {"type": "number", "default": 0.01, "max": 0.1},
               "logo": {"type": "image", "default": "a.png"}, "shown": {"type": "visible", "default": false},
               "who": {"type": "text", "default": "dj"}, "many": {"type": "number", "default": 2, "min": 2, "max": 2},
               "corner": {"type": "text", "default": "top-left", "title": "Corner of the guests"}},
             "fit": {"param": "fit"}, "gap": {"param": "space"}, "omitAudioOnly": {"param": "shown"},
             "fallback": {"absent": {"image": {"param": "logo"}}},
             "arrangements": [
               {"when": {"people": {"max": {"param": "many"}}}, "algorithm": "picture-in-picture",
                "corner": {"param": "corner"}, "featured": {"user": {"param": "who"}}},
               {"algorithm": "grid"}]}
            """.utf8, name: "x")
        #expect(template.arrangements[0].when.people == 0...2)
        #expect(template.arrangements[0].settings.style.fit == .contain)
        #expect(template.parameters.last?.title == "Corner of the guests")
    }

    private func issues(of file: String) throws -> [LayoutIssue] {
        let error = try #require(throws: LayoutError.self) { try LayoutTemplate.decode(file.utf8, name: "x") }
        return error.issues
    }

    private func known(in place: Place) throws -> Set<String> {
        let issues = try issues(of: place.file.replacing("@", with: ", \"no such key\": 1"))
        let issue = try #require(issues.first { $0.found == "an unknown key" })
        return Schema.quoted(in: issue.expected)
    }
}

/// The schema as plain JSON.
private enum Schema {
    static func object(_ path: String) throws -> [String: Any] {
        let file = GoldenSceneTests.layouts.appending(path: "layout.schema.json")
        var value = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        for key in path.split(separator: "/") {
            if let object = value as? [String: Any] {
                value = try #require(object[String(key)], "\(path)")
            } else if let array = value as? [Any], let index = Int(key), index < array.count {
                value = array[index]
            }
        }
        return try #require(value as? [String: Any], "\(path)")
    }

    /// Returns the words that are allowed at a path.
    static func words(_ path: String) throws -> [String] {
        let schema = try object(path)
        let first = (schema["anyOf"] as? [[String: Any]])?.first
        return try #require(schema["enum"] as? [String] ?? first?["enum"] as? [String], "\(path)")
    }

    /// Returns the quoted words of a text such as `"a", "b" or "c"`.
    static func quoted(in text: String) -> Set<String> {
        Set(
            text.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
                .map { String($0.element) })
    }

    /// Returns the keys that `allOf`, `oneOf` and similar rules forbid in addition to the keys of `object`.
    static func forbidden(in object: [String: Any], by schema: [String: Any]) -> Set<String> {
        var forbidden: Set<String> = []
        for rule in schema["allOf"] as? [[String: Any]] ?? [] {
            let holds = rule["if"].map { isTrue($0 as? [String: Any] ?? [:], object) } ?? true
            let names = (rule[holds ? "then" : "else"] as? [String: Any])?["propertyNames"] as? [String: Any]
            forbidden.formUnion((names?["not"] as? [String: Any])?["enum"] as? [String] ?? [])
        }
        // Of alternatives that require one key each, one key is already there.
        let alternatives = (schema["oneOf"] as? [[String: Any]] ?? []).compactMap { $0["required"] as? [String] }
        if alternatives.allSatisfy({ $0.count == 1 }), schema["additionalProperties"] != nil {
            forbidden.formUnion(alternatives.joined().filter { object[$0] == nil })
        }
        // A rectangle is written completely or not at all.
        if object["place"] != nil { forbidden.formUnion(["x", "y", "width", "height"]) }
        return forbidden
    }

    private static func isTrue(_ condition: [String: Any], _ object: [String: Any]) -> Bool {
        if let any = condition["anyOf"] as? [[String: Any]] { return any.contains { isTrue($0, object) } }
        guard (condition["required"] as? [String] ?? []).allSatisfy({ object[$0] != nil }) else { return false }
        let properties = condition["properties"] as? [String: Any] ?? [:]
        return properties.allSatisfy { ($1 as? [String: Any])?["const"] as? String == object[$0] as? String }
    }
}
