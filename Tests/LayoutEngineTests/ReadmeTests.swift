import Foundation
import LayoutEngine
import Testing

/// The examples in the language's description are right.
struct ReadmeTests {
    @Test func everyExampleOfTheReadmeIsALayout() throws {
        let text = try String(contentsOf: GoldenSceneTests.layouts.appending(path: "README.md"), encoding: .utf8)
        let examples = text.components(separatedBy: "```json\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
        #expect(!examples.isEmpty)
        for example in examples {
            // Some examples show a single arrangement.
            let file = example.contains("\"arrangements\"") ? example : "{\"arrangements\": [\(example)]}"
            #expect(throws: Never.self, "\(example)") { try LayoutTemplate.decode(file.utf8, name: "README") }
        }
    }

    @Test func everyKeyIsExplained() throws {
        let text = try String(contentsOf: GoldenSceneTests.layouts.appending(path: "README.md"), encoding: .utf8)
        let schema = try String(
            contentsOf: GoldenSceneTests.layouts.appending(path: "layout.schema.json"), encoding: .utf8)
        let object = try #require(JSONSerialization.jsonObject(with: Data(schema.utf8)) as? [String: Any])
        var keys: Set<String> = []
        func collect(_ value: Any) {
            if let object = value as? [String: Any] {
                if let properties = object["properties"] as? [String: Any] { keys.formUnion(properties.keys) }
                object.values.forEach(collect)
            } else if let array = value as? [Any] {
                array.forEach(collect)
            }
        }
        collect(object)
        for key in keys { #expect(text.contains("`\(key)`") || text.contains("\"\(key)\""), "\(key)") }
    }

    /// A canvas may be without an image, in the schema as for the decoder.
    @Test func theEmptyImageOfACanvasIsNone() throws {
        #expect(throws: Never.self) {
            try LayoutTemplate.decode(
                #"{"canvas": {"image": ""}, "arrangements": [{"algorithm": "solo"}]}"#.utf8, name: "x")
        }
        let schema = try Data(contentsOf: GoldenSceneTests.layouts.appending(path: "layout.schema.json"))
        var value = try #require(JSONSerialization.jsonObject(with: schema) as? [String: Any])
        for key in ["$defs", "canvas", "properties", "image"] { value = try #require(value[key] as? [String: Any]) }
        let forms = try #require(value["anyOf"] as? [[String: Any]])
        #expect(forms.contains { $0["const"] as? String == "" })
    }
}
