import EventSubscription
import MixModel
import Testing

@Suite struct SnapshotParserTests {
    private let parser = EventParser(allowList: .loopbackOnly, urlTemplate: "rtmp://127.0.0.1/live/{room}__{user}")

    private func parse(_ text: String) throws -> RoomSnapshot {
        let event = try parser.snapshot(JSONValue(parsing: text.utf8), room: "demo", id: "1")
        guard case .roomSnapshot(let snapshot) = event.kind else {
            throw InputError(.invalidField, field: "", expected: "")
        }
        return snapshot
    }

    @Test func everyFieldIsTaken() throws {
        let text = """
            {"streams":[{"user":"alice","url":"rtmp://127.0.0.1/a","audio":false,"role":"host","name":"Alice"},
                        {"user":"alice","stream":"screen"}],
             "participants":[{"user":"bob","role":"guest","name":"Bob"}],
             "sequence":"7","time":"2026-01-31T12:00:00Z"}
            """
        let event = try parser.snapshot(JSONValue(parsing: text.utf8), room: "demo", id: "k")
        #expect(event.id == "k" && event.sequence == 7 && event.time == 1_769_860_800)
        #expect(event.type == "room.snapshot" && event.summary == "room.snapshot of 2 streams")
        let snapshot = try parse(text)
        #expect(snapshot.streams.map(\.id) == ["alice/camera", "alice/screen"])
        #expect(snapshot.streams[0].publication.role == .host && !snapshot.streams[0].publication.audio)
        #expect(snapshot.streams[0].name == "Alice")
        #expect(snapshot.streams[1].publication.url == "rtmp://127.0.0.1/live/demo__alice")
        #expect(snapshot.participants == [RoomSnapshot.Person(user: "bob", role: .guest, name: "Bob")])
        #expect(try parse(#"{"streams":[]}"#) == RoomSnapshot(streams: []))
    }

    @Test func itComesAsACloudEventToo() throws {
        let text = """
            {"specversion":"1.0","id":"1","source":"app","type":"room.snapshot","subject":"demo",
             "data":{"streams":[{"user":"alice","url":"rtmp://127.0.0.1/a"}]}}
            """
        let event = try parser.cloudEvent(JSONValue(parsing: text.utf8))
        #expect(event.kind == .roomSnapshot(try parse(#"{"streams":[{"user":"alice","url":"rtmp://127.0.0.1/a"}]}"#)))
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        var text: String
        var code: InputError.Code
        var field: String
        var testDescription: String { String(text.prefix(80)) }
    }

    @Test(arguments: [
        Bad(text: "{}", code: .missingField, field: "streams"),
        Bad(text: #"{"streams":{}}"#, code: .invalidField, field: "streams"),
        Bad(text: #"{"streams":[{}]}"#, code: .missingField, field: "streams[0].user"),
        Bad(text: #"{"streams":[{"user":"a"},{"user":"a"}]}"#, code: .invalidField, field: "streams[1]"),
        Bad(
            text: #"{"streams":[{"user":"a","url":"rtmp://10.0.0.1/x"}]}"#, code: .refusedURL,
            field: "streams[0].url"),
        Bad(text: #"{"streams":[{"user":"a","vidoe":true}]}"#, code: .unknownField, field: "streams[0].vidoe"),
        Bad(
            text: #"{"streams":[],"participants":[{"user":"a"},{"user":"a"}]}"#, code: .invalidField,
            field: "participants[1]"),
        Bad(text: #"{"streams":[],"sequnce":1}"#, code: .unknownField, field: "sequnce"),
        Bad(
            text: #"{"streams":[\#((0...256).map { #"{"user":"u\#($0)"}"# }.joined(separator: ","))]}"#,
            code: .invalidField, field: "streams"),
    ])
    func refusalsNameTheField(_ bad: Bad) throws {
        let error = try #require(throws: InputError.self) { try parse(bad.text) }
        #expect(error.code == bad.code && error.field == bad.field, "\(error)")
    }
}
