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

    /// Services and workers of earlier releases say nothing about private addresses, which are then not named.
    @Test func privateAddressesAreAMatterOfThisRelease() throws {
        let network = try JSONDecoder().decode(WebRTCNetwork.self, from: Data(#"{"addresses":[],"turn":[]}"#.utf8))
        #expect(network == WebRTCNetwork() && network.namesPrivateAddresses == nil)
        let viewer = try JSONDecoder().decode(PlayViewer.self, from: Data(#"{"id":"a","note":"n"}"#.utf8))
        #expect(viewer == PlayViewer(id: "a", note: "n") && viewer.namesPrivateAddresses == nil)
        let near = PlayViewer(id: "a", namesPrivateAddresses: true)
        #expect(try JSONDecoder().decode(PlayViewer.self, from: JSONEncoder().encode(near)) == near)
    }
}
