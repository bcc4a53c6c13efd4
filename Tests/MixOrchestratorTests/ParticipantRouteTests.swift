import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// `PATCH /v1/rooms/{room}/participants/{user}`, and the reports of its effects.
@Suite(.timeLimit(.minutes(5))) struct ParticipantRouteTests {
    private static let json: HTTPFields = [.contentType: "application/json"]

    private static func control(
        _ bench: Bench, _ user: String, _ body: String, room: String = "demo"
    ) async throws -> Answer {
        try await bench.call(.patch, "/v1/rooms/\(room)/participants/\(user)", body, headers: json)
    }

    @Test func whatIsSetTakesEffectOnAirAndIsTold() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice")
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .mix(host: "alice/camera") }

                let muted = try await Self.control(bench, "bob", #"{"muted": true}"#)
                #expect(muted.status == 200, "\(muted.text)")
                #expect(try muted.isTrue("muted") && muted.isTrue("present") && muted.value("gain") == "100")
                try await bench.plan { plan in
                    plan.scene.sound.levels.map(\.source) == ["alice/camera"]
                        && plan.sources.map(\.muted) == [nil, true]
                }
                #expect(try await Self.control(bench, "bob", #"{"gain": 150, "muted": null}"#).status == 200)
                let loud = try await bench.plan { $0.scene.sound.levels.map(\.gain) == [100, 150] }
                #expect(loud.cause == "bob: unmuted, gain 150 %, by API")
                #expect(try await Self.control(bench, "alice", #"{"hidden": true}"#).status == 200)
                // A gain needs a mix, even of one participant.
                try await bench.plan { $0.mode == .mix(host: "bob/camera") && $0.sources.count == 1 }

                let room = try await bench.call(.get, "/v1/rooms/demo")
                #expect(try room.value("participants.0.user") == "alice" && room.isTrue("participants.0.hidden"))
                #expect(try room.value("participants.1.gain") == "150" && room.value("controls.1.user") == "bob")
                let task = try await bench.call(.get, "/v1/tasks/auto-demo")
                #expect(try task.value("controls.0.user") == "alice" && task.isTrue("controls.0.hidden"))
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline?limit=100").text
                for words in ["bob: muted", "bob: unmuted, gain 150 %", "alice: hidden"] {
                    #expect(timeline.contains(words), "\(timeline)")
                }
                // The same request again changes nothing.
                let revision = try task.value("revision")
                #expect(try await Self.control(bench, "bob", #"{"gain": 150}"#).status == 200)
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo").value("revision") == revision)
            }
        }
    }

    @Test func theFeedTellsOfIt() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                #expect(try await bench.call(.put, "/v1/rooms/demo", "{}").status == 201)
                async let feed = bench.call(.get, "/v1/rooms/demo/feed")
                try await eventually {
                    try await bench.call(.get, "/metrics").text.contains("feed_listeners 1") ? true : nil
                }
                #expect(try await Self.control(bench, "bob", #"{"muted": true, "gain": 7}"#).status == 200)
                #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
                let text = try await feed.text
                #expect(text.contains("event: participant.controlChanged"), "\(text)")
                #expect(text.contains(#""gain":7,"hidden":false,"muted":true,"user":"bob""#), "\(text)")
            }
        }
    }

    @Test func itSurvivesDeparturesSettingsAndARestart() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("bob")
                #expect(try await Self.control(bench, "bob", #"{"muted": true}"#).status == 200)
                try await bench.unpublish("bob")
                // Settings of the room do not change a participant's.
                #expect(try await bench.call(.put, "/v1/rooms/demo", "{}").status == 200)
                let away = try await bench.call(.get, "/v1/rooms/demo/participants/bob")
                #expect(try away.isTrue("muted") && !away.isTrue("present"))
                #expect(try away.value("notes.0")?.contains("not in the room") == true)
            }
            try await withOrchestrator(directory: directory) { bench in
                #expect(try await bench.call(.get, "/v1/rooms/demo").value("controls.0.user") == "bob")
                try await bench.publish("bob")
                try await bench.plan { $0.mode == .bypass("bob/camera") && $0.sources.first?.muted == true }
                #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
                try await bench.publish("bob")
                let anew = try await bench.call(.get, "/v1/rooms/demo/participants/bob")
                #expect(try !anew.isTrue("muted"), "deleted with the room")
            }
        }
    }

    @Test func anotherRoomsProgramFollows() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("bob", room: "guests")
                let program =
                    #"{"program": {"composition": {"mode": "single", "source": {"user": "bob", "room": "guests"}}}}"#
                #expect(try await bench.call(.put, "/v1/rooms/main", program).status == 201)
                let relay = try await eventually {
                    bench.relays.running.last { $0.task == "auto-main" && $0.plan?.sources.isEmpty == false }
                }
                #expect(try await Self.control(bench, "bob", #"{"muted": true}"#, room: "guests").status == 200)
                try await eventually { relay.plan?.sources.first?.muted == true ? true : nil }
            }
        }
    }

    @Test func badRequestsAreRefusedInWords() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                #expect(try await Self.control(bench, "bob", "{}").status == 404)
                #expect(try await bench.call(.get, "/v1/rooms/demo/participants/bob").status == 404)
                #expect(try await bench.call(.put, "/v1/rooms/demo", "{}").status == 201)
                for (body, field) in [
                    (#"{"gain": 401}"#, "gain"), (#"{"gain": 1.5}"#, "gain"), (#"{"gain": -1}"#, "gain"),
                    (#"{"muted": 1}"#, "muted"), (#"{"hidden": "yes"}"#, "hidden"), (#"{"mute": true}"#, "mute"),
                ] {
                    let answer = try await Self.control(bench, "bob", body)
                    #expect(try answer.status == 422 && (answer.value("field")) == field, "\(body): \(answer.text)")
                }
                #expect(try await Self.control(bench, "bob", "[]").status == 422)
                #expect(try await Self.control(bench, "bob", "{").status == 400)
                #expect(try await Self.control(bench, "a%20b", "{}").status == 422)
                let type: HTTPFields = [.contentType: "text/plain"]
                #expect(
                    try await bench.call(.patch, "/v1/rooms/demo/participants/bob", "{}", headers: type).status == 415)
            }
        }
    }

    @Test func asManyUsersAsARoomRemembers() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                #expect(try await bench.call(.put, "/v1/rooms/demo", "{}").status == 201)
                for number in 0..<Room.mostControls {
                    #expect(try await Self.control(bench, "u\(number)", #"{"muted": true}"#).status == 200)
                }
                let refused = try await Self.control(bench, "one-more", #"{"muted": true}"#)
                #expect(refused.status == 409)
                #expect(try refused.value("type") == "urn:mixorchestrator:problem:too-many-controls")
                #expect(try await Self.control(bench, "u0", #"{"muted": null}"#).status == 200)
                #expect(try await Self.control(bench, "one-more", #"{"muted": true}"#).status == 200)
            }
        }
    }
}
