import Foundation
import MixModel
import StoreSupport
import TaskStore
import TestSupport
import Testing
import EncodedMedia

/// The service is killed at its writes, right before and right after one. A script of calls then has the same outcome
/// as without a crash, whether the store is a file or a database. The long forms kill it at every write, the short ones at some.
///
/// The client does what every client has to do: it repeats a call until it is answered.
@Suite(.serialized) struct CrashTests {
    private struct Call {
        var method: String
        var path: String
        var json: String?
        var headers: [String: String] = [:]
        /// Answers that also mean success: the call was done and its first answer was lost.
        var alsoDone: Set<Int> = []
    }

    private static func event(_ room: String, _ key: String, _ type: String, _ user: String) -> Call {
        let url = type == "stream.published" ? #", "url": "\#(ControlStage.nowhere)/live/\#(user)""# : ""
        return Call(
            method: "POST", path: "/v1/rooms/\(room)/events", json: #"{"type": "\#(type)", "user": "\#(user)"\#(url)}"#,
            headers: ["Idempotency-Key": key])
    }

    private static func room(_ room: String, _ outputs: [String], layout: String? = nil) -> Call {
        let list = outputs.map { #"{"id": "\#($0)", "url": "\#(ControlStage.nowhere)/\#(room)/\#($0)"}"# }
        let layout = layout.map { #""layout": "\#($0)", "# } ?? ""
        return Call(
            method: "PUT", path: "/v1/rooms/\(room)",
            json: #"{\#(layout)"host": "alice", "outputs": [\#(list.joined(separator: ","))], \#(ControlStage.canvas)}"#
        )
    }

    private static func layout(_ algorithm: String) -> Call {
        Call(
            method: "PUT", path: "/v1/layouts/stage", json: #"{"arrangements": [{"algorithm": "\#(algorithm)"}]}"#)
    }

    private static let script = [
        room("a", ["main"]), event("a", "1", "stream.published", "alice"),
        Call(
            method: "POST", path: "/v1/tasks",
            json: #"{"id": "extra", "room": "a", "outputs": [{"id": "x", "url": "\#(ControlStage.nowhere)/extra"}]}"#),
        layout("grid"),
        room("a", ["main", "second"], layout: "stage"), event("a", "2", "stream.published", "bob"),
        room("b", ["main"]), event("b", "3", "stream.published", "alice"), layout("side-by-side"),
        Call(method: "PATCH", path: "/v1/tasks/extra", json: #"{\#(ControlStage.canvas)}"#),
        event("a", "4", "stream.unpublished", "bob"),
        Call(method: "DELETE", path: "/v1/tasks/extra"),
        Call(
            method: "PUT", path: "/v1/rooms/a/streams",
            json: #"{"streams": [{"user": "alice", "url": "\#(ControlStage.nowhere)/live/alice"}]}"#,
            headers: ["Idempotency-Key": "5"]),
        Call(method: "DELETE", path: "/v1/rooms/b", alsoDone: [404]), room("a", ["second"], layout: "stage"),
    ]

    /// The final state, limited to the parts that do not depend on timing.
    private struct Outcome: Hashable {
        /// Answers of the API, without process ids, times, counts and revisions.
        var answers: [String: String] = [:]
        /// Ids of the stored events, in order.
        var events: [String] = []
        var rooms: [Room] = []
        /// The mode, sources and outputs of each stored task's plan, and whether the task is active.
        var tasks: [String: [String]] = [:]
        /// Number of relays of each task.
        var relays: [String: Int] = [:]
        /// Processes and files left over after the service was stopped.
        var leftovers: [String: Int] = [:]
    }

    /// - Parameter server: Keeps the store, in a schema of its own; `nil` = the store is a file.
    /// - Returns: The final state, and whether the service crashed.
    private static func outcome(
        crashAt point: String?, on server: PostgreSQLServer?
    ) async throws -> (Outcome, hasCrashed: Bool) {
        let database = try server.map { $0.url(schema: try $0.makeSchema()) }
        let place = database.map { ["MIXORCHESTRATOR_STORE_URL": $0] } ?? [:]
        let environment = point.map { place.merging(["MIXORCHESTRATOR_CRASH_AT": $0]) { $1 } } ?? place
        return try await ControlStage.run(environment: environment) { stage in
            var hasCrashed = false
            func startAgainIfNeeded() async throws {
                while !stage.service.isRunning {
                    hasCrashed = true
                    try await stage.start(environment: place)
                }
            }
            for call in script {
                var last = ""
                try await waitUntil("\(call.method) \(call.path) is answered: \(last)", every: 10) {
                    try await startAgainIfNeeded()
                    var headers = call.headers
                    if call.method == "PATCH" {
                        // The state is read again each time, to decide whether the change must still be made.
                        guard let tag = try? await stage.client.request("GET", call.path).entityTag else {
                            return false
                        }
                        headers["If-Match"] = tag
                    }
                    guard
                        let answer = try? await stage.client.request(
                            call.method, call.path, json: call.json, headers: headers)
                    else { return false }
                    last = answer.text
                    guard (200..<300).contains(answer.status) || call.alsoDone.contains(answer.status) else {
                        if answer.status == 503 { return false }
                        throw EndToEndError("\(call.method) \(call.path): \(answer.status) \(answer.text)")
                    }
                    return true
                }
            }
            var outcome = Outcome()
            var found = ""
            try await waitUntil("a's program is as it should be and b's has ended: \(found)", every: 20) {
                // A write that the service makes only now may also be its last.
                try await startAgainIfNeeded()
                let settled = try await stage.stateIfSettled("auto-a")
                let relays = stage.relays
                found = "relays \(relays), \(settled.map { "\($0)" } ?? "not settled")"
                guard let state = settled, state["mixMode"] as? Int == 0,
                    (state["outputs"] as? [any Sendable])?.count == 1, relays.mapValues(\.count) == ["auto-a": 1]
                else { return false }
                let paths = ["/v1/rooms/a", "/v1/rooms/b", "/v1/tasks/auto-a", "/v1/tasks/extra", "/v1/layouts/stage"]
                for path in paths {
                    guard let answer = try? await stage.client.request("GET", path) else { return false }
                    outcome.answers[path] = try timeless(answer)
                }
                // The relay ends a moment before its end is stored.
                return outcome.answers["/v1/tasks/extra"]?.contains(#""host""#) == false
            }
            outcome.relays = stage.relays.mapValues(\.count)
            await stage.service.stop(within: 30)
            // A relay that the service took over closes its connection and ends a moment later.
            try? await waitUntil("the relays have ended", every: 10) { stage.relays.isEmpty }
            outcome.leftovers = stage.relays.mapValues(\.count)
            try await stage.withStore(at: database) { store in
                outcome.events = try await store.events(of: "a", limit: 100).map(\.id)
                outcome.rooms = try await store.rooms().map { stored in
                    var room = stored.document
                    room.settingsVersion = nil
                    return room
                }
                for task in try await store.tasks().map(\.document) {
                    let plan = task.plan
                    outcome.tasks[task.id.rawValue] =
                        ["active: \(task.isActive)"]
                        + (plan.map { ["\($0.mode)"] + $0.sources.map { "\($0)" } + $0.outputs.map { "\($0)" } } ?? [])
                }
            }
            return (outcome, hasCrashed)
        }
    }

    private static func timeless(_ answer: ServiceClient.Answer) throws -> String {
        guard answer.status == 200 else { return "\(answer.status)" }
        func timeless(_ value: Any) -> Any {
            if let array = value as? [Any] { return array.map(timeless) }
            guard let object = value as? [String: Any] else { return value }
            let changing: Set = [
                "revision", "appliedRevision", "relayProcess", "programTime", "switches", "at", "lastError", "error",
                "onAir", "passthrough", "changedAt", "bytesSent", "connectedSince", "scene", "state", "rtmp", "hls",
                "recording", "reconnects", "version", "lastErrorCode", "droppedFrames",
                "versions", "events",
            ]
            return object.filter { !changing.contains($0.key) }.mapValues(timeless)
        }
        let object = timeless(try JSONSerialization.jsonObject(with: answer.body))
        return String(
            decoding: try JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]), as: UTF8.self)
    }

    @Test(.timeLimit(.minutes(40))) func everyWriteMayBeTheLast() async throws {
        try await crash(atEvery: TestLength.of(short: 3, long: 1), "everyWriteMayBeTheLast")
    }

    /// The short form kills the service at every 15th write only.
    @Test(.timeLimit(.minutes(40)), .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
    func everyWriteToADatabaseMayBeTheLast() async throws {
        try await crash(
            atEvery: TestLength.of(short: 15, long: 1), "everyWriteToADatabaseMayBeTheLast",
            on: PostgreSQLServer.shared.get())
    }

    /// Kills the service at every `step`-th write, beginning with a random one, and compares each outcome with that of a run
    /// without a crash.
    private func crash(atEvery step: Int, _ name: String, on server: PostgreSQLServer? = nil) async throws {
        let begin = ContinuousClock.now
        let (expected, _) = try await Self.outcome(crashAt: nil, on: server)
        #expect(expected.events == ["1", "2", "4", "5"])
        #expect(expected.relays == ["auto-a": 1])
        #expect(expected.leftovers.isEmpty)
        #expect(expected.rooms.map(\.id) == ["a"])

        // The loop runs until the script completes without reaching the write.
        var crashes = 0
        var random = SeededGenerator(announcedFor: name)
        var number = Int.random(in: 1...step, using: &random)
        var isThrough = false
        while !isThrough {
            isThrough = try await withThrowingTaskGroup(of: (String, Outcome, Bool).self) { group in
                for write in [number, number + step] {
                    for side in ["before", "after"] {
                        group.addTask {
                            let (outcome, hasCrashed) = try await Self.outcome(
                                crashAt: "\(write):\(side)", on: server)
                            return ("\(write):\(side)", outcome, hasCrashed)
                        }
                    }
                }
                var mayGoOn = true
                for try await (point, outcome, hasCrashed) in group {
                    #expect(outcome == expected, "killed at \(point)")
                    if hasCrashed { crashes += 1 } else { mayGoOn = false }
                }
                return !mayGoOn
            }
            number += 2 * step
        }
        #expect(crashes >= 2 * Self.script.count / step)
        print("killed at \(crashes) points, in \(ContinuousClock.now - begin)")
    }
}
