import MixModel
import Testing

@testable import EventSubscription
@testable import RoomService

@Suite struct ProgramCirclesTests {
    private func key(_ room: String, _ user: String = "program") -> IngestStreamKey {
        IngestStreamKey(StreamNames(room: RoomID(app: .standard, name: room), user: UserID(user), stream: .camera))
    }

    private func room(_ name: String) -> RoomID { RoomID(app: .standard, name: name) }

    @Test func aRoomMayShowAnothersProgramButNotItsOwn() {
        var circles = ProgramCircles()
        func begins(_ key: IngestStreamKey, from name: String?) -> Bool { circles.begin(key, from: name.map(room)) }
        #expect(!begins(key("a"), from: "a"))
        #expect(begins(key("b"), from: "a") && begins(key("c"), from: "b"))
        #expect(begins(key("c", "again"), from: "a"), "twice is no circle")
        #expect(!begins(key("a"), from: "c") && !begins(key("b"), from: "c"))
        circles.end(key("b"))
        #expect(!begins(key("a"), from: "c"), "by the second stream")
        circles.end(key("c", "again"))
        #expect(begins(key("a"), from: "c"))
        #expect(!begins(key("c"), from: "a"))
    }

    @Test func aPersonInTheSamePlaceEndsTheCircle() {
        var circles = ProgramCircles()
        func begins(_ key: IngestStreamKey, from name: String?) -> Bool { circles.begin(key, from: name.map(room)) }
        #expect(begins(key("b"), from: "a") && !begins(key("a"), from: "b"))
        #expect(begins(key("b"), from: nil) && begins(key("a"), from: "b"))
    }

    @Test func thePublisherIsFoundAmongTheOutputs() {
        let claims = DestinationClaims()
        let task = TaskID("auto-a")
        let urls = [
            "rtmp://127.0.0.1:1935/live/b__a", "rtmps://localhost:4430/live/c__a", "rtmp://cdn.example/live/d__a",
        ]
        _ = claims.claim(urls.enumerated().map { PushDestination(id: OutputID("\($0)"), url: $1) }, for: task)
        var rules = IngestRules(host: "0.0.0.0", port: 1935)
        func sender(_ name: String, from address: String = "127.0.0.1") -> TaskID? {
            let request = IngestRequest(
                request: 1, isPublish: true, application: "live", name: name, query: "", address: address, session: "s")
            return claims.sender(of: request, at: rules)
        }
        #expect(sender("b__a") == task && sender("c__a") == nil && sender("d__a") == nil && sender("x__a") == nil)
        rules.rtmps = IngestTLS(host: "0.0.0.0", port: 4430, certificate: "", key: "")
        #expect(sender("c__a") == task)
        _ = claims.claim([PushDestination(id: OutputID("o"), url: "rtmp://192.0.2.7/live/e__a")], for: task)
        #expect(sender("e__a", from: "192.0.2.7") == task && sender("e__a") == nil && sender("b__a") == nil)
    }
}
