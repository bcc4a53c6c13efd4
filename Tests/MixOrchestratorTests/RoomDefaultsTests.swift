import LayoutEngine
import MixModel
import Testing

@testable import MixOrchestrator

/// Defaults of rooms without settings.
@Suite(.timeLimit(.minutes(2))) struct RoomDefaultsTests {
    private static let published = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/alice"}"#

    @Test func aRoomWithoutOutputsHasAProgram() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, omitting: ["rooms.outputs"]) { bench in
                let answer = try await bench.call(.post, "/v1/rooms/demo/events", Self.published)
                #expect(answer.status == 202)
                #expect(try answer.value("notes.0") == "the room has no RTMP output: its program is at /live/demo.flv")
                let plan = try await bench.plan { $0.mode == .bypass("alice/camera") }
                #expect(plan.outputs.isEmpty)
                let room = try await bench.call(.get, "/v1/rooms/demo")
                #expect(try room.value("playback.flv") == "/live/demo.flv" && room.value("playback.hls") == nil)
                #expect(try room.value("playback.rtmp") == nil)
                // The same stream again gives no note.
                #expect(try await bench.call(.post, "/v1/rooms/demo/events", Self.published).value("notes") == nil)
                // An explicitly empty list of outputs means no program.
                let emptied = try await bench.call(.put, "/v1/rooms/demo", #"{"outputs":[]}"#)
                #expect(emptied.status == 200, "\(emptied.text)")
                try await eventually { try await bench.call(.get, "/v1/tasks/auto-demo").value("endReason") }
                #expect(try await bench.call(.get, "/v1/tasks/auto-demo").value("endReason") == "noOutputs")
            }
        }
    }

    @Test func anEmptyListOfOutputsMeansNoProgram() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: ["rooms.outputs": []]) { bench in
                let answer = try await bench.call(.post, "/v1/rooms/demo/events", Self.published)
                #expect(try answer.value("notes.0")?.contains("and therefore no program") == true, "\(answer.text)")
                #expect(bench.relays.started.isEmpty)
                let hls = try await bench.call(.put, "/v1/rooms/demo", #"{"hls":{}}"#)
                #expect(try hls.value("playback.hls") == "/live/demo/index.m3u8", "\(hls.text)")
            }
        }
    }

    @Test func anAppThatStartsTasksHasNoProgramThatItDidNotAskFor() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory,
                settings: [
                    "apps.0.id": ["default"], "apps.0.accessKeys.0.id": ["key-of-the-app"],
                    "apps.0.accessKeys.0.secret": ["a-secret-of-the-app"],
                ], omitting: ["rooms.outputs"]
            ) { bench in
                let answer = try await bench.call(.post, "/v1/rooms/demo/events", Self.published)
                #expect(try answer.value("notes.0")?.contains("and therefore no program") == true, "\(answer.text)")
                #expect(bench.relays.started.isEmpty)
            }
        }
    }

    @Test(arguments: [
        (#"{"type":"stream.unpublished","user":"bob"}"#, "bob/camera is not published in this room"),
        (#"{"type":"participant.left","user":"bob"}"#, "bob is not in this room"),
        (#"{"type":"stream.updated","user":"bob","audio":true}"#, "bob is not in this room"),
        (
            #"{"type":"stream.published","user":"bob"}"#,
            "url: sources.urlTemplate gives rtmp://127.0.0.1/demo/***"
        ),
    ])
    func anEventThatMaySurpriseIsAnsweredWithANote(_ event: String, _ note: String) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, settings: ["sources.urlTemplate": ["rtmp://127.0.0.1/{room}/{user}"]]
            ) { bench in
                try await bench.publish("alice")
                let answer = try await bench.call(.post, "/v1/rooms/demo/events", event)
                #expect(
                    try answer.value("accepted") == "1" && answer.value("notes.0")?.hasPrefix(note) == true,
                    "\(answer.text)")
                #expect(try answer.value("notes.1") == nil)
            }
        }
    }

    @Test func aCanvasFollowsTheHostUntilItIsFixed() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let made = try await bench.call(.put, "/v1/rooms/demo", #"{"canvas":"host"}"#)
                #expect(
                    try made.value("canvas.follows") == "host" && made.value("canvas.width") == "720", "\(made.text)")
                func patched(_ canvas: String) async throws -> Answer {
                    try await bench.call(
                        .patch, "/v1/tasks/auto-demo", #"{"canvas":\#(canvas)}"#,
                        headers: [.ifMatch: "*", .contentType: "application/json"])
                }
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                // A colour does not set the size; an answer can be sent back unchanged.
                let coloured = try await patched(##"{"background":"#102030"}"##)
                #expect(try coloured.value("settings.canvas.follows") == "host", "\(coloured.text)")
                let back = try await patched(
                    ##"{"width":720,"height":1280,"fps":20,"background":"#102030","follows":"host"}"##)
                #expect(try back.value("settings.canvas.follows") == "host")
                let fixed = try await patched(#"{"width":640,"height":360}"#)
                #expect(
                    try fixed.value("settings.canvas.follows") == nil && fixed.value("settings.canvas.width") == "640")
                try await bench.plan { $0.scene.canvas.width == 640 }
                for wrong in ["\"guest\"", "7", #"{"follows":"bob"}"#] {
                    let refused = try await patched(wrong)
                    #expect(refused.status == 422 && refused.text.contains("host"), "\(refused.text)")
                }
            }
        }
    }
}
