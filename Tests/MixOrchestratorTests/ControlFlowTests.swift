import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

/// The way of a request to a relay, through a real store and real sockets.
@Suite(.timeLimit(.minutes(5))) struct ControlFlowTests {
    @Test func eventsBecomePlans() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo").status == 404)
                try await bench.publish("alice")
                let first = try await bench.plan { $0.mode == .bypass("alice/camera") }
                #expect(first.outputs.destinations == [PushDestination(id: "main", url: "rtmp://127.0.0.1/out/demo")])
                let running = try await eventually {
                    let answer = try await bench.call(.get, "/v1/tasks/auto-demo")
                    return try answer.value("onAir") == "bypass" ? answer : nil
                }
                #expect(try running.value("state") == "running")
                #expect(try running.value("mixMode") == "0")
                #expect(try running.value("passthrough.video") == "1")
                #expect(try running.value("outputs.0.bytesSent") == "4711")
                #expect(try running.value("scene") == nil)

                try await Task.sleep(for: .milliseconds(310))  // beyond the debounce window
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                let mixed = try await eventually {
                    let answer = try await bench.call(.get, "/v1/tasks/auto-demo")
                    return try answer.value("switches.0.to") == "mix" ? answer : nil
                }
                #expect(try mixed.value("mixMode") == "1")
                #expect(try mixed.value("scene.panes.1.user") == "bob")
                #expect(try mixed.value("switches.0.cause") == "stream.published bob/camera")

                try await bench.unpublish("bob")
                try await bench.plan { $0.mode == .bypass("alice/camera") && $0.revision == 3 }
                #expect(bench.relays.started.count == 1)

                let room = try await bench.call(.get, "/v1/rooms/demo")
                #expect(try room.value("participants.0.user") == "alice")
                #expect(try room.value("participants.0.streams.0.url") == "rtmp://127.0.0.1/live/***")
                #expect(try room.value("task.id") == "auto-demo")
                #expect(try room.value("rtmp.running") == "1")
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline")
                #expect(timeline.text.contains("plan 2: mix of 2"))
                #expect(timeline.text.contains("on air: bypass → mix"))

                #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
                try await eventually { bench.relays.running.isEmpty ? true : nil }
                #expect(try await bench.call(.get, "/v1/rooms/demo").status == 404)
                let ended = try await bench.call(.get, "/v1/tasks/auto-demo")
                #expect(try ended.value("state") == "stopped")
                #expect(try ended.value("endReason") == "roomClosed")
            }
        }
    }

    @Test func duplicatesAndStaleEventsAreCountedAndChangeNothing() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                func send(_ id: String, _ sequence: Int) async throws -> Answer {
                    try await bench.call(
                        .post, "/v1/events",
                        """
                        {"specversion":"1.0","id":"\(id)","source":"app","type":"stream.published","subject":"demo",
                         "sequence":\(sequence),"data":{"user":"alice","url":"rtmp://127.0.0.1/live/\(id)"}}
                        """, headers: [.contentType: "application/cloudevents+json"])
                }
                #expect(try await send("1", 5).text == #"{"accepted":1,"duplicate":0,"stale":0}"#)
                #expect(try await send("1", 5).text == #"{"accepted":0,"duplicate":1,"stale":0}"#)
                #expect(try await send("0", 4).text == #"{"accepted":0,"duplicate":0,"stale":1}"#)
                try await bench.plan { $0.sources.first?.url == "rtmp://127.0.0.1/live/1" }

                let key = HTTPFieldsOf("Idempotency-Key", "once")
                for expected in [1, 0] {
                    let answer = try await bench.call(
                        .post, "/v1/rooms/demo/events", #"{"type":"participant.joined","user":"z"}"#, headers: key)
                    #expect(try answer.value("accepted") == "\(expected)")
                }
                let batch = try await bench.call(
                    .post, "/v1/events",
                    """
                    [{"specversion":"1.0","id":"a","source":"b","type":"participant.joined","subject":"r1","data":{"user":"u"}},
                     {"specversion":"1.0","id":"a","source":"b","type":"participant.joined","subject":"r1","data":{"user":"u"}}]
                    """, headers: [.contentType: "application/cloudevents-batch+json"])
                #expect(batch.text == #"{"accepted":1,"duplicate":1,"stale":0}"#)
            }
        }
    }

    @Test func aRelayThatDiesIsReplacedAndGetsThePlan() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                try #require(bench.relays.started.first).kill()
                try await eventually { bench.relays.started.count == 2 ? true : nil }
                try await bench.plan { $0.mode == .bypass("alice/camera") && $0.cause == "relay restarted" }
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("state") == "running" ? true : nil
                }
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline")
                #expect(timeline.text.contains("was killed by signal 9"))
            }
        }
    }

    @Test func aLostConnectionFindsTheSameRelayAgain() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let relay = try #require(bench.relays.started.first)
                relay.dropConnections()
                try await eventually { relay.commands.filter { $0 == .hello(version: 1) }.count == 2 ? true : nil }
                try await Task.sleep(for: .milliseconds(310))
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                #expect(bench.relays.started.count == 1)
            }
        }
    }

    @Test func whoDoesNotComeHasNoPlaceInThePictureUntilTheyDo() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                for user in ["alice", "bob", "eve"] { try await bench.publish(user) }
                try await bench.plan { $0.scene.panes.count == 3 }
                let relay = try #require(bench.relays.started.first)
                relay.setAbsent(["eve/camera"])
                let without = try await bench.plan { $0.scene.panes.count == 2 }
                #expect(without.scene.panes.map(\.user).sorted() == ["alice", "bob"])
                // The relay still pulls all sources, since their publishers may come.
                #expect(without.sources.count == 3)
                let room = try await bench.call(.get, "/v1/rooms/demo")
                #expect(room.text.contains(#""error":"refused""#), "\(room.text)")
                relay.setAbsent([])
                try await bench.plan { $0.scene.panes.count == 3 && $0.cause == "eve/camera has arrived" }
            }
        }
    }

    @Test func aRelayThatCannotStartIsReportedAndTriedAgain() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            relays.failNextStarts(Array(repeating: "mixworker is not there", count: 1000))
            try await withOrchestrator(directory: directory, relays: relays) { bench in
                try await bench.publish("alice")
                let broken = try await eventually {
                    let answer = try await bench.call(.get, "/v1/tasks/auto-demo")
                    return try answer.value("lastError") == nil ? nil : answer
                }
                #expect(try broken.value("lastError") == "mixworker is not there")
                #expect(try broken.value("state") == "starting")
                relays.failNextStarts([])
                try await bench.plan { $0.mode == .bypass("alice/camera") }
            }
        }
    }

    @Test func aRestartTakesTheRelayOver() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            let keep = ["relay.keep": ["true"]]
            try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("appliedRevision") == "1" ? true : nil
                }
            }
            #expect(relays.running.count == 1, "the relay goes on without the service")
            try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("state") == "running" ? true : nil
                }
                #expect(relays.started.count == 1)
                #expect(relays.started.first?.plans.count == 1, "the plan it has is not applied again")
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") && $0.revision == 2 }
                #expect(relays.started.count == 1)
            }
            // A changed configuration, here of the outputs, is applied at the restart.
            let other = ["rooms.outputs": ["rtmp://127.0.0.1/other/{room}"]]
            try await withOrchestrator(directory: directory, relays: relays, settings: other) { bench in
                try await bench.plan { $0.outputs.destinations.first?.url == "rtmp://127.0.0.1/other/demo" }
                #expect(relays.started.count == 1)
            }
            #expect(relays.running.isEmpty, "a graceful stop ends programs")
        }
    }

    /// A participant whose stream had not arrived before a restart gets no pane by the restart.
    @Test func aRestartDoesNotShowWhoDoesNotCome() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            let keep = ["relay.keep": ["true"]]
            try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                for user in ["alice", "bob", "eve"] { try await bench.publish(user) }
                try await bench.plan { $0.scene.panes.count == 3 }
                try #require(relays.started.first).setAbsent(["eve/camera"])
                let plan = try await bench.plan { $0.scene.panes.count == 2 }
                try await eventually {
                    let applied = try await bench.call(.get, "/v1/tasks/auto-demo").value("appliedRevision")
                    return applied == "\(plan.revision)" ? true : nil
                }
            }
            let plans = relays.started.first?.plans.count
            try await withOrchestrator(directory: directory, relays: relays, settings: keep) { bench in
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("state") == "running" ? true : nil
                }
                #expect(relays.started.count == 1)
                #expect(relays.started.first?.plans.count == plans)
            }
        }
    }

    @Test func theTaskEndsWhenNobodyComesBack() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let settings = #"{"policy":{"maxIdleSeconds":0}}"#
                #expect(try await bench.call(.put, "/v1/rooms/demo", settings).status == 201)
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                try await bench.unpublish("alice")
                try await eventually { bench.relays.running.isEmpty ? true : nil }
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("endReason") == "idle" ? true : nil
                }
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .bypass("bob/camera") }
                #expect(bench.relays.started.count == 2)
            }
        }
    }

    @Test func aTaskCanBeStopped() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let stopped = try await bench.call(.delete, "/v1/tasks/auto-demo")
                #expect(try stopped.value("state") == "stopped")
                try await eventually { bench.relays.running.isEmpty ? true : nil }
                #expect(bench.relays.started.first?.commands.last == .drain)
            }
        }
    }

    @Test func roomSettingsActOnTheRunningProgram() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                let settings = """
                    {"host":"bob","canvas":{"width":1280,"height":720,"fps":30,"background":"#102030"},
                     "outputs":[{"id":"a","url":"rtmp://127.0.0.1/a/{room}"},{"id":"b","url":"rtmp://127.0.0.1/b"}]}
                    """
                #expect(try await bench.call(.put, "/v1/rooms/demo", settings).status == 200)
                let plan = try await bench.plan { $0.mode == .mix(host: "bob/camera") }
                #expect(plan.scene.canvas.width == 1280 && plan.scene.canvas.fps == 30)
                #expect(plan.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/a/demo", "rtmp://127.0.0.1/b"])
                #expect(try await bench.call(.put, "/v1/rooms/demo", #"{"outputs":[]}"#).status == 200)
                try await eventually { bench.relays.running.isEmpty ? true : nil }
            }
        }
    }

    /// The times are printed and not asserted, since they depend on the machine.
    @Test func aRelayIsToldSoon() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let relay = try #require(bench.relays.started.first)
                for number in 0..<100 {
                    // Changes of settings act at once, so that the debounce window is not measured.
                    let width = 640 + 2 * number
                    let body = #"{"canvas":{"width":\#(width)}}"#
                    #expect(try await bench.call(.put, "/v1/rooms/demo", body).status == 200)
                    try await bench.plan { $0.scene.canvas.width == width }
                }
                let delays = relay.plans.dropFirst().map { Double($0.at - $0.plan.causedAt) / 1e6 }.sorted()
                print(
                    "request received → relay told: median \(delays[delays.count / 2]) ms, "
                        + "p99 \(delays[delays.count * 99 / 100]) ms of \(delays.count)")
                #expect(delays.count >= 100, "a plan for each change")
                #expect(delays[0] >= 0)
            }
        }
    }
}
