import Foundation
import HTTPTypes
import Hummingbird
import LayoutEngine
import MixModel
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// Layout parameters over HTTP, and channel values in pictures, with scripted relays.
@Suite(.timeLimit(.minutes(5))) struct LayoutParamsRouteTests {
    private static let board = """
        {"params": {
           "title": {"type": "text", "default": "Home", "maxLength": 12, "title": "Name of the show"},
           "score": {"type": "number", "default": 0, "min": 0, "max": 99},
           "brand": {"type": "color", "default": "#102030"},
           "logo": {"type": "image", "default": "logo.png"},
           "shown": {"type": "visible", "default": true}},
         "transition": {"duration": 200},
         "canvas": {"background": {"param": "brand"}},
         "overlays": [{"text": "{title} {score}", "place": "top", "visible": {"param": "shown"}},
                      {"image": {"param": "logo"}, "place": "left"}],
         "arrangements": [{"algorithm": "grid"}]}
        """
    private static let other = """
        {"params": {"title": {"type": "text", "default": "Soon"}, "score": {"type": "visible", "default": true}},
         "overlays": [{"text": "{title}", "place": "top"}], "arrangements": [{"algorithm": "grid"}]}
        """
    private static let talk = """
        {"overlays": [{"text": "{viewers} {likes} {comment}", "place": "top"}], "arrangements": [{"algorithm": "grid"}]}
        """
    private static let path = "/v1/tasks/auto-demo/params"

    private static func withLayouts(_ body: (String) async throws -> Void) async throws {
        try await withDirectory { directory in
            let layouts = directory + "/layouts"
            try FileManager.default.createDirectory(atPath: layouts, withIntermediateDirectories: true)
            for (name, file) in [("board", board), ("other", other), ("talk", talk)] {
                try file.write(toFile: "\(layouts)/\(name).json", atomically: true, encoding: .utf8)
            }
            for (name, image) in [("logo.png", SampleImages.red), ("new.png", SampleImages.blue)] {
                try Data(image).write(to: URL(fileURLWithPath: "\(layouts)/\(name)"))
            }
            try "no image".write(toFile: "\(layouts)/text.png", atomically: true, encoding: .utf8)
            try await body(directory)
        }
    }

    /// Puts two participants on air with a layout.
    private static func mix(_ bench: Bench, _ layout: String = "board") async throws {
        let made = try await bench.call(.put, "/v1/rooms/demo", #"{"layout":"\#(layout)"}"#)
        #expect(made.status == 201, "\(made.text)")
        try await bench.publish("alice")
        try await bench.publish("bob")
        try await bench.plan { if case .mix = $0.mode { true } else { false } }
    }

    private static func patch(
        _ bench: Bench, _ body: String, tag: String? = "*", type: String = "application/merge-patch+json",
        path: String = path
    ) async throws -> Answer {
        var headers: HTTPFields = [.contentType: type]
        headers[.ifMatch] = tag
        return try await bench.call(.patch, path, body, headers: headers)
    }

    private static func text(_ plan: ProgramPlan) -> String? {
        for overlay in plan.scene.overlays { if case .text(let text, _) = overlay.content { return text } }
        return nil
    }

    private static func image(_ plan: ProgramPlan) -> String? {
        for overlay in plan.scene.overlays { if case .image(let image, _) = overlay.content { return image } }
        return nil
    }

    // MARK: Parameters

    @Test func valuesChangeOnAirAndAreKept() async throws {
        try await Self.withLayouts { directory in
            try await withOrchestrator(directory: directory) { bench in
                #expect(try await bench.call(.get, Self.path).status == 404)
                try await Self.mix(bench)
                let shown = try await bench.call(.get, Self.path)
                #expect(shown.status == 200)
                #expect(try shown.value("layout") == "board")
                #expect(try shown.value("params.0.name") == "title" && shown.value("params.0.type") == "text")
                #expect(try shown.value("params.0.title") == "Name of the show")
                #expect(try shown.value("params.0.value") == "Home" && shown.value("params.0.maxLength") == "12")
                #expect(try shown.value("params.1.min") == "0" && shown.value("params.1.max") == "99")
                #expect(try shown.value("params.3.value") == "logo.png")
                #expect(try shown.value("params.4.value") == "1" && shown.value("params.5.name") == nil)
                let first = try await bench.plan { Self.text($0) == "Home 0" }
                let logo = try #require(Self.image(first))

                let tag = try #require(shown.headers[.eTag])
                let changed = try await Self.patch(
                    bench, ##"{"title":"Away","score":3,"brand":"#FFFFFF","logo":"new.png"}"##, tag: tag)
                #expect(changed.status == 200, "\(changed.text)")
                #expect(try changed.value("params.1.value") == "3" && changed.value("params.1.default") == "0")
                #expect(changed.headers[.eTag] != tag && changed.headers[.eTag] != nil)
                // The first plan with the new picture also has its file.
                let plan = try await bench.plan { Self.text($0) == "Away 3" }
                #expect(plan.scene.canvas.background == .white && plan.scene.transition.duration == 200)
                #expect(try #require(Self.image(plan)) != logo)
                #expect(bench.relays.started.count == 1)
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text
                #expect(timeline.contains("layout parameters changed by API: title, score, brand, logo"), "\(timeline)")

                let old = try await Self.patch(bench, #"{"score":4}"#, tag: tag)
                #expect(old.status == 412 && old.headers[.eTag] == changed.headers[.eTag])
                #expect(try await Self.patch(bench, #"{"score":4}"#, tag: nil).status == 428)
                #expect(try await Self.patch(bench, #"{"score":4}"#, type: "text/plain").status == 415)
                let back = try await Self.patch(bench, #"{"title":null,"shown":false}"#)
                #expect(try back.value("params.0.value") == "Home")
                try await bench.plan { Self.text($0) == nil && Self.image($0) != nil }
                _ = try await Self.patch(bench, #"{"shown":true}"#)
                try await bench.plan { Self.text($0) == "Home 3" }
                let task = try await bench.call(.get, "/v1/tasks/auto-demo")
                #expect(try task.value("settings.params.score") == "3")
                #expect(try task.value("settings.params.title") == nil)
            }
            // The parameters are part of the stored settings.
            try await withOrchestrator(directory: directory) { bench in
                try await eventually {
                    try await bench.call(.get, Self.path).value("params.1.value") == "3" ? true : nil
                }
                try await bench.plan { Self.text($0) == "Home 3" }
            }
        }
    }

    @Test func everythingThatIsWrongIsSaidAtOnce() async throws {
        try await Self.withLayouts { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                try await Self.mix(bench)
                let body = """
                    {"scor": 1, "score": 100,
                     "title": "much too long a title", "brand": "red", "logo": "missing.png", "shown": "yes"}
                    """
                let refused = try await Self.patch(bench, body)
                #expect(refused.status == 422)
                #expect(refused.headers[.contentType] == "application/problem+json")
                #expect(try refused.value("type") == "urn:mixorchestrator:problem:params-invalid")
                #expect(try refused.value("issues.0.suggestion") == "\"score\"")
                #expect(try refused.value("issues.0.path") == "$.scor" && refused.value("field") == "$.scor")
                #expect(try refused.value("issues.1.expected") == "a number from 0 to 99")
                #expect(try refused.value("issues.2.line") == "2" && refused.value("issues.2.column") == "11")
                #expect(try refused.value("issues.4.found") == "\"missing.png\": does not exist")
                #expect(try refused.value("issues.5.expected") == "true or false")
                #expect(try refused.value("issues.6") == nil)
                for (body, word) in [
                    (#"{"logo":"text.png"}"#, "not a PNG"), (#"{"logo":"http://example.org/a.png"}"#, "sources.allow"),
                    ("[]", "a JSON object"), ("null", "a JSON object"), ("{", "is not JSON"),
                ] {
                    let answer = try await Self.patch(bench, body)
                    #expect(answer.status == 422 || answer.status == 400, "\(body): \(answer.text)")
                    #expect(answer.text.contains(word), "\(body): \(answer.text)")
                }
                let long = #"{"title":"\#(String(repeating: "x", count: 70_000))"}"#
                #expect(try await Self.patch(bench, long).status == 413)
                #expect(try await bench.call(.get, Self.path).value("params.1.value") == "0", "nothing has changed")
                #expect(try await Self.patch(bench, "{}", path: "/v1/tasks/nobody/params").status == 404)

                let settings =
                    #""layout":"board","outputs":[{"id":"o","url":"rtmp://127.0.0.1/o"}],"params":{"scor":1,"score":-1}}"#
                for answer in [
                    try await bench.call(.put, "/v1/rooms/demo", "{\(settings)"),
                    try await bench.call(.post, "/v1/tasks", #"{"room":"demo",\#(settings)"#),
                ] {
                    #expect(answer.status == 422, "\(answer.text)")
                    #expect(try answer.value("issues.0.path") == "$.params.scor")
                    #expect(try answer.value("issues.1.path") == "$.params.score")
                }
            }
        }
    }

    @Test func valuesBelongToTheSettings() async throws {
        try await Self.withLayouts { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let made = try await bench.call(
                    .put, "/v1/rooms/demo", #"{"layout":"board","params":{"title":"Finals","score":7}}"#)
                #expect(made.status == 201, "\(made.text)")
                #expect(try made.value("params.title") == "Finals" && made.value("params.score") == "7")
                try await bench.publish("alice")
                try await bench.publish("bob")
                try await bench.plan { Self.text($0) == "Finals 7" }
                // Another layout gets the parameters that it declares and accepts; the others are kept for later.
                let any: HTTPFields = [.ifMatch: "*", .contentType: "application/merge-patch+json"]
                let patched = try await bench.call(.patch, "/v1/tasks/auto-demo", #"{"layout":"other"}"#, headers: any)
                #expect(try patched.value("settings.params.title") == "Finals", "\(patched.text)")
                #expect(try patched.value("settings.params.score") == nil)
                try await bench.plan { Self.text($0) == "Finals" }
                let params = try await bench.call(.get, Self.path)
                #expect(try params.value("params.1.type") == "visible" && params.value("params.1.value") == "1")
                _ = try await bench.call(
                    .patch, "/v1/tasks/auto-demo", #"{"layout":"board","params":{"title":"Final"}}"#, headers: any)
                try await bench.plan { Self.text($0) == "Final 7" }
                // A changed file keeps the parameters too.
                let file = Self.board.replacing("\"max\": 99", with: "\"max\": 5")
                #expect(try await bench.call(.put, "/v1/layouts/board", file).status == 200)
                try await bench.plan { Self.text($0) == "Final 0" }
                #expect(try await bench.call(.put, "/v1/layouts/board", Self.board).status == 200)
                try await bench.plan { Self.text($0) == "Final 7" }
                let cleared = try await bench.call(.patch, "/v1/tasks/auto-demo", #"{"params":null}"#, headers: any)
                #expect(try cleared.value("settings.params.title") == nil)
                try await bench.plan { Self.text($0) == "Home 0" }

                let task = try await bench.call(
                    .post, "/v1/tasks",
                    #"{"id":"own","room":"demo","layout":"board","outputs":[{"id":"o","url":"rtmp://127.0.0.1/own"}],"#
                        + #""params":{"score":2}}"#)
                #expect(task.status == 201, "\(task.text)")
                #expect(try task.value("settings.params.score") == "2")
                let own = try await Self.patch(bench, #"{"score":9}"#, path: "/v1/tasks/own/params")
                #expect(try own.value("params.1.value") == "9")
                #expect(try await bench.call(.get, Self.path).value("params.1.value") == "0", "each task has its own")
            }
        }
    }

    // MARK: Channel values

    @Test func thePictureShowsWhatTheChannelTells() async throws {
        try await Self.withLayouts { directory in
            let store = MemoryTaskStore()
            try await withOrchestrator(directory: directory, store: store) { bench in
                try await Self.mix(bench, "talk")
                try await bench.plan { Self.text($0)?.hasPrefix("0 0") == true }
                // The relay's report of the plan is recorded too.
                try await eventually {
                    let task = try await bench.call(.get, "/v1/tasks/auto-demo")
                    let isApplied = try task.value("appliedRevision") == task.value("revision")
                    return try isApplied && task.value("switches.0.to") == "mix" ? true : nil
                }
                let (start, before) = (ContinuousClock.now, try #require(bench.relays.started.last).plans.count)
                let timeline = try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text
                let stored = try #require(try await store.task("auto-demo")).version
                let said = try await bench.call(
                    .post, "/v1/rooms/demo/messages", #"{"text":"Hello   all","user":"ann","name":"Ann"}"#)
                #expect(said.status == 201, "\(said.text)")
                try await bench.plan { Self.text($0)?.hasSuffix("Ann: Hello all") == true }
                for _ in 0..<3 {
                    _ = try await bench.call(
                        .post, "/v1/rooms/demo/messages", #"{"kind":"like","count":5,"user":"bo"}"#)
                }
                try await bench.plan { Self.text($0)?.hasPrefix("0 15 ") == true }
                let id = try #require(try said.value("id"))
                #expect(try await bench.call(.delete, "/v1/rooms/demo/messages/\(id)").status == 204)
                try await bench.plan { Self.text($0)?.contains("Ann") == false }

                // No channel value is stored or recorded.
                #expect(try await store.task("auto-demo")?.version == stored)
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text == timeline)
                // The first plan with values is sent at once, the following ones about once a second, although there
                // are five changes.
                let plans = try #require(bench.relays.started.last).plans.count - before
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                #expect(Double(plans) <= seconds * 1.2 + 2, "\(plans) plans in \(seconds) s")

                // A new relay in place of a lost one gets the current values.
                try #require(bench.relays.started.last).kill()
                try await eventually {
                    bench.relays.running.last?.plan.flatMap(Self.text)?.hasPrefix("0 15") == true ? true : nil
                }
            }
        }
    }

    @Test func otherRoomsAreLeftAlone() async throws {
        try await Self.withLayouts { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                try await Self.mix(bench)
                let count = try #require(bench.relays.started.last).plans.count
                _ = try await bench.call(.post, "/v1/rooms/demo/messages", #"{"text":"Hello","user":"ann"}"#)
                try await Task.sleep(for: .milliseconds(1500))
                #expect(try #require(bench.relays.started.last).plans.count == count)
            }
        }
    }
}
