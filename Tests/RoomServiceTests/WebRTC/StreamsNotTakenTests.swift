import MixModel
import Testing

@testable import RoomService

@Suite struct StreamsNotTakenTests {
    private let replaced = WebRTCReport.notTaken + "the server refused: " + IngestStream.takenOver

    @Test func aClientIsToldWhy() {
        var streams = StreamsNotTaken()
        streams.note("a", of: "shop", needsToken: true, reason: replaced)
        streams.note("b", of: "shop", needsToken: false, reason: WebRTCReport.notTaken + "ask rtmp://u:p@host/x/secret")
        streams.note("c", of: "shop", needsToken: false, reason: "no media for 3 s")
        #expect(streams.error("a", of: "shop")?.code == "whip-stream-replaced")
        #expect(streams.error("a", of: "shop")?.detail == IngestStream.takenOver)
        #expect(streams.error("a", of: nil) == nil && streams.error("a", of: "other") == nil)
        #expect(streams.error("b", of: nil)?.code == "whip-stream-refused")
        #expect(streams.error("b", of: nil)?.detail.contains("secret") == false)
        #expect(streams.error("c", of: nil) == nil)
    }

    @Test func theOldestAreForgotten() {
        var streams = StreamsNotTaken()
        for number in 0...StreamsNotTaken.most {
            streams.note("\(number)", of: "shop", needsToken: false, reason: replaced)
        }
        #expect(streams.error("0", of: nil) == nil)
        #expect(streams.error("1", of: nil) != nil && streams.error("\(StreamsNotTaken.most)", of: nil) != nil)
    }
}
