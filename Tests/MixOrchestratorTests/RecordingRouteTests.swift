import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import Testing

@testable import MixOrchestrator

/// Recording by API, with scripted relays and prepared files.
@Suite(.timeLimit(.minutes(5))) struct RecordingRouteTests {
    @Test func recordingComesAndGoesWithoutAnythingElse() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                #expect(try await bench.call(.put, "/v1/rooms/demo", #"{"outputs":[]}"#).status == 201)
                try await bench.publish("alice")
                #expect(bench.relays.running.isEmpty, "there is nowhere to go")

                let started = try await bench.call(.put, "/v1/rooms/demo/recording", "")
                #expect(started.status == 200, "\(started.text)")
                #expect(try !started.isTrue("settings.singleFilePerLayer"))
                let relay = try await TaskRouteTests.relay(bench, of: "auto-demo")
                let planned = try #require(relay.plan?.outputs.recordings.first)
                #expect(planned.directory == directory + "/recordings/demo")
                #expect(planned.keepFreeBytes == RecordingPlace.defaultKeepFreeBytes)
                #expect(relay.plan?.outputs.destinations.isEmpty == true)

                // The same request changes nothing; other settings keep the recording's name.
                _ = try await bench.call(.put, "/v1/rooms/demo/recording", "{}")
                let body = #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/a"}],"recording":{"participants":true}}"#
                #expect(try await bench.call(.put, "/v1/rooms/demo", body).status == 200)
                let changed = try await eventually {
                    relay.plan?.outputs.destinations.isEmpty == false ? relay.plan : nil
                }
                #expect(changed.outputs.recordings.first?.id == planned.id)
                #expect(changed.outputs.recordings.first?.settings.participants == true)
                #expect(relay.plans.count == 2)

                #expect(try await bench.call(.delete, "/v1/rooms/demo/recording").status == 204)
                let stopped = try await eventually { relay.plan?.outputs.recordings.isEmpty == true ? relay.plan : nil }
                #expect(stopped.outputs.count == 1, "the push goes on")
                #expect(bench.relays.started.count == 1, "on the same relay")
                let view = try await bench.call(.get, "/v1/rooms/demo/recording")
                #expect(try !view.isTrue("running") && view.value("id") == nil)
            }
        }
    }

    @Test func whatARelayTellsIsShownAndAFailureBeginsAnew() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                _ = try await bench.call(.put, "/v1/rooms/demo", #"{"outputs":[],"recording":true}"#)
                try await bench.publish("alice")
                let relay = try await TaskRouteTests.relay(bench, of: "auto-demo")
                let id = try #require(relay.plan?.outputs.recordings.first?.id)
                func tell(_ state: RecordingStatus.State, _ error: ServiceState.Failure? = nil) {
                    relay.setRecordings([
                        RecordingStatus(
                            id: id, state: state, file: "x.mp4", files: 1, seconds: 3, bytes: 9, error: error)
                    ])
                }
                tell(.recording)
                try await eventually {
                    let room = try await bench.call(.get, "/v1/rooms/demo")
                    return try room.isTrue("recording.running") ? true : nil
                }
                tell(.failed, ServiceState.Failure(code: "disk_full", message: "No space left on device"))
                let failed = try await eventually {
                    let room = try await bench.call(.get, "/v1/rooms/demo")
                    return try room.value("recording.error.code") == "disk_full" ? room : nil
                }
                #expect(try !failed.isTrue("recording.running"))
                #expect(try failed.value("task.state") == "running", "the program goes on")
                let metrics = try await bench.call(.get, "/metrics").text
                #expect(metrics.contains(#"recording_failures_total{code="disk_full"} 1"#), "\(metrics)")
                #expect(metrics.contains(#"recordings{state="failed"} 1"#))

                _ = try await bench.call(.put, "/v1/rooms/demo/recording", "{}")
                try await eventually { relay.plan?.outputs.recordings.first?.id != id ? true : nil }
                let room = try await bench.call(.get, "/v1/rooms/demo")
                #expect(try room.value("recording.error.code") == nil, "the new one has not failed")
            }
        }
    }

    /// A patch of the settings starts a recording as any other request does, and changes one that goes on.
    @Test func aPatchStartsAndChangesARecording() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let room = #"{"outputs":[{"id":"a","url":"rtmp://127.0.0.1/a"}]}"#
                #expect(try await bench.call(.put, "/v1/rooms/demo", room).status == 201)
                try await bench.publish("alice")
                let relay = try await TaskRouteTests.relay(bench, of: "auto-demo")
                func patch(_ path: String, _ body: String) async throws -> Int {
                    let headers: HTTPFields = [.contentType: "application/json", .ifMatch: "*"]
                    return try await bench.call(.patch, path, body, headers: headers).status
                }
                #expect(try await patch("/v1/rooms/demo", #"{"recording":true}"#) == 200)
                let first = try await eventually { relay.plan?.outputs.recordings.first }
                #expect(!first.id.isEmpty)
                let view = try await bench.call(.get, "/v1/rooms/demo/recording")
                #expect(try view.value("startedAt")?.hasPrefix("1970") == false, "\(view.text)")

                #expect(try await patch("/v1/tasks/auto-demo", #"{"recording":{"participants":true}}"#) == 200)
                let next = try await eventually {
                    relay.plan?.outputs.recordings.first { $0.settings.participants }
                }
                #expect(next.id == first.id, "it goes on")

                // Recordings belong to rooms.
                let task = #"{"id":"t","room":"demo","outputs":[{"id":"b","url":"rtmp://127.0.0.1/b"}]}"#
                #expect(try await bench.call(.post, "/v1/tasks", task).status == 201)
                #expect(try await patch("/v1/tasks/t", #"{"recording":true}"#) == 422)
            }
        }
    }

    /// Without a relay, nobody can tell whether the recording has reached its limit, which would end the next one at once.
    @Test func aRecordingWithALimitBeginsAnewWhileNobodyIsOnAir() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                _ = try await bench.call(.put, "/v1/rooms/demo", #"{"outputs":[]}"#)
                func begin(_ settings: String) async throws -> String? {
                    #expect(try await bench.call(.put, "/v1/rooms/demo/recording", settings).status == 200)
                    return try await bench.call(.get, "/v1/rooms/demo/recording").value("id")
                }
                let first = try await begin("{}")
                #expect(try await begin("{}") == first && first != nil)
                #expect(try await begin(#"{"maxSeconds":60}"#) == first)
                let second = try await begin(#"{"maxSeconds":60}"#)
                #expect(second != first)
                try await bench.publish("alice")
                let relay = try await TaskRouteTests.relay(bench, of: "auto-demo")
                #expect(try await eventually { relay.plan?.outputs.recordings.first }.id == second)
                #expect(try await begin(#"{"maxSeconds":90}"#) == second, "it goes on")
            }
        }
    }

    @Test func settingsThatMakeNoSenseAreRefused() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                #expect(try await bench.call(.put, "/v1/rooms/demo/recording", "{}").status == 404)
                _ = try await bench.call(.put, "/v1/rooms/demo", "{}")
                for (body, field) in [
                    (#"{"partSeconds":5}"#, "partSeconds"), (#"{"maxBytes":10}"#, "maxBytes"),
                    (#"{"single":true}"#, "single"), (#"{"singleFilePerLayer":true,"partSeconds":60}"#, "partSeconds"),
                ] {
                    let answer = try await bench.call(.put, "/v1/rooms/demo/recording", body)
                    #expect(answer.status >= 400 && answer.text.contains(field), "\(answer.text)")
                }
                let task = try await bench.call(
                    .post, "/v1/tasks",
                    #"{"room":"demo","outputs":[{"id":"a","url":"rtmp://127.0.0.1/a"}],"recording":true}"#)
                #expect(task.status >= 400 && task.text.contains("/v1/rooms/{room}/recording"), "\(task.text)")
            }
        }
    }

    @Test func filesAreListedFetchedAndRemoved() async throws {
        try await withDirectory { directory in
            let place = directory + "/recordings/demo"
            try KeptFiles.makeRecording(directory, "20260101T000000Z-a")
            try KeptFiles.makeRecording(directory, "20260102T000000Z-b", state: .recording)
            try Data("secret".utf8).write(to: URL(filePath: directory + "/recordings/secret.mp4"))
            try await withOrchestrator(directory: directory) { bench in
                let list = try await bench.call(.get, "/v1/rooms/demo/recordings")
                #expect(try list.value("recordings.0.file") == "20260102T000000Z-b.mp4", "newest first")
                #expect(try list.value("recordings.0.state") == "interrupted", "nobody holds its lock")
                #expect(try list.value("recordings.1.state") == "complete")
                #expect(try list.value("recordings.1.bytes") == "1000")
                #expect(try await bench.call(.get, "/v1/rooms/other/recordings").text == #"{"recordings":[]}"#)

                let path = "/v1/rooms/demo/recordings/20260101T000000Z-a.mp4"
                let whole = try await bench.call(.get, path)
                #expect(whole.status == 200 && whole.headers[.contentType] == "video/mp4")
                #expect(whole.headers[.contentLength] == "1000" && whole.headers[.acceptRanges] == "bytes")
                let part = try await bench.call(.get, path, headers: [.range: "bytes=990-"])
                #expect(part.status == 206 && part.headers[.contentRange] == "bytes 990-999/1000")
                #expect(part.headers[.contentLength] == "10")
                // Players ask for the whole file as a range, too.
                for range in ["bytes=0-", "bytes=0-999", "bytes=-1000"] {
                    let all = try await bench.call(.get, path, headers: [.range: range])
                    #expect(all.status == 206 && all.headers[.contentRange] == "bytes 0-999/1000", "\(range)")
                    #expect(all.headers[.contentLength] == "1000")
                }
                #expect(try await bench.call(.get, path, headers: [.range: "bytes=1000-"]).status == 416)

                for wrong in ["..%2fsecret.mp4", "%2e%2e%2Fsecret.mp4", "20260101T000000Z-a.json", "none.mp4", ".mp4"] {
                    let answer = try await bench.call(.get, "/v1/rooms/demo/recordings/\(wrong)")
                    #expect(answer.status == 404 && !answer.text.contains("secret\n"), "\(wrong): \(answer.text)")
                }
                // This file is being written now.
                let held = open("\(place)/20260102T000000Z-b.mp4", O_RDWR)
                flock(held, LOCK_EX)
                let other = "/v1/rooms/demo/recordings/20260102T000000Z-b.mp4"
                #expect(try await bench.call(.delete, other).status == 409)
                #expect(
                    try await bench.call(.get, "/v1/rooms/demo/recordings").value("recordings.0.state") == "recording")
                close(held)
                #expect(try await bench.call(.delete, other).status == 204)
                #expect(try await bench.call(.delete, other).status == 404)
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).count == 2)
            }
        }
    }

    /// The next part would get the name of the removed one, and in a storage its place.
    @Test func aRemovedPartKeepsItsNumberWhileTheRoomIsRecorded() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                _ = try await bench.call(.put, "/v1/rooms/demo", #"{"outputs":[],"recording":true}"#)
                let id = try #require(try await bench.call(.get, "/v1/rooms/demo/recording").value("id"))
                let place = directory + "/recordings/demo"
                let files = "/v1/rooms/demo/recordings"
                try KeptFiles.makeRecording(directory, "20260101T000000Z-\(id)", recording: id)
                try KeptFiles.makeRecording(directory, "20260101T000000Z-other", recording: "other")
                for name in [id, "other"] {
                    let path = "\(files)/20260101T000000Z-\(name).mp4"
                    #expect(try await bench.call(.delete, path).status == 204)
                    #expect(try await bench.call(.delete, path).status == 404)
                }
                #expect(try FileManager.default.contentsOfDirectory(atPath: place) == ["20260101T000000Z-\(id).json"])
                #expect(try await bench.call(.get, files).text == #"{"recordings":[]}"#)
            }
        }
    }

    @Test func namesOfFilesAreSafeAndTellRoomsApart() {
        #expect(FileName.safe("demo-1_x") == "demo-1_x")
        #expect(FileName.safe("../../etc") == "~2e~2e~2f~2e~2e~2fetc")
        #expect(FileName.safe("shop/demo") != FileName.safe("shop-demo"))
        #expect(FileName.safe("") == "~" && FileName.safe("Zoë") == "Zo~c3~ab")
        let long = String(repeating: "é", count: 100)
        #expect(FileName.safe(long).utf8.count < 150 && FileName.safe(long) != FileName.safe(long + "é"))
        for name in ["a.mp4", "20260101T000000Z-a-2.mp4", "x-alice~2fcamera.mp4"] {
            #expect(FileName.isRecording(name))
        }
        for name in ["", ".mp4", "../a.mp4", "a/b.mp4", "a.mp4.json", "a.b.mp4", "a\0.mp4"] {
            #expect(!FileName.isRecording(name))
        }
    }
}
