import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

func HTTPFieldsOf(_ name: String, _ value: String) -> HTTPFields {
    guard let name = HTTPField.Name(name) else { return [:] }
    return [name: value]
}

@Suite(.timeLimit(.minutes(5))) struct RouteTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        var method: HTTPRequest.Method = .post
        var uri: String
        var body: String?
        var type: String = "application/json"
        var status: Int
        var code: String
        var field: String?
        var testDescription: String { "\(method) \(uri) \(body?.prefix(80) ?? "")" }
    }

    @Test(arguments: [
        Refusal(uri: "/v1/events", body: "{", status: 400, code: "malformed-json"),
        Refusal(uri: "/v1/events", body: "{}", status: 422, code: "missing-field", field: "specversion"),
        Refusal(
            uri: "/v1/events", body: "{}", type: "text/plain", status: 415, code: "unsupported-media-type",
            field: "Content-Type"),
        Refusal(
            uri: "/v1/events",
            body: #"{"specversion":"1.0","id":"1","source":"s","app":"other","type":"room.opened","subject":"d"}"#,
            status: 422, code: "invalid-field", field: "app"),
        Refusal(
            uri: "/v1/rooms/demo/events", body: #"{"type":"stream.publish","user":"a"}"#, status: 422,
            code: "unknown-event-type", field: "type"),
        Refusal(
            uri: "/v1/rooms/demo/events", body: #"{"type":"stream.published","user":"a"}"#, status: 422,
            code: "missing-field", field: "url"),
        Refusal(
            uri: "/v1/rooms/demo/events", body: #"{"type":"stream.published","user":"a","url":"gopher://127.0.0.1/x"}"#,
            status: 422, code: "invalid-field", field: "url"),
        Refusal(
            uri: "/v1/rooms/demo/events", body: #"{"type":"stream.published","user":"a","url":"rtmp://10.0.0.1/x"}"#,
            status: 422, code: "url-refused", field: "url"),
        Refusal(
            uri: "/v1/rooms/a%2Fb/events", body: #"{"type":"room.opened"}"#, status: 422, code: "invalid-field",
            field: "room"),
        Refusal(
            uri: "/v1/rooms/demo/events", body: String(repeating: " ", count: 1_100_000), status: 413,
            code: "body-too-large"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"layout":"gird"}"#, status: 422, code: "invalid-field",
            field: "layout"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"layot":"grid"}"#, status: 422, code: "unknown-field",
            field: "layot"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"outputs":[{"id":"a","url":"rtmp://10.0.0.1/x"}]}"#,
            status: 422, code: "url-refused", field: "outputs[0].url"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"outputs":[{"id":"a","url":"http://127.0.0.1/x"}]}"#,
            status: 422, code: "url-refused", field: "outputs[0].url"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo",
            body: #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/x"},{"id":"a","url":"rtmp://127.0.0.1/y"}]}"#,
            status: 422,
            code: "invalid-field", field: "outputs[1].id"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"canvas":{"width":721}}"#, status: 422, code: "invalid-field",
            field: "canvas.width"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"canvas":{"fps":0}}"#, status: 422, code: "invalid-field",
            field: "canvas.fps"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"policy":{"bypass":"sometimes"}}"#, status: 422,
            code: "invalid-field", field: "policy.bypass"),
        Refusal(
            method: .put, uri: "/v1/layouts/x", body: #"{"arrangements":[{"fit":"covr"}]}"#, status: 422,
            code: "layout-invalid"),
        Refusal(method: .put, uri: "/v1/layouts/a.b", body: "{}", status: 422, code: "invalid-field", field: "name"),
        Refusal(method: .put, uri: "/v1/layouts/auto", body: "{}", status: 409, code: "layout-built-in"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo",
            body: #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/x"},{"id":"b","url":"rtmp://127.0.0.1:1935/x"}]}"#,
            status: 422, code: "invalid-field", field: "outputs[1].url"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo", body: #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/***"}]}"#,
            status: 422, code: "invalid-field", field: "outputs[0].url"),
        Refusal(uri: "/v1/tasks", body: "{}", status: 422, code: "missing-field", field: "room"),
        Refusal(uri: "/v1/tasks", body: "[]", status: 422, code: "invalid-field"),
        Refusal(uri: "/v1/tasks", body: #"{"room":"demo"}"#, status: 422, code: "missing-field", field: "outputs"),
        Refusal(
            uri: "/v1/tasks", body: #"{"room":"demo","outputs":[]}"#, status: 422, code: "invalid-field",
            field: "outputs"),
        Refusal(
            uri: "/v1/tasks", body: #"{"room":"a/b","outputs":[]}"#, status: 422, code: "invalid-field", field: "room"),
        Refusal(
            uri: "/v1/tasks", body: #"{"id":"auto-x","room":"demo","outputs":[]}"#, status: 422, code: "invalid-field",
            field: "id"),
        Refusal(
            uri: "/v1/tasks", body: #"{"room":"demo","output":[]}"#, status: 422, code: "unknown-field",
            field: "output"),
        Refusal(
            uri: "/v1/tasks", body: #"{"room":"demo","outputs":[{"id":"a","url":"rtmp://10.0.0.1/x"}]}"#,
            status: 422, code: "url-refused", field: "outputs[0].url"),
        Refusal(method: .patch, uri: "/v1/tasks/x", body: "{}", status: 404, code: "task-not-found"),
        Refusal(
            method: .patch, uri: "/v1/tasks/x", body: "{}", type: "text/plain", status: 415,
            code: "unsupported-media-type", field: "Content-Type"),
        Refusal(uri: "/v1/tasks/x/outputs", body: "{}", status: 404, code: "task-not-found"),
        Refusal(method: .delete, uri: "/v1/tasks/x/outputs/y", status: 404, code: "task-not-found"),
        Refusal(
            method: .patch, uri: "/v1/rooms/x", body: "{}", type: "text/plain", status: 415,
            code: "unsupported-media-type", field: "Content-Type"),
        Refusal(method: .patch, uri: "/v1/rooms/x/params", body: "{}", status: 404, code: "room-not-found"),
        Refusal(uri: "/v1/rooms/x/outputs", body: "{}", status: 404, code: "room-not-found"),
        Refusal(method: .delete, uri: "/v1/rooms/x/outputs/y", status: 404, code: "room-not-found"),
        Refusal(method: .get, uri: "/v1/tasks/x/timeline", status: 404, code: "task-not-found"),
        Refusal(method: .get, uri: "/v1/tasks/x/switches", status: 404, code: "task-not-found"),
        Refusal(
            method: .put, uri: "/v1/rooms/demo/streams", body: "{}", status: 422, code: "missing-field",
            field: "streams"),
        Refusal(method: .get, uri: "/v1/rooms/nobody", status: 404, code: "room-not-found"),
        Refusal(method: .get, uri: "/v1/tasks/auto-nobody", status: 404, code: "task-not-found"),
        Refusal(method: .delete, uri: "/v1/tasks/x", status: 404, code: "task-not-found"),
        Refusal(method: .get, uri: "/live/nobody.flv", status: 404, code: "not-on-air"),
        Refusal(method: .get, uri: "/v1/nothing", status: 404, code: "not-found"),
    ])
    func refusalsAreProblems(_ refusal: Refusal) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let answer = try await bench.call(
                    refusal.method, refusal.uri, refusal.body, headers: [.contentType: refusal.type])
                #expect(answer.status == refusal.status, "\(answer.text)")
                #expect(answer.headers[.contentType] == "application/problem+json")
                #expect(try answer.value("type") == "urn:mixorchestrator:problem:\(refusal.code)")
                #expect(try answer.value("status") == "\(refusal.status)")
                if let field = refusal.field { #expect(try answer.value("field") == field) }
                #expect(try await bench.call(.get, "/healthz").status == 200)
                #expect(bench.relays.started.isEmpty)
            }
        }
    }

    @Test func aRefusedChangeLeavesTheProgramAlone() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let bad = [
                    #"{"type":"stream.published","user":"bob","url":"rtmp://10.0.0.1/x"}"#, "{", #"{"type":"?"}"#,
                ]
                for body in bad { #expect(try await bench.call(.post, "/v1/rooms/demo/events", body).status >= 400) }
                #expect(try await bench.call(.put, "/v1/rooms/demo", #"{"layout":"nope"}"#).status == 422)
                #expect(bench.relays.started.first?.plans.count == 1)
            }
        }
    }

    @Test func aStoreThatTakesNothingRefusesEventsAndKeepsThePrograms() async throws {
        try await withDirectory { directory in
            let store = BreakableStore()
            try await withOrchestrator(directory: directory, store: store) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                store.breaks(true)
                let body = #"{"type":"stream.published","user":"bob","url":"rtmp://127.0.0.1/live/bob"}"#
                let answer = try await bench.call(.post, "/v1/rooms/demo/events", body)
                #expect(answer.status == 503)
                #expect(try answer.value("type") == "urn:mixorchestrator:problem:store-unavailable")
                #expect(answer.headers[.retryAfter] == "1")
                // The relay's end is still handled.
                try #require(bench.relays.started.first).kill()
                try await eventually { bench.relays.started.count == 2 ? true : nil }
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                store.breaks(false)
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }
            }
        }
    }

    /// A stored change is not lost, even if its answer was an error.
    @Test func whatIsStoredCountsAlsoWhenTheStoreReportsAnError() async throws {
        try await withDirectory { directory in
            let store = BreakableStore()
            try await withOrchestrator(directory: directory, store: store) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let key = HTTPFieldsOf("Idempotency-Key", "once")
                let body = #"{"type":"stream.published","user":"bob","url":"rtmp://127.0.0.1/live/bob"}"#
                store.losesAnswers(true)
                let failed = try await bench.call(.post, "/v1/rooms/demo/events", body, headers: key)
                #expect(failed.status == 503)
                let task = TaskRouteTests.task()
                #expect(try await bench.call(.post, "/v1/tasks", task).status == 503)
                store.losesAnswers(false)
                // The repeated request is stored once, or refused because of the first one.
                let again = try await bench.call(.post, "/v1/rooms/demo/events", body, headers: key)
                #expect(again.status == 202)
                #expect(try await bench.call(.post, "/v1/tasks", task).status / 100 == 2)
                for task in ["auto-demo", "second"] as [TaskID] {
                    try await eventually {
                        let plan = bench.relays.running.last { $0.task == task }?.plan
                        return plan?.mode == .mix(host: "alice/camera") ? true : nil
                    }
                }
                #expect(try await store.room("demo")?.document.streams.count == 2)
                try await bench.unpublish("bob")
                try await eventually { try await store.room("demo")?.document.streams.count == 1 ? true : nil }
                store.losesAnswers(true)
                #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 503)
                store.losesAnswers(false)
                // The room may be gone already, if the stored change was noticed meanwhile.
                let gone = try await bench.call(.delete, "/v1/rooms/demo").status
                #expect([204, 404].contains(gone))
                try await eventually { bench.relays.running.isEmpty ? true : nil }
                #expect(try await store.room("demo") == nil)
                try await bench.publish("zoe")
                try await eventually { bench.relays.running.map(\.task) == ["auto-demo"] ? true : nil }
            }
        }
    }

    @Test func layoutsAreStoredAndActOnTheRunningMix() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let made = try await bench.call(.put, "/v1/layouts/mine", Self.layout("grid"))
                #expect(made.status == 201, "\(made.text)")
                #expect(try await bench.call(.put, "/v1/rooms/demo", #"{"layout":"mine"}"#).status == 201)
                try await bench.publish("alice")
                try await bench.publish("bob")
                let grid = try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                #expect(try await bench.call(.put, "/v1/layouts/mine", Self.layout("picture-in-picture")).status == 200)
                let inset = try await bench.plan { $0.scene != grid.scene }
                #expect(inset.cause == "layout mine changed")
                #expect(inset.scene.panes.map(\.z) == [0, 1])
                // An operator edits the file.
                try Self.layout("solo").write(
                    toFile: directory + "/layouts/mine.json", atomically: true, encoding: .utf8)
                try await bench.plan { $0.scene.panes.count == 1 }
                // A broken layout changes nothing.
                #expect(try await bench.call(.put, "/v1/layouts/mine", "{").status == 422)
                #expect(bench.relays.started.first?.plan?.scene.panes.count == 1)
            }
        }
    }

    private static func layout(_ name: String) -> String { #"{"arrangements":[{"algorithm":"\#(name)"}]}"# }

    @Test func secretsStayInside() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory,
                settings: ["rooms.outputs": ["rtmp://127.0.0.1/out/S3CRET?k=S3CRET"]]
            ) { bench in
                var answers: [String] = []
                let published =
                    #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/S3CRET?auth_key=S3CRET"}"#
                answers.append(try await bench.call(.post, "/v1/rooms/demo/events", published).text)
                try await bench.plan { $0.sources.first?.url.contains("S3CRET") == true }
                let refused = published.replacing("127.0.0.1", with: "10.1.2.3")
                answers.append(try await bench.call(.post, "/v1/rooms/demo/events", refused).text)
                let settings = #"{"outputs":[{"id":"x","url":"rtmp://127.0.0.1/S3CRET"}]}"#
                answers.append(try await bench.call(.put, "/v1/rooms/demo", settings).text)
                answers.append(
                    try await bench.call(.put, "/v1/rooms/demo", settings.replacing("127.0.0.1", with: "10.1.2.3")).text
                )
                for uri in [
                    "/v1/rooms", "/v1/rooms/demo", "/v1/tasks", "/v1/tasks/auto-demo", "/v1/tasks/auto-demo/timeline",
                ] {
                    answers.append(try await bench.call(.get, uri).text)
                }
                try #require(bench.relays.started.first).kill()
                try await eventually { bench.log.text.contains("relay lost") ? true : nil }
                for answer in answers {
                    #expect(!answer.contains("S3CRET"))
                    #expect(!answer.isEmpty)
                }
                #expect(!bench.log.text.contains("S3CRET"))
            }
        }
    }
}

/// A store that refuses every change on request, as with a full disk.
final class BreakableStore: ForwardingTaskStore {
    let base: any TaskStore = MemoryTaskStore()
    private let isBroken = LockedFlag()
    private let losesAnswers = LockedFlag()

    func breaks(_ broken: Bool) { isBroken.value = broken }
    /// Stores changes, but reports an error.
    func losesAnswers(_ losing: Bool) { losesAnswers.value = losing }

    func commit(_ change: StoreChange) async throws(StoreError) -> CommitResult {
        guard !isBroken.value else { throw .full(path: "/data") }
        let result = try await base.commit(change)
        if losesAnswers.value { throw .engine("disk I/O error") }
        return result
    }

    func commit(_ change: ChannelChange) async throws(StoreError) {
        guard !isBroken.value else { throw .full(path: "/data") }
        try await base.commit(change)
    }
}
