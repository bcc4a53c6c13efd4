import Foundation
import Hummingbird
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator

/// Idle media over HTTP: validation, answers and plans.
@Suite(.timeLimit(.minutes(2))) struct IdleRouteTests {
    private static func settings(_ media: String, more: String = "") -> String {
        #"{"outputs":[{"id":"main","url":"rtmp://127.0.0.1/x"}],"idle":{"media":[\#(media)]\#(more)}}"#
    }

    @Test func filesAreCheckedAndPlannedWhenTheRoomIsEmpty() async throws {
        try await withDirectory { directory in
            let media = directory + "/clips"
            try FileManager.default.createDirectory(atPath: media + "/sub", withIntermediateDirectories: true)
            try Data([1]).write(to: URL(fileURLWithPath: media + "/sub/a.mp4"))
            try Data([1]).write(to: URL(fileURLWithPath: directory + "/secret.mp4"))
            try FileManager.default.createSymbolicLink(
                atPath: media + "/link.mp4", withDestinationPath: directory + "/secret.mp4")
            try await withOrchestrator(directory: directory, settings: ["media.directory": [media]]) { bench in
                for (name, expected) in [
                    ("\"../secret.mp4\"", "relative"), ("\"/etc/passwd\"", "relative"), ("\"sub\"", "regular file"),
                    ("\"b.mp4\"", "regular file"), ("\"link.mp4\"", "link out of it"), ("7", "relative"),
                    ("\"http://example.org/a.mp4\"", "sources.allow"), ("\"file:///etc/passwd\"", "http"),
                    ("", "at least one"),
                ] {
                    let refused = try await bench.call(.put, "/v1/rooms/demo", Self.settings(name))
                    #expect(refused.status == 422 || refused.status == 400, "\(name): \(refused.text)")
                    #expect(refused.text.contains(expected), "\(name): \(refused.text)")
                }
                let made = try await bench.call(
                    .put, "/v1/rooms/demo", Self.settings(#""sub/a.mp4""#, more: #","loop":false"#))
                #expect(made.status == 201, "\(made.text)")
                #expect(try made.value("idle.media.0") == "sub/a.mp4")
                #expect(try made.value("idle.loop") != nil && !made.isTrue("idle.loop"))
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") && $0.idle == nil }
                try await bench.unpublish("alice")
                let plan = try await bench.plan { $0.mode == .slate }
                #expect(
                    plan.idle == IdlePlan(items: [.init(name: "sub/a.mp4", path: media + "/sub/a.mp4")], loops: false))
                #expect(plan.scene.isIdle)
                // A missing file does not prevent changes of other settings.
                try FileManager.default.removeItem(atPath: media + "/sub/a.mp4")
                let patched = try await bench.call(
                    .patch, "/v1/tasks/auto-demo", #"{"policy":{"maxIdleSeconds":60}}"#,
                    headers: [.ifMatch: "*", .contentType: "application/json"])
                #expect(patched.status == 200, "\(patched.text)")
                #expect(try patched.value("settings.idle.media.0") == "sub/a.mp4")
                let cleared = try await bench.call(
                    .patch, "/v1/tasks/auto-demo", #"{"idle":null}"#,
                    headers: [.ifMatch: "*", .contentType: "application/json"])
                #expect(cleared.status == 200)
                try await bench.plan { $0.idle == nil && $0.scene.panes.isEmpty }
            }
        }
    }

    @Test func aRequestWithAMissingFileHoldsNoDestination() async throws {
        try await withDirectory { directory in
            let settings = ["media.directory": [directory]]
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), settings: settings) { bench in
                func output(_ key: String) -> String { #""outputs":[{"id":"main","url":"rtmp://127.0.0.1/\#(key)"}]"# }
                func make(_ id: String, _ key: String, more: String = "") async throws -> Answer {
                    try await bench.call(.post, "/v1/tasks", #"{"id":"\#(id)","room":"demo",\#(output(key))\#(more)}"#)
                }
                let missing = #","idle":{"media":["missing.mp4"]}"#
                let refused = try await make("one", "first", more: missing)
                #expect(refused.text.contains("regular file"), "\(refused.text)")
                let made = try await make("two", "first")
                #expect(made.status == 201, "\(made.text)")
                let patched = try await bench.call(
                    .patch, "/v1/tasks/two", "{\(output("second"))\(missing)}",
                    headers: [.ifMatch: "*", .contentType: "application/json"])
                #expect(patched.text.contains("regular file"), "\(patched.text)")
                // The task keeps its destination, and the one that it was refused is free.
                #expect(try await make("three", "first").status == 409)
                let other = try await make("four", "second")
                #expect(other.status == 201, "\(other.text)")
            }
        }
    }

    @Test func aURLIsFetchedAndPlayedOnceItIsThere() async throws {
        try await withImageServer { router in
            router.get("app/a.mp4") { _, _ in imageResponse([1, 2, 3], type: "video/mp4", eTag: "\"1\"") }
        } _: { base in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory) { bench in
                    let media = #""\#(base)/app/a.mp4?key=secret","\#(base)/app/b.mp4""#
                    let made = try await bench.call(.put, "/v1/rooms/demo", Self.settings(media))
                    #expect(made.status == 201, "\(made.text)")
                    #expect(!made.text.contains("secret"))
                    // The missing file is logged before anyone publishes.
                    try await eventually { bench.log.text.contains("the server answered 404") ? true : nil }
                    try await bench.publish("alice")
                    try await bench.plan { $0.mode == .bypass("alice/camera") }
                    try await bench.unpublish("alice")
                    let plan = try await bench.plan { $0.idle != nil }
                    let item = try #require(plan.idle?.items.first)
                    #expect(plan.idle?.items.count == 1 && item.name == "\(base)/app/***")
                    #expect(item.path.hasPrefix(directory + "/media/"))
                    #expect(FileManager.default.contents(atPath: item.path).map(Array.init) == [1, 2, 3])
                    let attributes = try FileManager.default.attributesOfItem(atPath: item.path)
                    #expect(attributes[.posixPermissions] as? Int == 0o600)
                    try await eventually {
                        let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline")
                        return timeline.text.contains("cannot be fetched: the server answered 404") ? true : nil
                    }
                }
            }
        }
    }
}
