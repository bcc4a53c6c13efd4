import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Explicit tasks over HTTP, with scripted relays.
@Suite(.timeLimit(.minutes(5))) struct TaskRouteTests {
    static func task(_ id: String? = "second", room: String = "demo", key: String = "own") -> String {
        let name = id.map { #""id":"\#($0)","# } ?? ""
        return #"{\#(name)"room":"\#(room)","outputs":[{"id":"main","url":"rtmp://127.0.0.1/\#(key)"}]}"#
    }

    static func ifMatch(_ tag: String?) -> HTTPFields { [.ifMatch: tag ?? "", .contentType: "application/json"] }

    static func relay(_ bench: Bench, of task: TaskID) async throws -> ScriptedRelay {
        try await eventually { bench.relays.running.last { $0.task == task && $0.plan != nil } }
    }

    @Test func itRunsBesideTheAutomaticOne() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let made = try await bench.call(.post, "/v1/tasks", Self.task())
                #expect(made.status == 201, "\(made.text)")
                #expect(made.headers[.location] == "/v1/tasks/second")
                #expect(try made.value("state") == "starting" && made.value("waitingFor") == "stream")
                #expect(try made.value("kind") == "explicit")
                #expect(try made.value("settings.outputs.0.url") == "rtmp://127.0.0.1/***")
                #expect(bench.relays.started.isEmpty)

                try await bench.publish("alice")
                let own = try await Self.relay(bench, of: "second")
                let automatic = try await Self.relay(bench, of: "auto-demo")
                #expect(own.plan?.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/own"])
                #expect(automatic.plan?.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/out/demo"])
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/second").value("state") == "running" ? true : nil
                }
                #expect(try await bench.call(.get, "/v1/rooms/demo").value("tasks.1") == "second")

                // Changes affect only this task's settings.
                let tag = try await bench.call(.get, "/v1/tasks/second").headers[.eTag]
                let patched = try await bench.call(
                    .patch, "/v1/tasks/second", #"{"policy":{"bypass":"never"}}"#, headers: Self.ifMatch(tag))
                #expect(patched.status == 200, "\(patched.text)")
                try await eventually { own.plan?.mode == .mix(host: "alice/camera") ? true : nil }
                #expect(automatic.plan?.mode == .bypass("alice/camera"))
                #expect(bench.relays.started.count == 2)

                let stopped = try await bench.call(.delete, "/v1/tasks/second")
                #expect(try stopped.value("endReason") == "requested")
                try await eventually { own.exitDescription() != nil ? true : nil }
                #expect(automatic.exitDescription() == nil)
                try await bench.unpublish("alice")
                try await bench.publish("bob")
                try await eventually { automatic.plan?.mode == .bypass("bob/camera") ? true : nil }
                #expect(bench.relays.started.count == 2, "it never comes back")
                #expect(try await bench.call(.get, "/v1/tasks/second").value("state") == "stopped")
                let timeline = try await bench.call(.get, "/v1/tasks/second/timeline")
                #expect(timeline.text.contains("task ends: requested"))
            }
        }
    }

    @Test func theSameRequestIsTheSameTask() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                #expect(try await bench.call(.post, "/v1/tasks", Self.task()).status == 201)
                #expect(try await bench.call(.post, "/v1/tasks", Self.task()).status == 200)
                // The same request is also accepted after a change of the task.
                let any = Self.ifMatch("*")
                #expect(
                    try await bench.call(.patch, "/v1/tasks/second", #"{"host":"zoe"}"#, headers: any).status == 200)
                let again = try await bench.call(.post, "/v1/tasks", Self.task())
                #expect(again.status == 200)
                #expect(try again.value("settings.host") == "zoe")
                for body in [Self.task(key: "other"), Self.task(room: "elsewhere", key: "other")] {
                    let answer = try await bench.call(.post, "/v1/tasks", body)
                    #expect(answer.status == 409)
                    #expect(try answer.value("type") == "urn:mixorchestrator:problem:task-exists")
                }
                #expect(try await bench.call(.get, "/v1/rooms/elsewhere").status == 404)

                let key = HTTPFieldsOf("Idempotency-Key", "once")
                let first = try await bench.call(.post, "/v1/tasks", Self.task(nil, key: "keyed"), headers: key)
                #expect(first.status == 201, "\(first.text)")
                let second = try await bench.call(.post, "/v1/tasks", Self.task(nil, key: "keyed"), headers: key)
                #expect(second.status == 200)
                #expect(try first.value("id") == second.value("id"))
                let third = try await bench.call(.post, "/v1/tasks", Self.task(nil, key: "else"), headers: key)
                #expect(try third.value("type") == "urn:mixorchestrator:problem:idempotency-key-reused")
                // A late repetition of the request does not create a second task, although the first one has ended.
                let name = try #require(try first.value("id"))
                #expect(try await bench.call(.delete, "/v1/tasks/\(name)").status == 200)
                let late = try await bench.call(.post, "/v1/tasks", Self.task(nil, key: "keyed"), headers: key)
                #expect(late.status == 200)
                #expect(try late.value("state") == "stopped")
                // The id of an ended task may be used again.
                #expect(try await bench.call(.delete, "/v1/tasks/second").status == 200)
                let anew = try await bench.call(.post, "/v1/tasks", Self.task(key: "anew"))
                #expect(anew.status == 201, "\(anew.text)")
                #expect(try anew.value("state") == "starting")
            }
        }
    }

    @Test func twoTasksNeverPushToTheSamePlace() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                func refused(_ answer: Answer, naming task: String) throws {
                    #expect(answer.status == 409, "\(answer.text)")
                    #expect(try answer.value("type") == "urn:mixorchestrator:problem:output-in-use")
                    #expect(try answer.value("detail")?.contains("task \(task)") == true, "\(answer.text)")
                    #expect(!answer.text.contains("/own"))
                }
                #expect(try await bench.call(.post, "/v1/tasks", Self.task()).status == 201)
                try refused(try await bench.call(.post, "/v1/tasks", Self.task("third", room: "r2")), naming: "second")
                // This is the same server in another spelling.
                let output = #"{"id":"x","url":"rtmp://127.0.0.1:1935/own?again"}"#
                try refused(
                    try await bench.call(.put, "/v1/rooms/r2", #"{"outputs":[\#(output)]}"#), naming: "second")
                #expect(try await bench.call(.get, "/v1/rooms/r2").status == 404)
                // A destination from the configuration is taken too.
                try refused(
                    try await bench.call(.post, "/v1/tasks", Self.task("third", key: "out/demo")),
                    naming: "auto-demo")
                #expect(try await bench.call(.get, "/v1/tasks/third").status == 404)
                // The end of the task frees the destination.
                #expect(try await bench.call(.delete, "/v1/tasks/second").status == 200)
                #expect(try await bench.call(.post, "/v1/tasks", Self.task("third", room: "r2")).status == 201)
                // The deletion of the room frees the destination.
                #expect(try await bench.call(.delete, "/v1/rooms/r2").status == 204)
                #expect(try await bench.call(.post, "/v1/tasks", Self.task("fourth", room: "r3")).status == 201)
            }
        }
    }

    @Test func changesNameWhatTheyAreBasedOn() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let first = try await bench.call(.get, "/v1/tasks/auto-demo").headers[.eTag]
                #expect(try await bench.call(.get, "/v1/rooms/demo").headers[.eTag] == first)
                let patch = #"{"canvas":{"width":640,"fps":30},"host":"alice"}"#
                let json: HTTPFields = [.contentType: "application/merge-patch+json"]
                let missing = try await bench.call(.patch, "/v1/tasks/auto-demo", patch, headers: json)
                #expect(missing.status == 428)
                #expect(missing.headers[.eTag] == first)
                let done = try await bench.call(
                    .patch, "/v1/tasks/auto-demo", patch, headers: Self.ifMatch(first))
                #expect(done.status == 200, "\(done.text)")
                let second = done.headers[.eTag]
                #expect(second != first)
                let stale = try await bench.call(
                    .patch, "/v1/tasks/auto-demo", patch, headers: Self.ifMatch(first))
                #expect(stale.status == 412)
                #expect(stale.headers[.eTag] == second)
                try await bench.plan { $0.scene.canvas.width == 640 && $0.scene.canvas.fps == 30 }
                // A new participant is no change of the settings.
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo").headers[.eTag] == second)
                // A null restores the default, and the other settings stay.
                let back = try await bench.call(
                    .patch, "/v1/tasks/auto-demo", #"{"canvas":{"fps":null}}"#, headers: Self.ifMatch(second))
                #expect(try back.value("settings.canvas.fps") == "20" && back.value("settings.canvas.width") == "640")
                #expect(try back.value("settings.host") == "alice")
                #expect(try await bench.call(.get, "/v1/rooms/demo").value("host") == "alice")
                // Conditional requests work on the room too.
                let put = try await bench.call(.put, "/v1/rooms/demo", "{}", headers: Self.ifMatch(second))
                #expect(put.status == 412)
                let new: HTTPFields = [.ifNoneMatch: "*"]
                #expect(try await bench.call(.put, "/v1/rooms/demo", "{}", headers: new).status == 412)
                #expect(try await bench.call(.put, "/v1/rooms/fresh", "{}", headers: new).status == 201)
                #expect(try await bench.call(.put, "/v1/rooms/none", "{}", headers: Self.ifMatch("*")).status == 412)
                #expect(bench.relays.started.count == 1, "all of it on air")
            }
        }
    }

    @Test func outputsComeAndGoOnAir() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                let relay = try await Self.relay(bench, of: "auto-demo")
                let path = "/v1/tasks/auto-demo/outputs"
                let body = #"{"id":"b","url":"rtmp://127.0.0.1/b/S3CRET"}"#
                let added = try await bench.call(.post, path, body)
                #expect(added.status == 201, "\(added.text)")
                #expect(try added.value("url") == "rtmp://127.0.0.1/b/***")
                try await eventually { relay.plan?.outputs.destinations.map(\.id) == ["main", "b"] ? true : nil }
                #expect(try await bench.call(.post, path, body).status == 200)
                let other = try await bench.call(.post, path, #"{"id":"b","url":"rtmp://127.0.0.1/c"}"#)
                #expect(try other.value("type") == "urn:mixorchestrator:problem:output-exists")
                let redacted = try await bench.call(.post, path, #"{"id":"c","url":"rtmp://127.0.0.1/c/***"}"#)
                #expect(redacted.status == 422)
                for number in 3...16 {
                    let more = #"{"id":"o\#(number)","url":"rtmp://127.0.0.1/o\#(number)"}"#
                    #expect(try await bench.call(.post, path, more).status == 201)
                }
                let tooMany = try await bench.call(.post, path, #"{"id":"z","url":"rtmp://127.0.0.1/z"}"#)
                #expect(try tooMany.value("type") == "urn:mixorchestrator:problem:too-many-outputs")
                #expect(try await bench.call(.delete, path + "/zzz").status == 404)
                for number in 3...16 { #expect(try await bench.call(.delete, path + "/o\(number)").status == 204) }
                #expect(try await bench.call(.delete, path + "/main").status == 204)
                try await eventually { relay.plan?.outputs.destinations.map(\.id) == ["b"] ? true : nil }
                #expect(relay.exitDescription() == nil && bench.relays.started.count == 1)
                // A program without outputs ends.
                #expect(try await bench.call(.delete, path + "/b").status == 204)
                try await eventually { relay.exitDescription() != nil ? true : nil }
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline")
                #expect(timeline.text.contains("output b removed by API, the last one"))
                let ended = try await bench.call(.get, "/v1/tasks/auto-demo")
                #expect(try ended.value("endReason") == "noOutputs")
                #expect(try await bench.call(.post, path, body).status == 201)
                try await bench.plan { $0.outputs.destinations.map(\.id) == ["b"] }
                #expect(!bench.log.text.contains("S3CRET") && !timeline.text.contains("S3CRET"))

                // An explicit task ends only when it is deleted.
                #expect(try await bench.call(.post, "/v1/tasks", Self.task()).status == 201)
                let last = try await bench.call(.delete, "/v1/tasks/second/outputs/main")
                #expect(try last.value("type") == "urn:mixorchestrator:problem:last-output")
            }
        }
    }

    @Test func aRestartBringsThemBackAsTheyWere() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            let keep = ["relay.keep": ["true"]]
            let tag = LockedBox("")
            let plans = LockedBox<[Int]>([])
            try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                try await bench.publish("alice")
                #expect(try await bench.call(.post, "/v1/tasks", Self.task()).status == 201)
                #expect(
                    try await bench.call(.post, "/v1/tasks", Self.task("waits", room: "later", key: "w")).status == 201)
                #expect(try await bench.call(.post, "/v1/tasks", Self.task("gone", key: "gone")).status == 201)
                let patch = #"{"policy":{"bypass":"never"}}"#
                let answer = try await bench.call(.patch, "/v1/tasks/second", patch, headers: Self.ifMatch("*"))
                tag.value = answer.headers[.eTag] ?? ""
                #expect(try await bench.call(.delete, "/v1/tasks/gone").status == 200)
                for (task, revision) in [("second", "2"), ("auto-demo", "1")] {
                    try await eventually {
                        let applied = try await bench.call(.get, "/v1/tasks/\(task)").value("appliedRevision")
                        return applied == revision ? true : nil
                    }
                }
                try await eventually { relays.running.count == 2 ? true : nil }
                plans.value = relays.running.map(\.plans.count)
            }
            #expect(relays.running.count == 2)
            try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                for task in ["second", "auto-demo"] {
                    try await eventually {
                        try await bench.call(.get, "/v1/tasks/\(task)").value("state") == "running" ? true : nil
                    }
                }
                #expect(relays.started.count == 3, "nothing is started again")
                #expect(relays.running.map(\.plans.count) == plans.value, "and nothing applied again")
                let second = try await bench.call(.get, "/v1/tasks/second")
                #expect(second.headers[.eTag] == tag.value)
                #expect(try second.value("settings.policy.bypass") == "never")
                #expect(try await bench.call(.get, "/v1/tasks/waits").value("state") == "starting")
                #expect(try await bench.call(.get, "/v1/tasks/gone").value("state") == "stopped")
                #expect(try await bench.call(.post, "/v1/tasks", Self.task()).status == 200)
                let taken = try await bench.call(.post, "/v1/tasks", Self.task("new", room: "r9"))
                #expect(taken.status == 409)
                try await bench.publish("zoe", room: "later")
                _ = try await Self.relay(bench, of: "waits")
            }
        }
    }

    @Test func theEndOfTheRoomIsTheirs() async throws {
        try await withDirectory { directory in
            let store = MemoryTaskStore()
            try await withOrchestrator(directory: directory, store: store) { bench in
                try await bench.publish("alice")
                #expect(try await bench.call(.post, "/v1/tasks", Self.task()).status == 201)
                #expect(try await bench.call(.post, "/v1/tasks", Self.task("third", key: "3")).status == 201)
                try await eventually { bench.relays.running.count == 3 ? true : nil }
                #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
                try await eventually { bench.relays.running.isEmpty ? true : nil }
                try await eventually {
                    // The task is removed with its room as soon as its relay has ended.
                    let answer = try await bench.call(.get, "/v1/tasks/second")
                    return try answer.status == 404 || answer.value("endReason") == "roomDeleted" ? true : nil
                }
                try await eventually { try await store.tasks().isEmpty ? true : nil }
                #expect(try await store.rooms().isEmpty)
                try await bench.publish("alice")
                try await eventually { bench.relays.running.map(\.task) == ["auto-demo"] ? true : nil }
            }
        }
    }

    @Test func thereIsABound() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                for number in 1...RoomState.mostTasks {
                    #expect(
                        try await bench.call(.post, "/v1/tasks", Self.task("t\(number)", key: "\(number)")).status
                            == 201)
                }
                let refused = try await bench.call(.post, "/v1/tasks", Self.task("one-more"))
                #expect(try refused.value("type") == "urn:mixorchestrator:problem:too-many-tasks")
                #expect(try await bench.call(.delete, "/v1/tasks/t1").status == 200)
                #expect(try await bench.call(.post, "/v1/tasks", Self.task("one-more")).status == 201)
                // Ended tasks are kept, up to a limit.
                for number in 0..<40 {
                    #expect(try await bench.call(.delete, "/v1/tasks/one-more").status == 200, "\(number)")
                    #expect(try await bench.call(.post, "/v1/tasks", Self.task("one-more")).status == 201)
                }
                for number in 2...RoomState.mostTasks { _ = try await bench.call(.delete, "/v1/tasks/t\(number)") }
                #expect(try await bench.store.tasks().count <= OwnedTask.mostFinished + 1)
            }
        }
    }
}
