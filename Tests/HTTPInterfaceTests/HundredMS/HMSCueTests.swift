import EventSubscription
import Foundation
import MediaFormats
import Testing

@testable import HTTPInterface

/// Timed metadata of live streams, in the format that players read.
@Suite struct HMSCueTests {
    private func cue(_ text: String) throws -> HMSCue { try HMSCue(try JSONValue(parsing: text.utf8)) }

    @Test func whatIsAskedForIsChecked() throws {
        #expect(try cue(#"{"payload": "Hi", "duration": 5}"#) == HMSCue(payload: "Hi", seconds: 5))
        #expect(try cue(#"{"payload": "\#(String(repeating: "ä", count: 100))", "duration": 1}"#).payload.count == 100)
        for bad in [
            "{}", #"{"payload": "Hi"}"#, #"{"duration": 5}"#, #"{"payload": "", "duration": 5}"#,
            #"{"payload": "Hi", "duration": 0}"#, #"{"payload": "Hi", "duration": 1.5}"#,
            #"{"payload": 7, "duration": 5}"#, #"{"payload": "Hi", "duration": 86401}"#,
            #"{"payload": "\#(String(repeating: "a", count: 101))", "duration": 5}"#,
            // This character has many bytes.
            #"{"payload": "a\#(String(repeating: "\u{301}", count: 2000))", "duration": 5}"#,
        ] {
            #expect { try cue(bad) } throws: { HMSFault($0).status == .badRequest }
        }
    }

    @Test(arguments: ["Hi", "Grüße \u{1F600}", "\"quoted\" \\ \n, = ;", "a", "ab", "abc"])
    func playersReadWhatWasSent(payload: String) throws {
        let range = try #require(HMSCue(payload: payload, seconds: 5).range(id: "c1", at: 1_769_889_600.25))
        #expect(range.start == 1_769_889_600_250 && range.duration == 5000 && range.id == "c1")
        // Players for browsers split attributes at commas and equals signs.
        #expect(!range.value.contains { ",=\"".contains($0) } && range.value.utf8.count % 4 == 0)
        let bytes = try #require(Data(base64Encoded: range.value))
        #expect(bytes.allSatisfy { $0 < 0x80 }, "atob knows no UTF-8")
        let document = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
        #expect(document["payload"] as? String == payload)
        #expect(document["start_date"] as? String == "2026-01-31T20:00:00.250+0000")
        #expect(document["end_date"] as? String == "2026-01-31T20:00:05.250+0000")
    }
}
