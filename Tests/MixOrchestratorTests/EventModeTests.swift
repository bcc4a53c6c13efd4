import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

/// CloudEvents' content modes on a whole service.
@Suite(.timeLimit(.minutes(5))) struct EventModeTests {
    private func withBench(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), body)
        }
    }
    private static func event(_ id: String, room: String = "demo", _ rest: String = #""type":"room.opened""#) -> String
    {
        #"{"specversion":"1.0","id":"\#(id)","source":"s","subject":"\#(room)",\#(rest)}"#
    }
    private static func headers(_ fields: [String: String]) -> HTTPFields {
        var headers: HTTPFields = [:]
        for (name, value) in fields {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        return headers
    }

    @Test func anEventInBinaryModeIsTheSameAsInStructuredMode() async throws {
        try await withBench { bench in
            let data = #"{"user":"alice","url":"rtmp://127.0.0.1/live/a"}"#
            let answer = try await bench.call(
                .post, "/v1/events", data,
                headers: Self.headers([
                    "content-type": "application/json; charset=utf-8", "ce-specversion": "1.0", "ce-id": "7",
                    "ce-source": "//app%20server", "ce-type": "stream.published", "ce-subject": "caf%C3%A9",
                    "ce-sequence": "42", "ce-time": "2026-01-31T12:00:00Z", "ce-traceparent": "ignored", "x-other": "1",
                ]))
            #expect(answer.status == 202, "\(answer.text)")
            let stored = try #require(try await bench.store.events(of: "café", limit: 1).first)
            let publication = Publication(user: "alice", url: "rtmp://127.0.0.1/live/a")
            #expect(
                stored
                    == RoomEvent(
                        room: "café", source: "//app server", id: "7", sequence: 42, time: 1_769_860_800,
                        kind: .streamPublished(publication)))
            // The same event again, in structured mode.
            let structured =
                #"{"specversion":"1.0","id":"7","source":"//app server","subject":"café","type":"room.opened"}"#
            let again = try await bench.call(
                .post, "/v1/events", structured, headers: [.contentType: "application/cloudevents+json; charset=UTF-8"])
            #expect(again.text == #"{"accepted":0,"duplicate":1,"stale":0}"#)
        }
    }

    @Test func anEventWithoutDataNeedsNoBody() async throws {
        try await withBench { bench in
            let answer = try await bench.call(
                .post, "/v1/events",
                headers: Self.headers([
                    "ce-specversion": "1.0", "ce-id": "\"quoted \\\"1\\\"\"", "ce-source": "s",
                    "ce-type": "room.opened",
                    "ce-subject": "demo",
                ]))
            #expect(answer.status == 202, "\(answer.text)")
            #expect(try await bench.store.events(of: "demo", limit: 1).first?.id == #"quoted "1""#)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var headers: [String: String]
        var body: String?
        var status: Int
        var field: String?
        var testDescription: String { "\(headers) \(body?.prefix(60) ?? "")" }
    }
    private static let binary = [
        "content-type": "application/json", "ce-specversion": "1.0", "ce-id": "1", "ce-source": "s",
        "ce-type": "room.opened", "ce-subject": "demo",
    ]

    @Test(arguments: [
        Refusal(headers: binary.merging(["ce-type": "room.openned"]) { $1 }, status: 422, field: "ce-type"),
        Refusal(headers: binary.merging(["ce-subject": "a%2Fb"]) { $1 }, status: 422, field: "ce-subject"),
        Refusal(headers: binary.merging(["ce-subject": "a%zz"]) { $1 }, status: 422, field: "ce-subject"),
        Refusal(headers: binary.merging(["ce-subject": "a%FF"]) { $1 }, status: 422, field: "ce-subject"),
        Refusal(headers: binary.merging(["ce-specversion": "0.3"]) { $1 }, status: 422, field: "ce-specversion"),
        Refusal(
            headers: binary.merging(["content-type": "text/xml"]) { $1 }, body: "<a/>", status: 400, field: nil),
        Refusal(
            headers: binary.merging(["content-type": "text/plain"]) { $1 }, body: "{}", status: 422,
            field: "Content-Type"),
        Refusal(headers: binary, body: #"{"user":"a"}"#, status: 422, field: "data.user"),
        Refusal(
            headers: binary.merging(["ce-type": "stream.updated"]) { $1 }, body: #"{"user":7}"#, status: 422,
            field: "data.user"),
        Refusal(
            headers: ["content-type": "application/cloudevents+xml"], body: "<a/>", status: 415, field: "Content-Type"),
        Refusal(
            headers: ["content-type": "application/cloudevents-batch+xml", "ce-specversion": "1.0"], body: "<a/>",
            status: 415, field: "Content-Type"),
        Refusal(headers: ["content-type": "application/cloudevents+json"], body: "[]", status: 422),
        Refusal(headers: ["content-type": "application/cloudevents-batch+json"], body: "{}", status: 422),
        Refusal(
            headers: ["content-type": "application/json"], body: "[" + event("1") + "," + #"{"specversion":"1.0"}]"#,
            status: 422, field: "[1].id"),
        Refusal(
            headers: ["content-type": "application/json"], body: "[" + event("1") + "," + event("2", room: "a b") + "]",
            status: 422, field: "[1].subject"),
        Refusal(
            headers: ["content-type": "application/json"],
            body: event(String(repeating: "i", count: 1100)), status: 422, field: "id"),
        Refusal(
            headers: ["content-type": "application/cloudevents-batch+json"],
            body: "[" + Array(repeating: event("1"), count: 1001).joined(separator: ",") + "]", status: 422),
    ])
    func whatIsNoGoodEventIsNamed(_ refusal: Refusal) async throws {
        try await withBench { bench in
            let answer = try await bench.call(
                .post, "/v1/events", refusal.body, headers: Self.headers(refusal.headers))
            #expect(answer.status == refusal.status, "\(answer.text)")
            if let field = refusal.field { #expect(try answer.value("field") == field, "\(answer.text)") }
            // No event of the batch was taken.
            #expect(try await bench.call(.get, "/v1/rooms").value("rooms.0") == nil)
        }
    }

    @Test func aBatchIsTakenInOrderInEachRoom() async throws {
        try await withBench { bench in
            var events: [String] = []
            for number in 1...40 {
                for room in 0..<25 {
                    let sequence = #""type":"participant.joined","sequence":"\#(number)","data":{"user":"u"}"#
                    events.append(Self.event("\(room)-\(number)", room: "r\(room)", sequence))
                }
            }
            let answer = try await bench.call(
                .post, "/v1/events", "[" + events.joined(separator: ",") + "]",
                headers: [.contentType: "application/cloudevents-batch+json"])
            // The events would be stale if they were applied out of order.
            #expect(answer.text == #"{"accepted":1000,"duplicate":0,"stale":0}"#)
            let empty = try await bench.call(
                .post, "/v1/events", "[]", headers: [.contentType: "application/cloudevents-batch+json"])
            #expect(empty.text == #"{"accepted":0,"duplicate":0,"stale":0}"#)
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.post, "/v1/events"), (.post, "/v1/rooms/demo/events"), (.put, "/v1/rooms/demo"),
        (.put, "/v1/layouts/x"), (.post, "/v1/layouts/x/rollback"), (.post, "/v1/layouts/auto/plan?participants=1"),
    ])
    func deepNestingIsRefusedAndNothingFalls(_ method: HTTPRequest.Method, _ uri: String) async throws {
        try await withBench { bench in
            let brackets = String(repeating: "[", count: 100_000)
            let objects = String(repeating: #"{"a":"#, count: 100_000)
            for body in [brackets, objects, brackets + String(repeating: "]", count: 100_000)] {
                let answer = try await bench.call(method, uri, body, headers: [.contentType: "application/json"])
                #expect([400, 413, 422].contains(answer.status), "\(answer.text.prefix(200))")
            }
            #expect(try await bench.call(.get, "/healthz").status == 200)
        }
    }
}
