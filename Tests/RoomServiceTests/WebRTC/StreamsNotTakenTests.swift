import MixModel
import Testing

@testable import RoomService

@Suite struct StreamsNotTakenTests {
    private let replaced = WebRTCReport.notTaken + "the server refused: " + IngestStream.takenOver

    @Test func aClientIsToldWhy() {
        var streams = StreamsNotTaken()
        let refused = WebRTCReport.notTaken + "ask rtmp://u:p@host/x/secret"
        streams.note("a", of: "shop", needsToken: true, reason: "in any words", cause: .streamReplaced)
        streams.note("b", of: "shop", needsToken: false, reason: refused, cause: .streamRefused)
        streams.note("c", of: "shop", needsToken: false, reason: "no media for 3 s", cause: .other)
        #expect(streams.error("a", of: "shop")?.code == "whip-stream-replaced")
        #expect(streams.error("a", of: "shop")?.detail == IngestStream.takenOver)
        #expect(streams.error("a", of: nil) == nil && streams.error("a", of: "other") == nil)
        #expect(streams.error("b", of: nil)?.code == "whip-stream-refused")
        #expect(streams.error("b", of: nil)?.detail.contains("secret") == false)
        #expect(streams.error("b", of: nil)?.detail.hasPrefix("ask rtmp://") == true)
        #expect(streams.error("c", of: nil) == nil)
    }

    /// Reasons are interpreted only without a cause, for workers of earlier releases.
    @Test func theWordsOfEarlierReleasesAreRead() {
        var streams = StreamsNotTaken()
        streams.note("a", of: "shop", needsToken: false, reason: replaced, cause: nil)
        streams.note("b", of: "shop", needsToken: false, reason: WebRTCReport.notTaken + "no", cause: nil)
        streams.note("c", of: "shop", needsToken: false, reason: "no media for 3 s", cause: nil)
        streams.note("d", of: "shop", needsToken: false, reason: replaced, cause: .streamRefused)
        streams.note("e", of: "shop", needsToken: false, reason: replaced, cause: WebRTCEndCause(rawValue: "later"))
        #expect(streams.error("a", of: nil)?.code == "whip-stream-replaced")
        #expect(streams.error("b", of: nil)?.detail == "no")
        #expect(streams.error("c", of: nil) == nil)
        #expect(streams.error("d", of: nil)?.code == "whip-stream-refused")
        #expect(streams.error("e", of: nil) == nil)
    }

    @Test func theOldestAreForgotten() {
        var streams = StreamsNotTaken()
        for number in 0...StreamsNotTaken.most {
            streams.note("\(number)", of: "shop", needsToken: false, reason: replaced, cause: .streamReplaced)
        }
        #expect(streams.error("0", of: nil) == nil)
        #expect(streams.error("1", of: nil) != nil && streams.error("\(StreamsNotTaken.most)", of: nil) != nil)
    }
}
