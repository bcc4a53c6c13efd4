import MixModel
import Testing

@testable import EventSubscription

@Suite struct EventParserTests {
    private let parser = EventParser(allowList: .loopbackOnly)

    private func cloudEvent(_ json: String) throws(InputError) -> RoomEvent {
        try parser.cloudEvent(JSONValue(parsing: json.utf8))
    }

    @Test func aStructuredCloudEventIsRead() throws {
        let event = try cloudEvent(
            """
            {"specversion":"1.0","id":"7","source":"//app","type":"stream.published","subject":"demo",
             "time":"2026-01-31T12:00:00.250Z","sequence":"42","app":"default","traceparent":"ignored",
             "datacontenttype":"application/json",
             "data":{"user":"alice","stream":"screen","url":"rtmp://127.0.0.1/live/a","audio":false,"role":"host"}}
            """)
        let publication = Publication(
            user: "alice", stream: .screen, url: "rtmp://127.0.0.1/live/a", audio: false, role: .host)
        #expect(
            event
                == RoomEvent(
                    room: "demo", source: "//app", id: "7", sequence: 42, time: 1_769_860_800.25,
                    kind: .streamPublished(publication)))
    }

    @Test(arguments: [
        (
            #"{"type":"stream.updated","user":"a","audio":false}"#,
            RoomEvent.Kind.streamUpdated(StreamUpdate(user: "a", audio: false))
        ),
        (
            #"{"type":"stream.unpublished","user":"a","reason":"gone"}"#,
            .streamUnpublished(user: "a", stream: .camera, reason: "gone")
        ),
        (
            #"{"type":"participant.joined","user":"a","role":"guest","name":"A"}"#,
            .participantJoined(user: "a", role: .guest, name: "A")
        ),
        (#"{"type":"participant.left","user":"a"}"#, .participantLeft(user: "a")),
        (#"{"type":"room.opened"}"#, .roomOpened),
        (#"{"type":"room.closed"}"#, .roomClosed),
    ])
    func everyTypeHasAShortForm(_ json: String, _ kind: RoomEvent.Kind) throws {
        let event = try parser.shortForm(JSONValue(parsing: json.utf8), room: "demo", id: "1")
        #expect(event.kind == kind)
        #expect(event.room == "demo" && event.id == "1")
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        var json: String
        var code: InputError.Code
        var field: String
        var expectedHas: String
        var testDescription: String { json }
    }
    private static func envelope(_ rest: String) -> String {
        #"{"specversion":"1.0","id":"1","source":"s","subject":"demo","# + rest + "}"
    }
    private static func published(_ data: String) -> String {
        envelope(#""type":"stream.published","data":{"user":"a","# + data + "}")
    }

    @Test(arguments: [
        Bad(json: "[1]x", code: .malformedJSON, field: "", expectedHas: "JSON"),
        Bad(json: "7", code: .invalidField, field: "", expectedHas: "object"),
        Bad(json: "{}", code: .missingField, field: "specversion", expectedHas: "1.0"),
        Bad(
            json: #"{"specversion":"0.3","id":"1","source":"s","type":"room.opened","subject":"d"}"#,
            code: .invalidField, field: "specversion", expectedHas: "1.0"),
        Bad(
            json: #"{"specversion":"1.0","source":"s","type":"room.opened","subject":"d"}"#, code: .missingField,
            field: "id", expectedHas: "string"),
        Bad(
            json: #"{"specversion":"1.0","id":"1","source":"s","type":"room.opened"}"#, code: .missingField,
            field: "subject", expectedHas: "room"),
        Bad(
            json: #"{"specversion":"1.0","id":"1","source":"s","type":"room.opened","subject":"a/b"}"#,
            code: .invalidField, field: "subject", expectedHas: "128"),
        Bad(
            json: envelope(#""type":"stream.publishd""#), code: .unknownEventType, field: "type",
            expectedHas: #"did you mean "stream.published""#),
        Bad(
            json: envelope(#""type":"room.opened","time":"yesterday""#), code: .invalidField, field: "time",
            expectedHas: "RFC 3339"),
        Bad(
            json: envelope(#""type":"room.opened","sequence":"-1""#), code: .invalidField, field: "sequence",
            expectedHas: "whole number"),
        Bad(
            json: envelope(#""type":"room.opened","data":[]"#), code: .invalidField, field: "data",
            expectedHas: "object"),
        Bad(
            json: envelope(#""type":"stream.published","data":{}"#), code: .missingField, field: "data.user",
            expectedHas: "id"),
        Bad(json: published(#""url":7"#), code: .invalidField, field: "data.url", expectedHas: "rtmp://"),
        Bad(json: published(#""stream":"camera""#), code: .missingField, field: "data.url", expectedHas: "urlTemplate"),
        Bad(
            json: published(#""url":"file:///etc/passwd""#), code: .invalidField, field: "data.url",
            expectedHas: "a host name"),
        Bad(
            json: published(#""url":"webrtc://host/a""#), code: .invalidField, field: "data.url",
            expectedHas: "srt://"),
        Bad(
            json: published(#""url":"rtmp://media.example/live/a""#), code: .refusedURL, field: "data.url",
            expectedHas: "sources.allow"),
        Bad(
            json: published(#""url":"rtmp://127.0.0.1/a","stream":"window""#), code: .invalidField,
            field: "data.stream", expectedHas: #""camera", "screen", "audio""#),
        Bad(
            json: published(#""url":"rtmp://127.0.0.1/a","audio":"yes""#), code: .invalidField, field: "data.audio",
            expectedHas: "true or false"),
        Bad(
            json: published(#""url":"rtmp://127.0.0.1/a","rolle":"host""#), code: .unknownField, field: "data.rolle",
            expectedHas: #"did you mean "role""#),
    ])
    func whatIsWrongIsNamed(_ bad: Bad) throws {
        let error = #expect(throws: InputError.self) { try cloudEvent(bad.json) }
        #expect(error?.code == bad.code)
        #expect(error?.field == bad.field)
        #expect(error?.expected.contains(bad.expectedHas) == true, "\(error?.expected ?? "")")
    }

    @Test func oneBadEventSpoilsTheBatch() throws {
        let good = Self.envelope(#""type":"room.opened""#)
        let both = try parser.cloudEvents(JSONValue(parsing: "[\(good),\(good)]".utf8))
        #expect(both.count == 2)
        let error = #expect(throws: InputError.self) {
            try parser.cloudEvents(JSONValue(parsing: "[\(good),{}]".utf8))
        }
        #expect(error?.field == "[1].specversion")
    }

    @Test func theTemplateGivesTheURLThatIsLeftOut() throws {
        var parser = parser
        parser.urlTemplate = "rtmp://127.0.0.1/live/{room}__{user}_{stream}"
        let json = #"{"type":"stream.published","user":"a&b","stream":"screen"}"#
        let event = try parser.shortForm(JSONValue(parsing: json.utf8), room: "demo", id: "1")
        guard case .streamPublished(let publication) = event.kind else {
            Issue.record("not a publication")
            return
        }
        #expect(publication.url == "rtmp://127.0.0.1/live/demo__a%26b_screen")
    }

    @Test func errorsHoldNoSecret() throws {
        let error = #expect(throws: InputError.self) {
            try cloudEvent(Self.published(#""url":"rtmp://media.example/live/SECRET?auth_key=SECRET""#))
        }
        #expect(error?.description.contains("SECRET") == false)
        #expect(error?.description.contains("rtmp://media.example/live/***") == true)
    }

    @Test func hostileNestingIsRefused() {
        #expect(throws: InputError.self) {
            try JSONValue(parsing: String(repeating: "[", count: 200_000).utf8)
        }
    }
}
