import EncodedMedia
import Foundation
import HTTPTypes
import LayoutEngine
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// `/v1/layouts` with a real store, real files and scripted relays.
@Suite(.timeLimit(.minutes(5))) struct LayoutRouteTests {
    static func layout(_ algorithm: String, _ description: String = "d") -> String {
        #"{"description": "\#(description)", "arrangements": [{"algorithm": "\#(algorithm)"}]}"#
    }

    private func save(_ text: String, _ name: String, _ bench: Bench) throws {
        try text.write(toFile: "\(bench.directory)/layouts/\(name).json", atomically: true, encoding: .utf8)
    }

    /// Puts two participants on air in a room that uses the layout `mine`.
    private func mix(_ bench: Bench) async throws {
        #expect(try await bench.call(.put, "/v1/layouts/mine", Self.layout("grid")).status == 201)
        #expect(try await bench.call(.put, "/v1/rooms/demo", #"{"layout":"mine"}"#).status == 201)
        try await bench.publish("alice")
        try await bench.publish("bob")
        try await bench.plan { $0.mode == .mix(host: "alice/camera") }
    }

    /// Lists of rooms are bounded, also those that are filtered for one app. 0088c6d listed every room.
    @Test func listsOfRoomsAreBounded() async throws {
        try await withDirectory { directory in
            let settings = ["rooms.outputs": [], "apps.0.id": ["shop"]]
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                #expect(try await bench.call(.put, "/v1/layouts/mine", Self.layout("grid")).status == 201)
                for number in 0...LayoutView.mostRooms {
                    let uri = "/v1/rooms/r\(1000 + number)?app=shop"
                    #expect(try await bench.call(.put, uri, #"{"layout":"mine"}"#).status == 201)
                }
                #expect(try await bench.call(.put, "/v1/rooms/own", #"{"layout":"mine"}"#).status == 201)
                for uri in ["/v1/layouts/mine?app=shop", "/v1/layouts?app=shop"] {
                    let path = uri.contains("mine") ? "" : "layouts.1."
                    let shown = try await bench.call(.get, uri)
                    #expect(try shown.value("\(path)rooms.\(LayoutView.mostRooms - 1)") == "r1099")
                    #expect(try shown.value("\(path)rooms.\(LayoutView.mostRooms)") == nil)
                    #expect(try shown.isTrue("\(path)moreRooms"))
                }
                let own = try await bench.call(.get, "/v1/layouts/mine")
                #expect(try own.value("rooms.0") == "own")
                #expect(try own.value("rooms.1") == nil)
                #expect(try own.value("moreRooms") == nil)
                let refused = try await bench.call(.delete, "/v1/layouts/mine")
                #expect(try refused.value("detail")?.contains("used by own, 101 more") == true, "\(refused.text)")
            }
        }
    }

    @Test func aLayoutIsAnsweredAsItWasWritten() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let text = "{\n  \"arrangements\": [ { \"algorithm\": \"grid\" } ],\n  \"description\": \"ä\"\n}\n"
                let made = try await bench.call(.put, "/v1/layouts/mine", text)
                #expect(made.status == 201)
                #expect(made.headers[.eTag] == "\"1\"")
                let answer = try await bench.call(.get, "/v1/layouts/mine")
                #expect(answer.headers[.eTag] == "\"1\"")
                #expect(answer.text.contains(text))
                #expect(try answer.value("state") == "good")
                #expect(try answer.value("origin") == "api")
                #expect(try answer.value("summary") == "ä")
                #expect(try answer.value("template.arrangements.0.algorithm") == "grid")
                let list = try await bench.call(.get, "/v1/layouts")
                #expect(try list.value("layouts.0.name") == "auto")
                #expect(try list.value("layouts.0.state") == "builtIn")
                #expect(try list.value("layouts.1.name") == "mine")
                #expect(
                    try await bench.call(.get, "/v1/layouts/auto").value("template.arrangements.4.algorithm")
                        == "mosaic")
                // The same content makes no new version.
                #expect(try await bench.call(.put, "/v1/layouts/mine", text).headers[.eTag] == "\"1\"")
            }
        }
    }

    @Test func changesCanNameTheVersionTheyAreFor() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let steps: [(algorithm: String, header: HTTPField.Name, value: String, status: Int)] = [
                    ("grid", .ifMatch, "*", 412), ("grid", .ifNoneMatch, "*", 201), ("solo", .ifNoneMatch, "*", 412),
                    ("solo", .ifMatch, "\"7\", \"1\"", 200), ("grid", .ifMatch, "\"1\"", 412),
                    ("grid", .ifMatch, "W/\"2\"", 412), ("grid", .ifNoneMatch, "\"2\"", 400),
                ]
                for step in steps {
                    let answer = try await bench.call(
                        .put, "/v1/layouts/mine", Self.layout(step.algorithm), headers: [step.header: step.value])
                    #expect(answer.status == step.status, "\(step): \(answer.text)")
                }
                #expect(try await bench.call(.get, "/v1/layouts/mine").value("version") == "2")
                #expect(
                    try await bench.call(.delete, "/v1/layouts/mine", headers: [.ifMatch: "\"1\""]).status == 412)
            }
        }
    }

    /// The watch reads the files of these requests while the next request is handled.
    @Test func aFileOfAnEarlierRequestIsNoNewVersion() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                for version in 1...300 {
                    let put = try await bench.call(.put, "/v1/layouts/mine", Self.layout("grid", "\(version)"))
                    #expect(put.headers[.eTag] == "\"\(version)\"", "\(put.text)")
                    guard put.headers[.eTag] == "\"\(version)\"" else { break }
                }
            }
        }
    }

    @Test func versionsAreKeptAndCanBeTakenBack() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await mix(bench)
                let grid = try #require(bench.relays.started.last?.plan?.scene)
                try save(Self.layout("solo"), "mine", bench)
                try await bench.plan { $0.scene.panes.count == 1 }
                let versions = try await eventually {
                    let answer = try await bench.call(.get, "/v1/layouts/mine/versions")
                    return try answer.value("versions.1.version") == nil ? nil : answer
                }
                #expect(try versions.value("versions.0.origin") == "file")
                #expect(try versions.value("versions.0.inUse") == "1")
                #expect(try versions.value("versions.1.origin") == "api")
                #expect(try versions.value("versions.1.bytes") == "\(Self.layout("grid").utf8.count)")
                let first = try await bench.call(.get, "/v1/layouts/mine/versions/1")
                #expect(try first.value("template.arrangements.0.algorithm") == "grid")

                let back = try await bench.call(.post, "/v1/layouts/mine/rollback", #"{"version":1}"#)
                #expect(back.status == 200, "\(back.text)")
                #expect(try back.value("version") == "3")
                #expect(try back.value("origin") == "rollback")
                let plan = try await bench.plan { $0.scene.panes.count == 2 }
                #expect(plan.scene == grid)
                let file = try String(contentsOfFile: bench.directory + "/layouts/mine.json", encoding: .utf8)
                #expect(file == Self.layout("grid"), "the file is what is in use")

                for (body, status, code) in [
                    (#"{"version":3}"#, 409, "layout-version-in-use"),
                    (#"{"version":9}"#, 404, "layout-version-not-found"),
                    ("{}", 422, "missing-field"), (#"{"version":"1"}"#, 422, "invalid-field"),
                    ("[", 400, "malformed-json"),
                ] {
                    let answer = try await bench.call(.post, "/v1/layouts/mine/rollback", body)
                    #expect(answer.status == status, "\(body): \(answer.text)")
                    #expect(try answer.value("type") == "urn:mixorchestrator:problem:\(code)")
                }
                let events = try await bench.call(.get, "/v1/layouts/mine/events")
                #expect(try events.value("events.0.kind") == "layout.changed")
                #expect(try events.value("events.0.version") == "3")
                #expect(try await bench.call(.get, "/v1/layouts/none/events").status == 404)
                #expect(try await bench.call(.get, "/v1/layouts/none/versions").status == 404)
            }
        }
    }

    /// Refuses a stored version that an older program accepted and this one does not.
    @Test func aVersionThatIsNoLayoutAnyMoreIsRefused() async throws {
        try await withDirectory { directory in
            let store = MemoryTaskStore()
            let old = NewLayoutVersion(
                layout: "mine", number: 1, at: 1, origin: .file, content: Array(#"{"arrangements":"none"}"#.utf8))
            _ = try await store.commit(StoreChange(layoutVersion: old))
            try await withOrchestrator(directory: directory, store: store) { bench in
                let answer = try await bench.call(.post, "/v1/layouts/mine/rollback", #"{"version":1}"#)
                #expect(answer.status == 422)
                #expect(try answer.value("issues.0.path") == "$.arrangements")
                #expect(try await bench.call(.put, "/v1/layouts/mine", Self.layout("solo")).value("version") == "2")
            }
        }
    }

    @Test func aBrokenFileStaysOffAirAndIsToldEverywhere() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await mix(bench)
                let relay = try #require(bench.relays.started.first)
                let plans = relay.plans.count
                try save("{\n  \"arangements\": [],\n  \"fit\": \"covr\"\n}", "mine", bench)
                let broken = try await eventually {
                    let answer = try await bench.call(.get, "/v1/layouts/mine")
                    return try answer.value("state") == "broken" ? answer : nil
                }
                // The answer has all errors, each with line, column and suggestion.
                #expect(try broken.value("problem.issues.0.line") == "2")
                #expect(try broken.value("problem.issues.0.suggestion") == "\"arrangements\"")
                #expect(try broken.value("problem.issues.1.path") == "$.fit")
                #expect(try broken.value("version") == "1")
                #expect(try broken.value("template.arrangements.0.algorithm") == "grid", "what is in use")
                #expect(try broken.value("rooms.0") == "demo")
                let events = try await eventually {
                    let answer = try await bench.call(.get, "/v1/layouts/mine/events")
                    return try answer.value("events.0.kind") == "layout.rejected" ? answer : nil
                }
                #expect(try events.value("events.0.version") == "1")
                try await eventually {
                    let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text
                    return timeline.contains(
                        "layout mine: its file is invalid, version 1 stays on air: 2 errors: 2:3: ")
                        ? true : nil
                }
                let path = "\(bench.directory)/layouts/mine.json"
                #expect(
                    bench.log.text.contains(
                        "layout mine is not used, version 1 stays on air:\n\(path):2:3: $.arangements: "))
                let metrics = try await bench.call(.get, "/metrics").text
                #expect(metrics.contains("layout_reloads_total{layout=\"mine\",result=\"rejected\"} 1\n"))
                #expect(metrics.contains("layouts_broken 1\n"))
                // Room updates still work meanwhile, and other rooms can use the layout.
                try await bench.publish("carol")
                try await bench.plan { $0.scene.panes.count == 3 }
                #expect(try await bench.call(.put, "/v1/rooms/other", #"{"layout":"mine"}"#).status == 201)
                #expect(relay.plans.count == plans + 1)

                try save(Self.layout("solo"), "mine", bench)
                try await bench.plan { $0.scene.panes.count == 1 }
                #expect(try await bench.call(.get, "/v1/layouts/mine").value("state") == "good")
                #expect(try await bench.call(.get, "/metrics").text.contains("layouts_broken 0\n"))
            }
        }
    }

    @Test func aLayoutThatIsUsedCannotBeDeletedByAPIAndLastsWhenItsFileIsGone() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            try await withOrchestrator(directory: directory, relays: relays, settings: ["relay.keep": ["true"]]) {
                bench in
                try await mix(bench)
                let grid = try #require(relays.started.last?.plan?.scene)
                let refused = try await bench.call(.delete, "/v1/layouts/mine")
                #expect(refused.status == 409)
                #expect(try refused.value("detail")?.contains("demo") == true)
                try FileManager.default.removeItem(atPath: bench.directory + "/layouts/mine.json")
                let gone = try await eventually {
                    let answer = try await bench.call(.get, "/v1/layouts")
                    return try answer.value("layouts.1.state") == "deleted" ? answer : nil
                }
                #expect(try gone.value("layouts.1.rooms.0") == "demo")
                // No other room can use the layout now; this one keeps it.
                #expect(try await bench.call(.put, "/v1/rooms/other", #"{"layout":"mine"}"#).status == 422)
                try await bench.publish("carol")
                try await bench.plan { $0.scene.panes.count == 3 }
                try await bench.unpublish("carol")
                try await bench.plan { $0.scene == grid }
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text.contains("its file was removed")
                        ? true : nil
                }
            }
            // The layout is in the store, and so survives a restart.
            try await withOrchestrator(directory: directory, relays: relays) { bench in
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("state") == "running" ? true : nil
                }
                let list = try await bench.call(.get, "/v1/layouts")
                #expect(try list.value("layouts.1.state") == "deleted")
                #expect(relays.started.last?.plan?.scene.panes.count == 2)
                #expect(try await bench.call(.post, "/v1/layouts/mine/rollback", #"{"version":1}"#).status == 201)
                #expect(try await bench.call(.get, "/v1/layouts/mine").value("state") == "good")
                #expect(try await bench.call(.put, "/v1/rooms/demo", "{}").status == 200)
                #expect(try await bench.call(.delete, "/v1/layouts/mine").status == 204)
                #expect(try await bench.call(.get, "/v1/layouts/mine").status == 404)
                #expect(try await bench.call(.delete, "/v1/layouts/mine").status == 404)
                let events = try await bench.call(.get, "/v1/layouts/mine/events")
                #expect(try events.value("events.0.kind") == "layout.deleted")
            }
        }
    }

    @Test func whatNewRoomsGetCannotBeDeleted() async throws {
        try await withDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory + "/layouts", withIntermediateDirectories: true)
            try Self.layout("solo").write(toFile: directory + "/layouts/house.json", atomically: true, encoding: .utf8)
            try await withOrchestrator(directory: directory, settings: ["rooms.layout": ["house"]]) { bench in
                let answer = try await bench.call(.delete, "/v1/layouts/house")
                #expect(answer.status == 409)
                #expect(try answer.value("detail")?.contains("rooms.layout") == true)
                #expect(try await bench.call(.get, "/v1/layouts/house").value("origin") == "file")
            }
        }
    }

    @Test func aStoreThatTakesNothingRefusesAPIChangesAndLetsFilesThrough() async throws {
        try await withDirectory { directory in
            let store = BreakableStore()
            try await withOrchestrator(directory: directory, store: store) { bench in
                try await mix(bench)
                store.breaks(true)
                #expect(try await bench.call(.put, "/v1/layouts/mine", Self.layout("solo")).status == 503)
                #expect(try await bench.call(.delete, "/v1/layouts/mine").status == 409)
                let left = try FileManager.default.contentsOfDirectory(atPath: bench.directory + "/layouts")
                #expect(left == ["mine.json"], "nothing half-done stays behind")
                #expect(bench.relays.started.last?.plan?.scene.panes.count == 2)
                try save(Self.layout("solo"), "mine", bench)
                try await bench.plan { $0.scene.panes.count == 1 }
                try await eventually { bench.log.text.contains("layout mine: the event cannot be stored") ? true : nil }
                store.breaks(false)
                let next = try await bench.call(.put, "/v1/layouts/mine", Self.layout("grid"))
                #expect(try next.value("version") == "3")
                try await bench.plan { $0.scene.panes.count == 2 }
            }
        }
    }

    // MARK: Duration

    /// The times are printed and not asserted, since they depend on the machine.
    @Test func aSavedFileReachesTheRelaySoon() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await mix(bench)
                let relay = try #require(bench.relays.started.first)
                var noticed: [Double] = []
                var told: [Double] = []
                for number in 0..<40 {
                    let background = "#0000" + String(number + 16, radix: 16).uppercased()
                    let text = #"{"canvas":{"background":"\#(background)"},"arrangements":[{"algorithm":"grid"}]}"#
                    let savedAt = MonotonicClock.now()
                    try save(text, "mine", bench)
                    try await bench.plan { $0.scene.canvas.background.description == background }
                    let plan = try #require(relay.plans.last)
                    noticed.append(Double(plan.plan.causedAt - savedAt) / 1e6)
                    told.append(Double(plan.at - plan.plan.causedAt) / 1e6)
                }
                func words(_ values: [Double]) -> String {
                    let sorted = values.sorted()
                    return String(
                        format: "median %.1f ms, most %.1f ms", sorted[sorted.count / 2], sorted[sorted.count - 1])
                }
                print("file saved → noticed: \(words(noticed)); noticed → relay told: \(words(told))")
                #expect(noticed.allSatisfy { $0 >= 0 } && told.allSatisfy { $0 >= 0 })
            }
        }
    }
}
