import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import Testing

@testable import MixOrchestrator

/// Partial changes of a room's settings, before its first program and afterwards.
@Suite(.timeLimit(.minutes(5))) struct RoomSettingsRouteTests {
    private static let room = "/v1/rooms/demo"

    private static func patch(_ bench: Bench, _ path: String, _ body: String, tag: String? = "*") async throws -> Answer
    {
        var headers: HTTPFields = [.contentType: "application/merge-patch+json"]
        headers[.ifMatch] = tag
        return try await bench.call(.patch, path, body, headers: headers)
    }

    @Test func aPatchKeepsWhatItDoesNotName() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                #expect(try await Self.patch(bench, Self.room, "{}").status == 404)
                let secret = #"{"id":"cdn","url":"rtmp://127.0.0.1/cdn/S3CRET"}"#
                let made = try await bench.call(
                    .put, Self.room, #"{"outputs":[\#(secret)],"policy":{"whenHostLeaves":"slate"},"hls":true}"#)
                #expect(made.status == 201, "\(made.text)")
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo").status == 404)

                let tag = try #require(made.headers[.eTag])
                let changed = try await Self.patch(
                    bench, Self.room, #"{"layout":"auto","host":"bob","policy":{"bypass":"never"}}"#, tag: tag)
                #expect(changed.status == 200, "\(changed.text)")
                #expect(try changed.value("layout") == "auto" && changed.value("policy.whenHostLeaves") == "slate")
                #expect(try changed.value("outputs.0.url") == "rtmp://127.0.0.1/cdn/***")
                let old = try await Self.patch(bench, Self.room, #"{"host":null}"#, tag: tag)
                #expect(old.status == 412 && old.headers[.eTag] == changed.headers[.eTag])
                #expect(try await Self.patch(bench, Self.room, #"{"host":null}"#, tag: nil).status == 428)
                let wrong = try await Self.patch(bench, Self.room, #"{"layout":"gird"}"#)
                #expect(try wrong.value("field") == "layout")
                let schedule = try await Self.patch(bench, Self.room, #"{"endsAt":"2040-01-31T20:00:00Z"}"#)
                #expect(try schedule.value("field") == "endsAt")

                try await bench.publish("alice")
                let plan = try await bench.plan { $0.mode == .mix(host: "alice/camera") }
                #expect(plan.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/cdn/S3CRET"])
                #expect(plan.outputs.hls != nil)
                // The room's own task has the same settings.
                #expect(try await Self.patch(bench, Self.room, #"{"policy":{"bypass":null}}"#).status == 200)
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text
                #expect(timeline.contains("room settings changed") && !timeline.contains("S3CRET"))
            }
        }
    }

    /// Objects within the settings are merged, too (RFC 7396).
    @Test func aPatchMergesNestedSettings() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let settings = #"""
                    {"outputs":[{"id":"a","url":"rtmp://127.0.0.1/a"}],"hls":{"enableVOD":true,"segmentSeconds":2},
                    "recording":{"maxSeconds":60},"policy":{"quality":{"minBitrate":100000}}}
                    """#
                #expect(try await bench.call(.put, Self.room, settings).status == 201)
                let patch = #"""
                    {"hls":{"windowSeconds":60,"segmentSeconds":null},"recording":{"participants":true},
                    "policy":{"quality":{"minFrameRate":5,"freezeSeconds":10,"blackSeconds":null}}}
                    """#
                let changed = try await Self.patch(bench, Self.room, patch)
                #expect(changed.status == 200, "\(changed.text)")
                #expect(try changed.value("policy.quality.minBitrate") == "100000")
                #expect(try changed.value("policy.quality.minFrameRate") == "5")
                #expect(try changed.value("policy.quality.freezeSeconds") == "10")
                #expect(try changed.value("policy.quality.blackSeconds") == nil)

                try await bench.publish("alice")
                let plan = try await bench.plan { $0.outputs.hls != nil && !$0.outputs.recordings.isEmpty }
                let hls = try #require(plan.outputs.hls?.settings)
                #expect(hls == HLSSettings(windowSeconds: 60, enableVOD: true))
                let recording = try #require(plan.outputs.recordings.first?.settings)
                #expect(recording.maxSeconds == 60 && recording.participants)
            }
        }
    }

    @Test func outputsAreAddedAndRemovedBeforeTheShow() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let path = Self.room + "/outputs"
                let second = #"{"id":"second","url":"rtmp://127.0.0.1/second/S3CRET","retry":{"maxAttempts":3}}"#
                #expect(try await bench.call(.post, path, second).status == 404)
                #expect(try await bench.call(.put, Self.room, #"{"outputs":[]}"#).status == 201)
                let first = try await bench.call(.post, path, #"{"id":"first","url":"rtmp://127.0.0.1/first/S3CRET"}"#)
                #expect(first.status == 201 && first.headers[.eTag] != nil, "\(first.text)")
                #expect(try first.value("url") == "rtmp://127.0.0.1/first/***" && first.value("state") == nil)
                let added = try await bench.call(.post, path, second)
                #expect(try added.value("retry.maxAttempts") == "3")
                #expect(try await bench.call(.post, path, second).status == 200)
                let other = try await bench.call(.post, path, #"{"id":"first","url":"rtmp://127.0.0.1/x"}"#)
                #expect(try other.value("type") == "urn:mixorchestrator:problem:output-exists")
                #expect(try other.value("detail")?.hasPrefix("output first of demo has another URL") == true)
                let none = try await bench.call(.delete, path + "/third")
                #expect(none.status == 404 && none.text.contains("demo has first, second"), "\(none.text)")
                #expect(try await bench.call(.delete, path + "/first").status == 204)

                try await bench.publish("alice")
                try await bench.plan { $0.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/second/S3CRET"] }
                #expect(try await bench.call(.post, path, #"{"id":"b","url":"rtmp://127.0.0.1/b"}"#).status == 201)
                try await bench.plan { $0.outputs.destinations.map(\.id) == ["second", "b"] }
                #expect(bench.relays.started.count == 1 && !bench.log.text.contains("S3CRET"))
            }
        }
    }

    @Test func valuesOfTheLayoutAreSetBeforeTheShow() async throws {
        let board = """
            {"params": {"home": {"type": "text", "default": "Home", "maxLength": 8}},
             "overlays": [{"text": "{home}", "place": "top"}], "arrangements": [{"algorithm": "grid"}]}
            """
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let path = Self.room + "/params"
                #expect(try await bench.call(.get, path).status == 404)
                #expect(try await bench.call(.put, "/v1/layouts/board", board).status == 201)
                #expect(try await bench.call(.put, Self.room, #"{"layout":"board"}"#).status == 201)
                let shown = try await bench.call(.get, path)
                #expect(try shown.value("params.0.value") == "Home" && shown.value("layout") == "board")
                let refused = try await Self.patch(bench, path, #"{"home":"much too long"}"#)
                #expect(refused.status == 422, "\(refused.text)")
                let set = try await Self.patch(bench, path, #"{"home":"Ada"}"#, tag: shown.headers[.eTag])
                #expect(try set.value("params.0.value") == "Ada" && set.headers[.eTag] != shown.headers[.eTag])
                #expect(try await Self.patch(bench, path, #"{"home":"Bob"}"#, tag: shown.headers[.eTag]).status == 412)
                let room = try await Self.patch(bench, Self.room, #"{"params":{"home":"Eve"}}"#)
                #expect(try room.value("params.home") == "Eve")

                try await bench.publish("alice")
                try await bench.publish("bob")
                try await bench.plan { plan in
                    plan.scene.overlays.contains { if case .text("Eve", _) = $0.content { true } else { false } }
                }
                #expect(try await Self.patch(bench, path, #"{"home":null}"#).status == 200)
                try await bench.plan { plan in
                    plan.scene.overlays.contains { if case .text("Home", _) = $0.content { true } else { false } }
                }
            }
        }
    }
}
