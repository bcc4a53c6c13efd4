import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import Testing

@testable import MixOrchestrator

/// Programs with named participants over HTTP, with scripted relays.
@Suite(.timeLimit(.minutes(5))) struct ProgramRouteTests {
    private static let any: HTTPFields = [.ifMatch: "*", .contentType: "application/json"]

    private static func task(_ program: String, id: String = "second") -> String {
        """
        {"id":"\(id)","room":"demo","outputs":[{"id":"main","url":"rtmp://127.0.0.1/\(id)"}],"program":\(program)}
        """
    }
    private static let twoPanes = """
        {"composition":{"mode":"fixed","panes":[
            {"x":0,"y":0,"width":0.5,"height":1,"source":{"user":"alice"}},
            {"x":0.5,"y":0,"width":0.5,"height":1,"z":2,"fit":"contain"}]}}
        """

    @Test func aTaskFollowsItsProgramFromOneToTwoAndBack() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let single = #"{"composition":{"mode":"single","source":{"user":"alice"}}}"#
                let made = try await bench.call(.post, "/v1/tasks", Self.task(single))
                #expect(made.status == 201, "\(made.text)")
                #expect(try made.value("waitingFor") == "stream")
                #expect(try made.value("settings.program.composition.source.tracks") == "all")
                try await bench.publish("bob")
                #expect(
                    try await bench.call(.get, "/v1/tasks/second").value("state") == "starting", "it waits for alice")
                try await bench.publish("alice")
                let relay = try await TaskRouteTests.relay(bench, of: "second")
                #expect(relay.plan?.mode == .bypass("alice/camera"))

                let patched = try await bench.call(
                    .patch, "/v1/tasks/second", #"{"program":\#(Self.twoPanes)}"#, headers: Self.any)
                #expect(patched.status == 200, "\(patched.text)")
                let mixed = try await eventually { relay.plan?.mode == .mix(host: "alice/camera") ? relay.plan : nil }
                #expect(mixed.scene.panes.map(\.user) == ["alice", "bob"])
                #expect(try patched.value("settings.program.composition.panes.1.fit") == "contain")
                try await eventually {
                    let task = try await bench.call(.get, "/v1/tasks/second")
                    return try task.value("passthrough.reason")?.contains("explicit panes") == true ? true : nil
                }

                let back = try await bench.call(
                    .patch, "/v1/tasks/second", #"{"program":\#(single)}"#, headers: Self.any)
                #expect(back.status == 200)
                try await eventually { relay.plan?.mode == .bypass("alice/camera") ? true : nil }
                // A partial patch leaves the other settings.
                let sei = #"{"program":{"sei":{"layoutVolume":{"intervalMs":0},"custom":"{}"}}}"#
                #expect(try await bench.call(.patch, "/v1/tasks/second", sei, headers: Self.any).status == 200)
                let told = try await eventually { relay.plan?.sei != nil ? relay.plan : nil }
                #expect(told.sei?.layoutVolume == SEISettings.Timing(intervalMs: nil) && told.sei?.custom == "{}")
                #expect(told.mode == .bypass("alice/camera"))
                let gone = try await bench.call(
                    .patch, "/v1/tasks/second", #"{"program":null}"#, headers: Self.any)
                #expect(try gone.value("settings.program") == nil)
                try await eventually { relay.plan?.mode == .mix(host: "alice/camera") ? true : nil }
                #expect(bench.relays.started.filter { $0.task == "second" }.count == 1)
            }
        }
    }

    @Test func theCodecOfAMixIsSaidAndTakenBack() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let body =
                    #"{"program":{"encoding":{"videoCodec":"h265","profile":"main","preset":"superfast","threads":2}}}"#
                let made = try await bench.call(.put, "/v1/rooms/demo", body)
                #expect(made.status == 201, "\(made.text)")
                #expect(try made.value("program.encoding.videoCodec") == "h265")
                try await bench.publish("alice")
                let plan = try await bench.plan { $0.encoding?.videoCodec == .h265 && $0.encoding?.threads == 2 }
                #expect(plan.mode == .bypass("alice/camera"), "one person is copied as ever")
                let back = try await bench.call(
                    .patch, "/v1/tasks/auto-demo", #"{"program":{"encoding":{"videoCodec":null,"profile":"high"}}}"#,
                    headers: Self.any)
                #expect(back.status == 200, "\(back.text)")
                #expect(try back.value("settings.program.encoding.videoCodec") == nil)
                _ = try await bench.plan { $0.encoding?.videoCodec == nil && $0.encoding?.profile == .high }
            }
        }
    }

    @Test func roomsHaveProgramsToo() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let body = #"{"program":{"encoding":{"audioOnly":true,"audioSampleRate":16000,"audioChannels":1}}}"#
                let made = try await bench.call(.put, "/v1/rooms/demo", body)
                #expect(made.status == 201, "\(made.text)")
                #expect(try made.value("program.encoding.audioSampleRate") == "16000")
                #expect(try made.value("program.composition.mode") == "automatic")
                try await bench.publish("alice")
                let plan = try await bench.plan { $0.tracks == .audio }
                #expect(plan.encoding?.audioChannels == 1 && plan.mode == .bypass("alice/camera#audio"))
            }
        }
    }

    @Test func everyErrorSaysWhereItIs() async throws {
        let pane = #""x":0,"y":0,"width":0.5,"height":1"#
        let cases = [
            (#"{"colour":1}"#, "program.colour"),
            (#"{"composition":{"mode":"both"}}"#, "program.composition.mode"),
            (#"{"composition":{"mode":"single"}}"#, "program.composition.source"),
            (#"{"composition":{"mode":"single","source":{}}}"#, "program.composition.source.user"),
            (#"{"composition":{"mode":"single","source":{"user":"a b"}}}"#, "program.composition.source.user"),
            (
                #"{"composition":{"mode":"single","source":{"user":"a","tracks":"both"}}}"#,
                "program.composition.source.tracks"
            ),
            (
                #"{"composition":{"mode":"single","source":{"user":"a","room":"x/y"}}}"#,
                "program.composition.source.room"
            ),
            (#"{"composition":{"mode":"fixed"}}"#, "program.composition.panes"),
            (#"{"composition":{"mode":"fixed","panes":[{}]}}"#, "program.composition.panes[0].x"),
            (#"{"composition":{"mode":"fixed","panes":[{\#(pane)},{"x":1.1}]}}"#, "program.composition.panes[1].x"),
            (
                #"{"composition":{"mode":"fixed","panes":[{"x":0,"y":0,"width":0,"height":1}]}}"#,
                "program.composition.panes[0].width"
            ),
            (
                #"{"composition":{"mode":"fixed","panes":[{\#(pane),"fit":"stretch"}]}}"#,
                "program.composition.panes[0].fit"
            ),
            (#"{"composition":{"mode":"fixed","panes":[{\#(pane),"z":-1}]}}"#, "program.composition.panes[0].z"),
            (
                #"{"composition":{"mode":"fixed","panes":[{\#(pane),"placeholder":"file:///etc/passwd"}]}}"#,
                "program.composition.panes[0].placeholder"
            ),
            (
                #"{"composition":{"mode":"fixed","panes":[{\#(pane),"placeholder":"http://169.254.169.254/x.png"}]}}"#,
                "program.composition.panes[0].placeholder"
            ),
            (
                #"{"composition":{"mode":"fixed","panes":[{\#(pane)}],"background":{"fit":"cover"}}}"#,
                "program.composition.background.image"
            ),
            (#"{"encoding":{"videoBitrate":10}}"#, "program.encoding.videoBitrate"),
            (#"{"encoding":{"gopFrames":0}}"#, "program.encoding.gopFrames"),
            (#"{"encoding":{"threads":0}}"#, "program.encoding.threads"),
            (#"{"encoding":{"threads":17}}"#, "program.encoding.threads"),
            (#"{"encoding":{"audioSampleRate":44000}}"#, "program.encoding.audioSampleRate"),
            (#"{"encoding":{"audioChannels":6}}"#, "program.encoding.audioChannels"),
            (#"{"encoding":{"profile":"high10"}}"#, "program.encoding.profile"),
            (#"{"encoding":{"videoCodec":"H.265"}}"#, "program.encoding.videoCodec"),
            (#"{"encoding":{"videoCodec":"h265","profile":"high"}}"#, "program.encoding.profile"),
            (#"{"sei":{"payloadType":6}}"#, "program.sei.payloadType"),
            (#"{"sei":{"layoutVolume":{"intervalMs":500}}}"#, "program.sei.layoutVolume.intervalMs"),
            (#"{"sei":{"passThrough":{"key":"k"}}}"#, "program.sei.passThrough.content"),
            (#"{"sei":{"passThrough":{"content":"x","key":""}}}"#, "program.sei.passThrough.key"),
            (#"{"sei":{"custom":"\#(String(repeating: "x", count: 4097))"}}"#, "program.sei.custom"),
        ]
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                for (program, field) in cases {
                    let answer = try await bench.call(.post, "/v1/tasks", Self.task(program))
                    #expect(answer.status == 422 || answer.status == 400, "\(program): \(answer.status)")
                    #expect(try answer.value("field") == field, "\(program): \(answer.text)")
                    #expect(try answer.value("expected")?.isEmpty == false)
                }
                #expect(try await bench.call(.get, "/v1/tasks").text.contains(#""tasks":[]"#))
            }
        }
    }

    // MARK: Other rooms

    @Test func streamsOfAnotherRoomComeGoAndAreMuted() async throws {
        try await withDirectory { directory in
            let program = """
                {"composition":{"mode":"fixed","panes":[
                    {"x":0,"y":0,"width":0.5,"height":1,"source":{"user":"alice"}},
                    {"x":0.5,"y":0,"width":0.5,"height":1,"source":{"user":"alice","room":"next"}}]}}
                """
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice", room: "next")
                #expect(try await bench.call(.post, "/v1/tasks", Self.task(program)).status == 201)
                // The other room's stream is enough to start the program.
                let relay = try await TaskRouteTests.relay(bench, of: "second")
                #expect(relay.plan?.sources.map(\.id) == ["alice/camera@next"])
                try await bench.publish("alice")
                let both = try await eventually { relay.plan?.sources.count == 2 ? relay.plan : nil }
                #expect(both.scene.panes.map(\.source) == ["alice/camera", "alice/camera@next"])
                #expect(Set(both.sources.map(\.url)).count == 1, "the test's streams have the same names")

                let mute = #"{"type":"stream.updated","user":"alice","audio":false}"#
                #expect(try await bench.call(.post, "/v1/rooms/next/events", mute).status == 202)
                let muted = try await eventually {
                    relay.plan?.scene.sound.levels.map(\.source) == ["alice/camera"] ? relay.plan : nil
                }
                #expect(muted.cause.contains("streams of room next changed"))
                try await bench.unpublish("alice", room: "next")
                try await eventually { relay.plan?.sources.map(\.id) == ["alice/camera"] ? true : nil }
                #expect(try await bench.call(.delete, "/v1/rooms/next").status == 204)
            }
            // The service restarts without a request for either room.
            try await withOrchestrator(directory: directory) { bench in
                try await bench.publish("alice", room: "next")
                try await eventually {
                    bench.relays.started.last { $0.task == "second" }?.plan?.sources.count == 2 ? true : nil
                }
            }
        }
    }

    @Test func aRoomThatWaitsForAnotherNeedNotBeInMemory() async throws {
        try await withDirectory { directory in
            let body = #"{"program":{"composition":{"mode":"single","source":{"user":"carol","room":"next"}}}}"#
            try await withOrchestrator(directory: directory) { bench in
                let made = try await bench.call(.put, "/v1/rooms/demo", body)
                #expect(made.status == 201, "\(made.text)")
            }
            try await withOrchestrator(directory: directory) { bench in
                // This is longer than the time after which the room is forgotten.
                try await Task.sleep(for: .seconds(3))
                try await bench.publish("carol", room: "next")
                let relay = try await TaskRouteTests.relay(bench, of: "auto-demo")
                #expect(relay.plan?.mode == .bypass("carol/camera@next"))
            }
        }
    }

    // MARK: Images

    @Test func imagesOfPanesAreFetchedAndShownWhenTheyAreThere() async throws {
        try await withImageServer { router in
            router.get("wait.png") { _, _ in
                Response(status: .ok, body: .init(byteBuffer: .init(bytes: SampleImages.red)))
            }
        } _: { base in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory) { bench in
                    try await bench.publish("alice")
                    let program = """
                        {"composition":{"mode":"fixed","background":{"image":"\(base)/none.png"},"panes":[
                            {"x":0,"y":0,"width":0.5,"height":1,"source":{"user":"alice"}},
                            {"x":0.5,"y":0,"width":0.5,"height":1,"source":{"user":"zoe"},
                             "placeholder":"\(base)/wait.png?key=secret"}]}}
                        """
                    let made = try await bench.call(.post, "/v1/tasks", Self.task(program))
                    #expect(made.status == 201, "\(made.text)")
                    #expect(!made.text.contains("secret"))
                    let relay = try await TaskRouteTests.relay(bench, of: "second")
                    let plan = try await eventually {
                        if case .image = relay.plan?.scene.panes.last?.fallback { relay.plan } else { nil }
                    }
                    guard case .image(let file) = plan.scene.panes[1].fallback else { return }
                    #expect(file.hasPrefix(directory + "/images/"))
                    #expect(FileManager.default.contents(atPath: file).map(Array.init) == SampleImages.red)
                    #expect(plan.scene.background == nil)
                    try await eventually {
                        let timeline = try await bench.call(.get, "/v1/tasks/second/timeline")
                        return timeline.text.contains("none.png") ? true : nil
                    }
                    #expect(!bench.log.text.contains("secret"))
                }
            }
        }
    }
}
