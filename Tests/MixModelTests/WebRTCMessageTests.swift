import Foundation
import MixModel
import Testing

/// Reports of WebRTC workers, which may be of another release than the service.
@Suite struct WebRTCMessageTests {
    private static func read(_ line: String) throws -> WebRTCReport {
        try JSONDecoder().decode(WebRTCReport.self, from: Data(line.utf8))
    }

    @Test func anEndIsReadAsItIsWritten() throws {
        for cause in [WebRTCEndCause.streamReplaced, .streamRefused, .other, nil] {
            let report = WebRTCReport.ended(reason: "why", cause: cause)
            #expect(try JSONDecoder().decode(WebRTCReport.self, from: JSONEncoder().encode(report)) == report)
        }
    }

    @Test func anEndOfAnotherReleaseIsRead() throws {
        #expect(try Self.read(#"{"ended":{"reason":"why"}}"#) == .ended(reason: "why"))
        #expect(
            try Self.read(#"{"ended":{"reason":"why","cause":"stream_replaced"}}"#)
                == .ended(reason: "why", cause: .streamReplaced))
        #expect(
            try Self.read(#"{"ended":{"reason":"why","cause":"something_later"}}"#)
                == .ended(reason: "why", cause: WebRTCEndCause(rawValue: "something_later")))
    }
}
