import Foundation
import TestSupport
import Testing

@testable import EventSubscription

@Suite struct JSONParserTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: text.utf8) }

    @Test func everyKindOfValueIsRead() throws {
        let text = #"""
             { "a" : [ null, true ,false, 0, -0.5, 1e3, 12345678901234567890, 4.25E-2 ],
            "ü\n\"\\\/\b\f\r\té\u00e9\ud83d\ude00": {}, "b":[] , "c":"" }
            """#
        #expect(
            try parse(text)
                == .object([
                    "a": .array([
                        .null, .boolean(true), .boolean(false), .number(0), .number(-0.5), .number(1000),
                        .number(12_345_678_901_234_567_168), .number(0.0425),
                    ]),
                    "ü\n\"\\/\u{8}\u{c}\r\téé😀": .object([:]), "b": .array([]), "c": .string(""),
                ]))
        #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF] + Array("7".utf8)) == .number(7))
        #expect(try parse(#"["plain","grün","😀"]"#) == .array([.string("plain"), .string("grün"), .string("😀")]))
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        var text: String
        var found: String
        var expected: String
        var testDescription: String { text }
    }

    @Test(arguments: [
        Bad(text: "", found: "the end of input at line 1, column 1", expected: "a value"),
        Bad(text: "{\n \"a\": x}", found: "'x' at line 2, column 7", expected: "a value"),
        Bad(text: "[1 2]", found: "'2' at line 1, column 4", expected: "a comma or ]"),
        Bad(text: "[1,]", found: "']'", expected: "a value"),
        Bad(text: "{\"a\" 1}", found: "'1'", expected: "a colon"),
        Bad(text: "{\"a\":1,\"a\":2}", found: "column 8", expected: "each key once"),
        Bad(text: "{a:1}", found: "'a'", expected: "a key"),
        Bad(text: "01", found: "the end of input", expected: "leading zeros"),
        Bad(text: "1.", found: "the end of input", expected: "a digit"),
        Bad(text: "-", found: "the end of input", expected: "a number"),
        Bad(text: "1e999", found: "'1'", expected: "1.8e308"),
        Bad(text: "\"a\nb\"", found: "byte 10", expected: "an escape sequence"),
        Bad(text: #""\x""#, found: "'x'", expected: "an escape sequence"),
        Bad(text: #""\ud800""#, found: "'\"'", expected: "surrogate"),
        Bad(text: #""\ud800\u0041""#, found: "'\"'", expected: "surrogate"),
        Bad(text: "\"abc", found: "the end of input", expected: "a quotation mark"),
        Bad(text: "nul", found: "'n'", expected: "null"),
        Bad(text: "1 2", found: "'2'", expected: "nothing after"),
    ])
    func whatIsWrongIsSaidWithItsPlace(_ bad: Bad) {
        let error = #expect(throws: InputError.self) { try parse(bad.text) }
        #expect(error?.code == .malformedJSON)
        #expect(error?.found?.contains(bad.found) == true, "\(String(describing: error?.found))")
        #expect(error?.expected.contains(bad.expected) == true, "\(String(describing: error?.expected))")
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        #expect(throws: InputError.self) { try JSONValue(parsing: [0x22, 0xC3, 0x28, 0x22]) }
    }

    @Test func whatIsNestedTooDeepIsRefused() throws {
        let deepest = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        _ = try parse(deepest)
        let error = #expect(throws: InputError.self) { try parse(String(repeating: "[", count: 100_000)) }
        #expect(error?.expected.contains("128 levels") == true)
    }

    /// The parser accepts the same documents as the system's reader.
    @Test func brokenDocumentsAreJudgedAsTheSystemDoes() {
        var random = SeededGenerator(announcedFor: "broken JSON")
        let document = Array(#"{"a":[1,-2.5e3,true,null,"x\n\u00e9"],"b":{"c":"d","e":[]}}"#.utf8)
        let letters = Array(#"{}[]:,"\0123.e-+tfn u"#.utf8)
        for _ in 0..<3000 {
            var bytes = document
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                if Bool.random(using: &random) {
                    bytes[place] = letters.randomElement(using: &random) ?? 0
                } else {
                    bytes.remove(at: place)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let isGood = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
            do {
                _ = try JSONValue(parsing: bytes)
                #expect(isGood, "accepted \(text)")
            } catch {
                #expect(!isGood || error.expected.contains("each key once"), "\(error) for \(text)")
            }
        }
    }
}
