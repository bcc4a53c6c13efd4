import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

/// Timelines, lists, snapshots and viewers over HTTP.
@Suite(.timeLimit(.minutes(5))) struct TimelineRouteTests {
    struct Timeline: Decodable {
        struct Entry: Decodable {
            var number: Int64
            var kind: TimelineEntry.Kind
            var message: String
            var causes: [String]
            var event: EventReference?
        }
        var entries: [Entry]
        var next: Int64?
    }

    private func timeline(_ bench: Bench, _ query: String = "") async throws -> Timeline {
        let answer = try await bench.call(.get, "/v1/tasks/auto-demo/timeline\(query)")
        return try JSONDecoder().decode(Timeline.self, from: Data(answer.text.utf8))
    }

    @Test func aChainLeadsFromTheEventToTheOutput() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let body = """
                    {"specversion":"1.0","id":"e1","source":"/app?token=S3CRET","type":"stream.published",
                     "subject":"demo","data":{"user":"alice","url":"rtmp://127.0.0.1/live/alice"}}
                    """
                let headers: HTTPFields = [.contentType: "application/cloudevents+json"]
                #expect(try await bench.call(.post, "/v1/events", body, headers: headers).status == 202)
                let whole = try await eventually {
                    let timeline = try await timeline(bench)
                    return Set(timeline.entries.map(\.kind)).count == 5 ? timeline : nil
                }
                let event = try #require(whole.entries.first { $0.kind == .event })
                #expect(event.event?.id == "e1")
                let cause = try #require(event.causes.first)
                let chain = try await timeline(bench, "?cause=\(cause)").entries
                #expect(Set(chain.map(\.kind)).count == 5, "event, decision, relay, splice and output are linked")
                #expect(chain.last?.kind == .event, "newest first")
                #expect(chain.map(\.number) == chain.map(\.number).sorted(by: >))
                let task = try await bench.call(.get, "/v1/tasks/auto-demo")
                #expect(try task.value("switches.0.causes.0") == cause)
                let switches = try await bench.call(.get, "/v1/tasks/auto-demo/switches?limit=1")
                #expect(try switches.value("switches.0.videoGapMs") == "50")
                #expect(!(try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text).contains("S3CRET"))

                // This event begins another chain.
                try await Task.sleep(for: .milliseconds(310))  // beyond the debounce window
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                let other = try await timeline(bench, "?limit=1000").entries
                #expect(Set(other.flatMap(\.causes)).count >= 2)
                #expect(try await timeline(bench, "?cause=\(cause)").entries.count == chain.count)

                // The pages together have the same content.
                var pages: [Int64] = []
                var next: Int64?
                repeat {
                    let page = try await timeline(bench, "?limit=2" + (next.map { "&before=\($0)" } ?? ""))
                    pages += page.entries.map(\.number)
                    next = page.next
                } while next != nil
                let all = try await timeline(bench, "?limit=1000").entries.map(\.number)
                #expect(pages.suffix(other.count) == all.suffix(other.count))
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo/timeline?limit=0").status == 422)
            }
        }
    }

    @Test func whatCouldNotBeStoredIsToldAllTheSameAndStoredLater() async throws {
        try await withDirectory { directory in
            let store = BreakableStore()
            try await withOrchestrator(directory: directory, store: store) { bench in
                try await bench.publish("alice")
                let relay = try await TaskRouteTests.relay(bench, of: "auto-demo")
                store.breaks(true)
                relay.kill()
                try await eventually { bench.relays.started.count == 2 ? true : nil }
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("state") == "running" ? true : nil
                }
                #expect(try await timeline(bench).entries.contains { $0.message.hasPrefix("relay lost") })
                #expect(
                    try await store.timeline(of: "auto-demo", limit: 99).allSatisfy {
                        $0.entry.kind != .relay || !$0.entry.message.hasPrefix("relay lost")
                    })
                store.breaks(false)
                try await bench.publish("bob")
                try await eventually {
                    let stored = try await store.timeline(of: "auto-demo", limit: 99)
                    return stored.contains { $0.entry.message.hasPrefix("relay lost") } ? true : nil
                }
            }
        }
    }

    @Test func listsComePageByPage() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                for number in 1...5 { try await bench.publish("u", room: "r\(number)") }
                #expect(try await bench.call(.post, "/v1/tasks", TaskRouteTests.task("x", room: "r2")).status == 201)
                func all(_ what: String, _ query: String = "") async throws -> [String] {
                    var ids: [String] = []
                    var next: String?
                    repeat {
                        let after = next.map { "&after=\($0.replacing("/", with: "%2F"))" } ?? ""
                        let answer = try await bench.call(.get, "/v1/\(what)?limit=2\(query)\(after)")
                        #expect(answer.status == 200, "\(answer.text)")
                        for index in 0..<3 {
                            if let id = try answer.value("\(what).\(index).id") { ids.append(id) }
                        }
                        #expect(try answer.value("\(what).2.id") == nil)
                        next = try answer.value("next")
                    } while next != nil
                    return ids
                }
                #expect(try await all("rooms") == ["r1", "r2", "r3", "r4", "r5"])
                #expect(try await all("tasks") == ["auto-r1", "auto-r2", "x", "auto-r3", "auto-r4", "auto-r5"])
                #expect(try await all("tasks", "&room=r2") == ["auto-r2", "x"])
                #expect(try await bench.call(.delete, "/v1/tasks/x").status == 200)
                try await eventually { try await all("tasks", "&state=stopped") == ["x"] ? true : nil }
                let closed = #"{"type":"room.closed"}"#
                #expect(try await bench.call(.post, "/v1/rooms/r3/events", closed).status == 202)
                #expect(try await all("rooms", "&state=closed") == ["r3"])
                for query in [
                    "rooms?limit=0", "rooms?limit=x", "tasks?state=on", "tasks?limit=1001", "tasks?room=a%2Fb",
                ] {
                    #expect(try await bench.call(.get, "/v1/\(query)").status == 422, "\(query)")
                }
            }
        }
    }

    @Test func aSnapshotPutsTheRoomRight() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                for user in ["alice", "bob"] { try await bench.publish(user) }
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                func put(_ body: String, _ key: String = UUID().uuidString) async throws -> Answer {
                    try await bench.call(
                        .put, "/v1/rooms/demo/streams", body, headers: HTTPFieldsOf("Idempotency-Key", key))
                }
                let alice = #"{"user":"alice","url":"rtmp://127.0.0.1/live/alice"}"#
                let body = #"{"streams":[\#(alice)],"time":"2026-01-31T12:00:00Z"}"#
                let answer = try await put(body, "k")
                #expect(answer.status == 202)
                #expect(answer.text == #"{"accepted":1,"duplicate":0,"stale":0}"#)
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                #expect(bench.relays.started.count == 1)
                #expect(try await put(body, "k").text == #"{"accepted":0,"duplicate":1,"stale":0}"#)
                let old = #"{"streams":[],"time":"2026-01-31T11:00:00Z"}"#
                #expect(try await put(old).text == #"{"accepted":0,"duplicate":0,"stale":1}"#)
                let events = try await bench.store.events(of: "demo", limit: 99)
                #expect(events.map(\.type).count { $0 == "room.snapshot" } == 2)
                let wrong = try await put(#"{"streams":[{"user":"a","url":"rtmp://10.0.0.1/x"}]}"#)
                #expect(wrong.status == 422)
                #expect(try wrong.value("field") == "streams[0].url")
                // The room did not exist before.
                let fresh = try await bench.call(.put, "/v1/rooms/fresh/streams", #"{"streams":[\#(alice)]}"#)
                #expect(fresh.status == 202)
                try await bench.plan { $0.room == "fresh" }
            }
        }
    }

    @Test func viewersChooseATask() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(.ahc(.http), directory: directory) { bench in
                try await bench.publish("alice")
                #expect(try await bench.call(.post, "/v1/tasks", TaskRouteTests.task()).status == 201)
                for (query, task) in [("?task=auto-demo", TaskID("auto-demo")), ("", "second")] {
                    let relay = try await eventually { () -> ScriptedRelay? in
                        let state = try await bench.call(.get, "/v1/tasks/\(task)").value("state")
                        return state == "running" ? bench.relays.running.first { $0.task == task } : nil
                    }
                    async let viewing = bench.call(.get, "/live/demo.flv\(query)")
                    try await eventually { relay.viewerCount == 1 ? true : nil }
                    // The explicit tasks remain when the automatic one is deleted.
                    #expect(try await bench.call(.delete, "/v1/tasks/\(task)").status == 200)
                    #expect(try await viewing.status == 200)
                    try await eventually { bench.relays.running.contains { $0.task == task } ? nil : true }
                }
                let other = try await bench.call(.get, "/live/demo.flv?task=nobody")
                #expect(other.status == 404)
            }
        }
    }
}
