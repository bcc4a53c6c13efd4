import Foundation
import HTTPTypes
import MixModel
import Synchronization
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// `GET /v1/tasks/{task}/thumbnail.jpg`, `…/participants/{user}.jpg` and `…/levels`, with a scripted process.
@Suite(.timeLimit(.minutes(5))) struct PreviewRouteTests {
    private static func problem(_ answer: Answer) throws -> String? {
        try answer.value("type")?.split(separator: ":").last.map(String.init)
    }

    @Test func picturesAreMadeWhenAskedForAndKept() async throws {
        let maker = ScriptedPreviewMaker()
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, previews: maker) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let relay = try #require(bench.relays.started.last)
                relay.setPreview([1, 2], of: "alice/camera")
                relay.setPreview([3], of: nil)
                #expect(maker.count == 0 && !relay.commands.contains { if case .preview = $0 { true } else { false } })
                let path = "/v1/tasks/auto-demo/participants/alice.jpg"
                let first = try await eventually { () async throws -> Answer? in
                    let answer = try await bench.call(.get, path)
                    return answer.status == 409 ? nil : answer
                }
                #expect(first.status == 200, "\(first.text)")
                #expect(first.headers[.contentType] == "image/jpeg")
                #expect(first.headers[.cacheControl] == "private, max-age=5")
                #expect(maker.requests.withLock { $0 } == [PreviewRequest(side: 320, flv: [1, 1, 2])])
                let tag = try #require(first.headers[.eTag])
                var headers = HTTPFields()
                headers[.ifNoneMatch] = tag
                let again = try await bench.call(.get, path, headers: headers)
                #expect(again.status == 304 && again.headers[.eTag] == tag && again.text.isEmpty)
                #expect(maker.count == 1)
                let program = try await bench.call(.get, "/v1/tasks/auto-demo/thumbnail.jpg")
                #expect(program.status == 200 && program.headers[.eTag] != tag && maker.count == 2)
                #expect(try await bench.call(.head, path).status == 200)
            }
        }
    }

    @Test func aKeyframeIsNotDecodedTwice() async throws {
        let maker = ScriptedPreviewMaker()
        try await withDirectory { directory in
            let settings = ["thumbnails.interval": ["1"], "thumbnails.size": ["64"]]
            try await withOrchestrator(directory: directory, settings: settings, previews: maker) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                let relay = try #require(bench.relays.started.last)
                func asked() -> Int { relay.commands.count { if case .preview = $0 { true } else { false } } }
                relay.setPreview([1], of: nil)
                let path = "/v1/tasks/auto-demo/thumbnail.jpg"
                try await eventually { try await bench.call(.get, path).status == 200 ? true : nil }
                try await eventually { () async throws -> Bool? in
                    #expect(try await bench.call(.get, path).status == 200)
                    return asked() >= 3 ? true : nil
                }
                #expect(maker.count == 1)
                relay.setPreview([2], of: nil)
                try await eventually { () async throws -> Bool? in
                    #expect(try await bench.call(.get, path).status == 200)
                    return maker.count == 2 ? true : nil
                }
                #expect(maker.requests.withLock { $0.map(\.side) } == [64, 64])
            }
        }
    }

    @Test func theReasonIsSaidWhenThereIsNone() async throws {
        let maker = ScriptedPreviewMaker()
        try await withDirectory { directory in
            let settings = ["thumbnails.interval": ["1"]]
            try await withOrchestrator(directory: directory, settings: settings, previews: maker) { bench in
                let path = "/v1/tasks/auto-demo/participants/alice.jpg"
                #expect(try Self.problem(try await bench.call(.get, path)) == "task-not-found")
                try await bench.publish("alice")
                try await bench.publish("bob")
                let relay = try await eventually { bench.relays.started.last }
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("onAir") == "mix" ? true : nil
                }
                let none = try await bench.call(.get, path)
                #expect(try none.status == 503 && (Self.problem(none)) == "preview-unavailable")
                #expect(none.headers[.retryAfter] == "1")
                let stranger = try await bench.call(.get, "/v1/tasks/auto-demo/participants/carol.jpg")
                #expect(try stranger.status == 404 && (Self.problem(stranger)) == "participant-not-found")
                let off = #"{"type":"stream.updated","user":"bob","video":false}"#
                #expect(try await bench.call(.post, "/v1/rooms/demo/events", off).status == 202)
                try await eventually { () async throws -> Bool? in
                    let answer = try await bench.call(.get, "/v1/tasks/auto-demo/participants/bob.jpg")
                    return try answer.status == 409 && Self.problem(answer) == "no-picture" ? true : nil
                }
                let json: HTTPFields = [.contentType: "application/json"]
                _ = try await bench.call(
                    .patch, "/v1/rooms/demo/participants/alice", #"{"hidden": true}"#, headers: json)
                let hidden = try await bench.call(.get, path)
                #expect(try hidden.status == 409 && (hidden.value("detail"))?.contains("hidden") == true)
                _ = try await bench.call(
                    .patch, "/v1/rooms/demo/participants/alice", #"{"hidden": false}"#, headers: json)
                relay.setPreview([1], of: "alice/camera")
                maker.failure.value = "damaged: rtmp://127.0.0.1/live/secret"
                let broken = try await eventually { () async throws -> Answer? in
                    let answer = try await bench.call(.get, path)
                    return answer.status == 503 && answer.text.contains("damaged") ? answer : nil
                }
                #expect(!broken.text.contains("secret"))
            }
        }
    }

    @Test func levelsOfTheProgramAndOfEachSource() async throws {
        let maker = ScriptedPreviewMaker()
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, previews: maker) { bench in
                try await bench.publish("alice")
                try await bench.publish("bob")
                try await eventually {
                    try await bench.call(.get, "/v1/tasks/auto-demo").value("onAir") == "mix" ? true : nil
                }
                let relay = try #require(bench.relays.started.last)
                relay.setPreview([1, 2], of: "alice/camera")
                relay.setPreview([3, 4, 5], of: nil)
                let levels = try await bench.call(.get, "/v1/tasks/auto-demo/levels")
                #expect(levels.status == 200 && levels.headers[.cacheControl] == "no-store", "\(levels.text)")
                #expect(try levels.value("program.peak") == "-4" && levels.value("program.rms") == "-20")
                #expect(try levels.value("sources.0.id") == "alice/camera" && levels.value("sources.0.peak") == "-3")
                #expect(try levels.value("sources.1.id") == "bob/camera" && levels.value("sources.1.peak") == nil)
                #expect(maker.requests.withLock { $0.map(\.side) } == [0, 0])
                // Requests within the same second get the same picture.
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo/levels").status == 200)
                #expect(maker.count <= 4)
            }
        }
    }

    @Test func theyCanBeSwitchedOff() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: ["thumbnails.interval": ["0"]]) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                for path in ["thumbnail.jpg", "participants/alice.jpg", "levels"] {
                    let answer = try await bench.call(.get, "/v1/tasks/auto-demo/\(path)")
                    #expect(try answer.status == 404 && (Self.problem(answer)) == "previews-off")
                }
            }
        }
    }
}
