import Foundation
import HTTPTypes
import MixModel
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Calls of 100ms' interface, with scripted relays and prepared files.
@Suite(.timeLimit(.minutes(5))) struct HMSRouteTests {
    private func run(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (Bench, HMSCaller) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, settings: HMSCaller.settings.merging(settings) { $1 }
            ) { bench in try await body(bench, HMSCaller(bench: bench)) }
        }
    }

    private static func publish(_ bench: Bench, _ user: String = "alice") async throws {
        let body = #"{"type":"stream.published","user":"\#(user)","url":"rtmp://127.0.0.1/live/\#(user)"}"#
        #expect(try await bench.call(.post, "/v1/rooms/demo/events?app=shop", body).status == 202)
    }

    private static func status(_ caller: HMSCaller, _ path: String, is wanted: String) async throws {
        try await eventually("\(path) does not become \(wanted)") {
            try await caller.get(path).value("status") == wanted ? true : nil
        }
    }

    private static let both = #"{"rtmp_urls":["rtmp://127.0.0.1/cdn/a","rtmp://127.0.0.1/cdn/b"],"recording":true}"#

    @Test func aStreamWithARecordingComesAndGoes() async throws {
        try await run { bench, caller in
            try await Self.publish(bench)
            let started = try await caller.post("external-streams/room/demo/start", Self.both)
            #expect(started.status == 200, "\(started.text)")
            #expect(try started.value("status") == "starting" && started.value("room_id") == "demo")
            let id = try #require(try started.value("id"))
            #expect(id.count == 24)
            let relay = try await TaskRouteTests.relay(bench, of: "shop/auto-demo")
            let plan = try await eventually {
                relay.plan?.outputs.destinations.count == 2 ? relay.plan : nil
            }
            #expect(plan.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/cdn/a", "rtmp://127.0.0.1/cdn/b"])
            let recording = try #require(plan.outputs.recordings.first)
            relay.setRecordings([RecordingStatus(id: recording.id, state: .recording)])
            try await Self.status(caller, "external-streams/\(id)", is: "running")
            let room = try await bench.call(.get, "/v1/rooms/demo?app=shop")
            #expect(try room.isTrue("browserRecording.running") && room.isTrue("rtmp.running"))
            #expect(try !room.isTrue("serverRecording.running"))

            let stopped = try await caller.post("external-streams/\(id)/stop", nil)
            #expect(try stopped.status == 200 && stopped.value("status") == "stopping", "\(stopped.text)")
            try await eventually {
                let view = try await bench.call(.get, "/v1/rooms/demo?app=shop")
                return try view.value("outputs.0") == nil ? true : nil
            }
            relay.setRecordings([])
            try Self.makeRecording(bench, recording.id)
            try await Self.status(caller, "external-streams/\(id)", is: "completed")
            let done = try await caller.get("external-streams/\(id)")
            #expect(try done.value("recording_assets.0.type") == "room-composite", "\(done.text)")
            #expect(try done.value("recording_assets.0.size") == "1000" && done.value("stopped_by") == "")

            // Any client can get the file at the URL that the SDK gets.
            let assets = try await caller.get("recording-assets?room_id=demo")
            let asset = try #require(try assets.value("data.0.id"))
            #expect(try assets.value("data.0.job_id") == id)
            for (query, isListed) in [
                ("status=completed", true), ("status=failed", false), ("type=room-composite", true),
                ("type=transcript", false), ("type=room-composite&status=running", false),
            ] {
                let found = try await caller.get("recording-assets?\(query)")
                #expect(try (found.value("data.0.id") == asset) == isListed, "\(query): \(found.text)")
            }
            #expect(try await caller.get("recording-assets?status=gone").status == 400)
            #expect(try await caller.get("recording-assets/\(asset)").value("path")?.hasSuffix(".mp4") == true)
            let link = try await caller.get("recording-assets/\(asset)/presigned-url")
            #expect(try link.value("expiry") == "3600")
            let long = try await caller.get("recording-assets/\(asset)/presigned-url?presign_duration=86400")
            #expect(try long.value("expiry") == "86400")
            let end = try #require(try long.value("url").flatMap { URLComponents(string: $0) }?.queryItems?.first)
            #expect(end.name == "expires" && (Int(end.value ?? "") ?? 0) > Int(Date().timeIntervalSince1970) + 80_000)
            let none = try await caller.get("recording-assets/\(asset)/presigned-url?presign_duration=0")
            #expect(none.status == 400)
            let url = try #require(try link.value("url").flatMap { URLComponents(string: $0) })
            let place = url.path + "?" + (url.percentEncodedQuery ?? "")
            let file = try await bench.call(.get, place)
            #expect(file.status == 200 && file.headers[.contentLength] == "1000")
            #expect(try await bench.call(.get, place, headers: [.range: "bytes=990-"]).status == 206)
            #expect(try await bench.call(.get, place, headers: [.range: "bytes=1000-"]).status == 416)
            #expect(try await bench.call(.get, place.replacing("signature=", with: "signature=0")).status == 403)
            #expect(try await bench.call(.get, url.path).status == 403)

            // The picture of the recording, once it exists.
            #expect(try assets.value("data.0.thumbnails.0") == nil)
            let picture = try #require(try assets.value("data.0.path")).dropLast(4) + ".jpg"
            #expect(try await bench.call(.get, picture + "?app=shop").status == 404)
            let name = "20260131T200000Z-\(recording.id).jpg"
            try Data([0xFF, 0xD8, 0xFF]).write(to: URL(filePath: "\(Self.directory(bench))/\(name)"))
            for path in ["recording-assets", "recording-assets/\(asset)", "external-streams/\(id)", "external-streams"]
            {
                #expect(try await caller.get(path).text.contains(picture), "\(path)")
            }
            let jpeg = try await bench.call(.get, picture + "?app=shop")
            #expect(jpeg.status == 200 && jpeg.headers[.contentType] == "image/jpeg")
            #expect(jpeg.headers[.contentLength] == "3")
        }
    }

    private static func directory(_ bench: Bench) -> String {
        "\(bench.directory)/recordings/\(FileName.safe(RoomID(app: "shop", name: "demo").rawValue))"
    }

    private static func makeRecording(_ bench: Bench, _ id: String) throws {
        let room = RoomID(app: "shop", name: "demo").rawValue
        try KeptFiles.makeRecording(bench.directory, of: room, "20260131T200000Z-\(id)", recording: id)
    }

    /// Stops one of several sessions, which 100ms' own service cannot do.
    @Test func oneOfSeveralIsStopped() async throws {
        try await run { bench, caller in
            try await Self.publish(bench)
            let stream = try await caller.post("external-streams/room/demo/start", Self.both)
            let recording = try await caller.post("recordings/room/demo/start")
            let live = try await caller.post("live-streams/room/demo/start", #"{"recording":{"hls_vod":true}}"#)
            #expect([stream, recording, live].map(\.status) == [200, 200, 200])
            #expect(try stream.value("session_id") == live.value("session_id"))
            #expect(try live.value("playback.url") == "http://localhost/live/shop/demo/index.m3u8")
            let relay = try await TaskRouteTests.relay(bench, of: "shop/auto-demo")
            func planned(_ destinations: Int, _ recordings: Int, _ hls: Int) async throws {
                try await eventually("\(destinations) outputs, \(recordings) recordings, \(hls) HLS") {
                    guard let outputs = relay.plan?.outputs else { return nil as Bool? }
                    let counts = [
                        outputs.destinations.count, outputs.recordings.count, outputs.of(PlannedHLS.self).count,
                    ]
                    return counts == [destinations, recordings, hls] ? true : nil
                }
            }
            try await planned(2, 1, 1)
            #expect(try await caller.post("external-streams/\(try stream.value("id") ?? "")/stop").status == 200)
            try await planned(0, 1, 1)
            #expect(try await caller.post("recordings/room/demo/stop").value("data.0.status") == "stopping")
            try await planned(0, 0, 1)
            #expect(try await caller.post("live-streams/room/demo/stop").value("data.0.status") == "stopping")
            try await eventually {
                let room = try await bench.call(.get, "/v1/rooms/demo?app=shop")
                return try room.value("playback.hls") == nil ? true : nil
            }
            // Nothing is running any more.
            #expect(try await caller.post("external-streams/room/demo/stop").value("data.0") == nil)
        }
    }

    /// Settings that the room had before remain.
    @Test func theRoomsOwnIsLeftAlone() async throws {
        try await run { bench, caller in
            let own = #"{"outputs":[{"id":"own","url":"rtmp://127.0.0.1/own"}],"recording":true,"hls":true}"#
            #expect(try await bench.call(.put, "/v1/rooms/demo?app=shop", own).status == 201)
            let taken = try await caller.post(
                "external-streams/room/demo/start", #"{"rtmp_urls":["rtmp://127.0.0.1/own"]}"#)
            #expect(taken.status == 400 && taken.text.contains("rtmp_urls[0]"), "\(taken.text)")
            for family in ["external-streams", "live-streams"] {
                let body = family == "live-streams" ? "{}" : Self.both
                #expect(try await caller.post("\(family)/room/demo/start", body).status == 200)
            }
            for family in ["external-streams", "live-streams"] {
                #expect(try await caller.post("\(family)/room/demo/stop").status == 200)
            }
            let room = try await bench.call(.get, "/v1/rooms/demo?app=shop")
            #expect(try room.value("outputs.0.id") == "own" && room.value("outputs.1") == nil)
            #expect(try room.value("playback.hls") != nil)
            #expect(try await bench.call(.get, "/v1/rooms/demo/recording?app=shop").value("id") != nil)
            // The refused call has left nothing behind.
            #expect(try await caller.get("external-streams").value("data.1") == nil)
        }
    }

    @Test func strictnessIs100ms() async throws {
        let settings = ["hundredms.strict": ["true"], "hundredms.meetingURL": ["http://127.0.0.1/{room}"]]
        try await run(settings) { bench, caller in
            let unknown = try await caller.post("external-streams/room/demo/start", Self.both)
            #expect(try unknown.status == 404 && unknown.value("message") == "room not found", "\(unknown.text)")
            #expect(try await bench.call(.put, "/v1/rooms/demo?app=shop", "{}").status == 201)
            let four = (0..<4).map { "\"rtmp://127.0.0.1/\($0)\"" }.joined(separator: ",")
            let many = try await caller.post("external-streams/room/demo/start", "{\"rtmp_urls\":[\(four)]}")
            #expect(try many.status == 400 && many.value("code") == "400" && many.text.contains("at most 3"))
            // Pages are disabled here, and the refusal says so.
            let page = try await caller.post("external-streams/room/demo/start", Self.both)
            #expect(page.status == 400 && page.text.contains("pages.enabled"), "\(page.text)")
            #expect(try await caller.get("external-streams").value("data.0") == nil)
        }
    }

    @Test func aSecondOneIsRefusedWhenStrict() async throws {
        try await withDirectory { directory in
            // A session that has been running since before.
            var running = HMSSession(
                id: HMSSession.newID(), kind: .recording, room: "shop/demo", session: "x", accessKey: WireCaller.key,
                base: "", at: Date().timeIntervalSince1970)
            running.isComplete = true
            try HMSFiles(data: directory).write(running)
            let settings = [
                "hundredms.strict": ["true"], "hundredms.meetingURL": ["http://127.0.0.1/{room}"],
            ]
            try await withOrchestrator(
                directory: directory, settings: HMSCaller.settings.merging(settings) { $1 }
            ) { bench in
                let caller = HMSCaller(bench: bench)
                let second = try await caller.post("external-streams/room/demo/start", Self.both)
                #expect(second.status == 400 && second.text.contains("already been started"), "\(second.text)")
            }
        }
    }

    @Test func strangersAreRefusedIn100msForm() async throws {
        try await run { bench, caller in
            let stream = try await caller.post("external-streams/room/demo/start", Self.both)
            let id = try #require(try stream.value("id"))
            for headers in [
                [:], [.authorization: "Bearer x"], HMSCaller.headers(secret: "a-wrong-secret-of-mine"),
            ] as [HTTPFields] {
                let answer = try await bench.call(.get, "/v2/external-streams/\(id)", headers: headers)
                #expect(try answer.status == 401 && answer.value("message") == "Token validation error")
                #expect(try answer.value("code") == "401" && answer.value("details.0") != nil)
            }
            let expired = #"{"access_key":"shop-key","type":"management","version":2,"exp":1769976000}"#
            let late = try await bench.call(
                .get, "/v2/external-streams", headers: [.authorization: "Bearer \(HMSCaller.token(expired))"])
            #expect(late.status == 401 && late.text.contains("expired"))
            let other = HMSCaller.other(bench)
            #expect(try await other.get("external-streams/\(id)").status == 404)
            #expect(try await other.post("external-streams/\(id)/stop").status == 404)
            #expect(try await other.get("external-streams").value("data.0") == nil)
            for path in [
                "external-streams/none", "live-streams/\(id)", "recording-assets/none", "rooms", "rooms/x",
                "external-streams/\(id)/presigned-url", "recording-assets/none/presigned-url",
            ] {
                let answer = try await caller.get(path)
                #expect(try answer.status == 404 && answer.value("code") == "404", "\(path): \(answer.text)")
            }
            for (path, status) in [
                ("external-streams/none/stop", 404), ("external-streams/\(id)/jump", 404), ("policy/x/stop", 404),
                ("recordings/\(id)/pause", 404), ("live-streams/\(id)/timed-metadata", 400),
                ("recordings/room/demo/resume", 404), ("live-streams/\(id)/pause-recording", 404),
                ("active-rooms/nobody/end-room", 404), ("external-streams/room/demo/jump", 404),
            ] {
                let answer = try await caller.post(path)
                #expect(try answer.status == status && answer.value("code") == "\(status)", "\(path): \(answer.text)")
            }
            for body in [
                "{", "[]", #"{"rtmp_urls":["rtmp://10.0.0.1/a"]}"#, #"{"rtmp_urls":["file:///etc/passwd"]}"#,
                #"{"recording":true,"meeting_url":"http://10.0.0.1/"}"#,
                #"{"recording":true,"meeting_url":"javascript:1"}"#,
                #"{"rtmp_urls":["rtmp://127.0.0.1/x","rtmp://127.0.0.1/x"]}"#,
            ] {
                let answer = try await caller.post("external-streams/room/demo/start", body)
                #expect(try answer.status == 400 && answer.value("code") == "400", "\(body): \(answer.text)")
            }
            let long = try await caller.post(
                "recordings/room/demo/start", #"{"destination":"\#(String(repeating: "a", count: 70_000))"}"#)
            #expect(try long.status == 413 && long.value("code") == "413")
            #expect(try await caller.get("external-streams?limit=0").status == 400)
            #expect(try await caller.get("external-streams?status=gone").status == 400)
            #expect(try await caller.get("external-streams?status=starting&room_id=demo").value("data.0.id") == id)
        }
    }

    /// Requests to unknown routes are also answered in 100ms' format.
    @Test func otherPathsAndMethodsAreRefusedIn100msForm() async throws {
        try await run { bench, caller in
            for (method, path, status) in [
                (HTTPRequest.Method.put, "external-streams", 405), (.delete, "recordings/x", 405),
                (.post, "live-streams/x", 405), (.get, "a/b/c/d/e", 404), (.get, "a/b/c/d", 404),
                (.get, "external-streams/room/demo/start", 405),
            ] {
                let answer = try await caller.call(method, path)
                #expect(answer.status == status && answer.headers[.contentType] == "application/json", "\(path)")
                #expect(try answer.value("code") == "\(status)" && answer.value("message") != nil, "\(answer.text)")
                #expect(try answer.value("details.0")?.contains(path) == true && answer.value("type") == nil)
                #expect((answer.headers[.allow] != nil) == (status == 405), "\(path)")
            }
            let head = try await caller.call(.head, "external-streams/room/demo/start")
            #expect(head.status == 405 && head.text.isEmpty)
            #expect(try await caller.call(.options, "external-streams").status == 204)
            // This format is used below /v2 only.
            #expect(try await bench.call(.get, "/v2x").headers[.contentType] == "application/problem+json")
        }
    }

    @Test func aRoomThatEndsEndsItsStreams() async throws {
        try await run { bench, caller in
            try await Self.publish(bench)
            let stream = try await caller.post(
                "external-streams/room/demo/start", #"{"rtmp_urls":["rtmp://127.0.0.1/cdn/a"]}"#)
            let path = "external-streams/\(try stream.value("id") ?? "")"
            try await Self.status(caller, path, is: "running")
            let answer = try await caller.post("active-rooms/demo/end-room", #"{"reason":"over"}"#)
            #expect(try answer.status == 200 && answer.value("message") == "session is ending")
            try await Self.status(caller, path, is: "completed")
            #expect(try await bench.call(.get, "/v1/rooms/demo?app=shop").value("outputs.0") == nil)
        }
    }

    @Test func offByDefault() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: WireCaller.settings) { bench in
                let answer = try await HMSCaller(bench: bench).get("external-streams")
                #expect(answer.status == 404 && answer.text.contains("hundredms.enabled"))
                let stranger = try await bench.call(.get, "/v2/external-streams")
                #expect(stranger.status == 401 && stranger.text.contains("hundredms.enabled"))
                #expect(!FileManager.default.fileExists(atPath: directory + "/hundredms"))
            }
        }
    }

    @Test func settingsAreChecked() throws {
        func fault(_ settings: [String: [String]]) -> String? {
            do {
                _ = try testConfiguration("/nowhere", HMSCaller.settings.merging(settings) { $1 })
                return nil
            } catch { return "\(error)" }
        }
        #expect(fault([:]) == nil)
        #expect(fault(["hundredms.renditions": ["360", "720"], "hundredms.url": ["https://mixer.example/"]]) == nil)
        for (key, value) in [
            ("hundredms.strict", ["maybe"]), ("hundredms.meetingURL", ["ftp://a/{room}"]),
            ("hundredms.meetingURL", ["https://not-allowed.example/{room}"]), ("hundredms.url", ["mixer.example"]),
            ("hundredms.renditions", ["361"]), ("hundredms.renditions", ["90", "180", "270", "360"]),
            ("hundredms.maxSeconds", ["-1"]), ("hundredms.webhook.url", ["https://not-allowed.example/x"]),
            ("hundredms.webhook.secret", ["short"]),
        ] {
            #expect(fault([key: value])?.contains(key) == true, "\(key) \(value): \(fault([key: value]) ?? "accepted")")
        }
        #expect(
            fault([
                "hundredms.webhook.url": ["http://127.0.0.1/x"], "hundredms.webhook.header": ["X Secret"],
                "hundredms.webhook.secret": ["0123456789abcdef"],
            ])?.contains("hundredms.webhook.header") == true)
        #expect(fault(["hundredms.webhook.header": ["X-Secret"]])?.contains("hundredms.webhook.url") == true)
        #expect((try? testConfiguration("/nowhere", ["hundredms.enabled": ["true"]])) == nil)
    }
}
