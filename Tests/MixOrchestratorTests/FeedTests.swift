import Foundation
import HTTPTypes
import MixModel
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// `GET /v1/rooms/{room}/feed`, and the room's state in it.
@Suite(.timeLimit(.minutes(5))) struct FeedTests {
    /// A server-sent event, parsed as HTML living standard, §9.2.6 says.
    private struct Event {
        var id: String?
        var name = "message"
        var data = ""
    }

    private static func events(_ text: String) -> [Event] {
        text.components(separatedBy: "\n\n").compactMap { block in
            var event = Event()
            for line in block.components(separatedBy: "\n") where !line.hasPrefix(":") {
                guard let colon = line.firstIndex(of: ":") else { continue }
                let value = line[line.index(after: colon)...].drop { $0 == " " }
                switch line[..<colon] {
                case "id": event.id = String(value)
                case "event": event.name = String(value)
                case "data": event.data += value
                default: break
                }
            }
            return event.data.isEmpty ? nil : event
        }
    }

    private static func listeners(_ bench: Bench) async throws -> String? {
        try await bench.call(.get, "/metrics").text.components(separatedBy: "\n")
            .first { $0.hasPrefix("feed_listeners ") }.map { String($0.dropFirst("feed_listeners ".count)) }
    }

    private static let refused = DestinationStatus(
        id: "main", state: .recovering, lastError: "the server refused rtmp://127.0.0.1/out/secret-key",
        lastErrorCode: .publishRefused)

    @Test func aRoomIsFollowedFromItsStateToItsEnd() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                #expect(try await bench.call(.get, "/v1/rooms/demo/feed").status == 404)
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                async let feed = bench.call(.get, "/v1/rooms/demo/feed")
                try await eventually { try await Self.listeners(bench) == "1" ? true : nil }
                try await eventually {
                    try await bench.call(.get, "/v1/rooms/demo").value("rtmp.running") == "1" ? true : nil
                }
                try await bench.publish("bob")
                bench.relays.started.last?.setOutput(Self.refused)
                let room = try await eventually {
                    let room = try await bench.call(.get, "/v1/rooms/demo")
                    return try room.value("rtmp.error.code") == "publish_refused" ? room : nil
                }
                #expect(try room.value("rtmp.running") == "0")
                #expect(
                    try room.value("rtmp.error.message")
                        == "output main: the server refused rtmp://127.0.0.1/out/***")
                #expect(try room.value("task.outputs.0.lastErrorCode") == "publish_refused")
                #expect(room.text.contains(#""recording":{"error":null,"running":false}"#))
                #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)

                let answer = try await feed
                #expect(answer.status == 200)
                #expect(answer.headers[.contentType] == "text/event-stream")
                let events = Self.events(answer.text)
                let first = try #require(events.first)
                #expect(first.name == "room")
                #expect(try Answer(status: 0, headers: [:], text: first.data).value("participants.0.user") == "alice")
                let names = events.map(\.name)
                #expect(names.contains("stream.published") && names.contains("output.stateChanged"), "\(names)")
                #expect(names.last == "room.closed" || names.contains("room.closed"))
                let states = try events.filter { $0.name == "room.servicesChanged" }.map { event in
                    try Answer(status: 0, headers: [:], text: event.data).value("data.rtmp.error.code") ?? "none"
                }
                #expect(states.contains("publish_refused"), "\(states)")
                // The data are the messages of subscriptions; their type is the event's name.
                for event in events.dropFirst() {
                    #expect(try Answer(status: 0, headers: [:], text: event.data).value("type") == event.name)
                }
                let ids = events.compactMap { $0.id.flatMap { Int64($0) } }
                #expect(ids.count == events.count && ids == ids.sorted() && Set(ids).count == ids.count)
                #expect(!answer.text.contains("secret-key") && !answer.text.contains("live/alice"))
                try await eventually { try await Self.listeners(bench) == "0" ? true : nil }
            }
        }
    }

    @Test func whoMissedNothingGoesOnWithoutTheWholeState() async throws {
        let feeds = RoomListeners()
        let numbers = NumberSource()
        let other = try feeds.listen(to: "demo", numbers: numbers)
        let seen = numbers.next()
        #expect(feeds.isUpToDate(seen, of: "demo"))
        feeds.publish([Occurrence(room: "demo", at: 0, kind: .roomOpened)], of: "demo", numbers: numbers)
        #expect(!feeds.isUpToDate(seen, of: "demo"))
        #expect(feeds.isUpToDate(numbers.next(), of: "demo"))
        #expect(!feeds.isUpToDate(numbers.next(), of: "elsewhere"))
        #expect(other.take()?.map(\.topic) == [.roomOpened])
    }

    @Test func whoIsTooSlowIsToldSoAndHoldsUpNobody() async throws {
        let feeds = RoomListeners()
        let numbers = NumberSource()
        let (slow, quick) = (
            try feeds.listen(to: "demo", numbers: numbers), try feeds.listen(to: "demo", numbers: numbers)
        )
        for _ in 0...RoomListener.Mailbox.size {
            feeds.publish([Occurrence(room: "demo", at: 0, kind: .roomOpened)], of: "demo", numbers: numbers)
            #expect(quick.take()?.count == 1)
        }
        #expect(slow.take() == nil)
        // The feed continues after that.
        feeds.publish([Occurrence(room: "demo", at: 0, kind: .roomClosed)], of: "demo", numbers: numbers)
        #expect(slow.take()?.map(\.topic) == [.roomClosed])
    }

    @Test func listenersAreLimitedAndLeave() throws {
        let feeds = RoomListeners()
        let numbers = NumberSource()
        var listeners = try (0..<RoomListeners.mostOfRoom).map { _ in try feeds.listen(to: "demo", numbers: numbers) }
        let error = #expect(throws: OrchestratorError.self) { try feeds.listen(to: "demo", numbers: numbers) }
        #expect(error?.kind == .unavailable)
        let elsewhere = try feeds.listen(to: "other", numbers: numbers)
        listeners.removeLast()
        #expect(feeds.listenerCount == RoomListeners.mostOfRoom)
        listeners.append(try feeds.listen(to: "demo", numbers: numbers))
        listeners = []
        #expect(!feeds.hasListeners("demo") && feeds.hasListeners("other"))
        withExtendedLifetime(elsewhere) {}
    }

    // MARK: Failed outputs, and new attempts

    @Test func anOutputThatWasGivenUpIsTriedAgainWhenItIsAskedFor() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let body = #"{"outputs":[{"id":"main","url":"rtmp://127.0.0.1/out/a","retry":{"maxAttempts":3}}]}"#
                #expect(try await bench.call(.put, "/v1/rooms/demo", body).status == 201)
                try await bench.publish("alice")
                let plan = try await bench.plan { $0.mode == .bypass("alice/camera") }
                #expect(plan.outputs.destinations.first?.retry == OutputRetry(maxAttempts: 3))
                func state() async throws -> String? {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("outputs.0.state")
                }
                var failed = Self.refused
                failed.state = .failed
                func fail() async throws {
                    bench.relays.started.last?.setOutput(failed)
                    try await eventually { try await state() == "failed" ? true : nil }
                }
                try await fail()
                let output = #"{"id":"main","url":"rtmp://127.0.0.1/out/a","retry":{"maxAttempts":3}}"#
                #expect(try await bench.call(.post, "/v1/tasks/auto-demo/outputs", output).status == 200)
                try await eventually { try await state() == "live" ? true : nil }
                try await fail()
                #expect(try await bench.call(.put, "/v1/rooms/demo", body).status == 200)
                try await eventually { try await state() == "live" ? true : nil }
                // The policy may change while the program is on air.
                let patient = #"{"id":"main","url":"rtmp://127.0.0.1/out/a","retry":{"maxSeconds":60}}"#
                let answer = try await bench.call(.post, "/v1/tasks/auto-demo/outputs", patient)
                #expect(answer.status == 200)
                #expect(try answer.value("retry.maxSeconds") == "60")
                try await bench.plan { $0.outputs.destinations.first?.retry == OutputRetry(maxSeconds: 60) }
                // The command to retry follows the plan, and would cancel a failure that was set before it arrives.
                try await eventually { bench.relays.started.last?.commands.last == .retryOutput("main") ? true : nil }
                // A failing output can be removed.
                try await fail()
                #expect(try await bench.call(.delete, "/v1/tasks/auto-demo/outputs/main").status == 204)
            }
        }
    }

    @Test(arguments: [
        (#"{"maxAttempts":0}"#, "outputs[0].retry.maxAttempts"),
        (#"{"maxSeconds":86401}"#, "outputs[0].retry.maxSeconds"),
        (#"{"for":5}"#, "outputs[0].retry.for"), (#"5"#, "outputs[0].retry"),
    ])
    func aPolicyThatIsNoneIsNamed(_ retry: String, _ field: String) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let body = #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/out/a","retry":\#(retry)}]}"#
                let answer = try await bench.call(.put, "/v1/rooms/demo", body)
                #expect(answer.status == 422 || answer.status == 400, "\(answer.text)")
                #expect(try answer.value("field") == field, "\(answer.text)")
            }
        }
    }
}
