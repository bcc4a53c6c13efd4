import Foundation
import TestSupport
import Testing

@testable import RoomService

@Suite struct JSONMemberRangeTests {
    @Test(
        arguments: [
            (#"{"template":{"a":1}}"#, #"{"a":1}"#),
            (#"{ "x" : "template", "template" : [1, {"b": "}"}] , "y":2}"#, #"[1, {"b": "}"}] "#),
            (#"{"x":{"template":1},"template":2}"#, "2"), (#"{"a\"template\":":1,"template":"\\"}"#, #""\\""#),
            (#"{"template":1,"template":2}"#, "2"), (#"{"x":1}"#, nil), ("[1]", nil), (#""template""#, nil), ("", nil),
            (#"{"x":"template"}"#, nil), (#"{"template""#, nil),
        ] as [(String, String?)])
    func valuesAreFound(_ text: String, _ value: String?) {
        let bytes = Array(text.utf8)
        let range = JSONMemberRange.value(of: "template", in: bytes)
        #expect(range.map { String(decoding: bytes[$0], as: UTF8.self) } == value)
    }

    @Test func whatIsIsolatedStandsWhereItStood() {
        let bytes = Array("{\"ä\":\n 1,\n  \"t\": {}}".utf8)
        let isolated = JSONMemberRange.value(of: "t", in: bytes).map { JSONMemberRange.isolate($0, in: bytes) } ?? []
        #expect(String(decoding: isolated, as: UTF8.self) == "      \n   \n       {}")
    }

    /// Whatever the bytes are: an answer, and never outside of them.
    @Test func anyBytesAreTaken() {
        var random = SeededGenerator(announcedFor: "member range")
        let alphabet = Array("{}[]\":,\\ t1\n".utf8)
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).compactMap { _ in
                alphabet.randomElement(using: &random)
            }
            if let range = JSONMemberRange.value(of: "t", in: bytes) { #expect(range.upperBound <= bytes.count) }
        }
    }
}
