import Foundation
import MixModel
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Paused recordings, sound without pictures, and texts for players, with scripted relays and prepared files.
@Suite(.timeLimit(.minutes(5))) struct HMSRecordingTests {
    private func run(_ body: @escaping @Sendable (Bench, HMSCaller) async throws -> Void) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: HMSCaller.settings) { bench in
                let event = #"{"type":"stream.published","user":"alice","url":"rtmp://127.0.0.1/live/alice"}"#
                #expect(try await bench.call(.post, "/v1/rooms/demo/events?app=shop", event).status == 202)
                try await body(bench, HMSCaller(bench: bench))
            }
        }
    }

    private static func status(_ caller: HMSCaller, _ path: String, is wanted: String) async throws {
        try await eventually("\(path) does not become \(wanted)") {
            try await caller.get(path).value("status") == wanted ? true : nil
        }
    }

    /// Starts a recording and lets it run.
    private static func record(
        _ bench: Bench, _ caller: HMSCaller, _ body: String = "{}"
    ) async throws -> (id: String, relay: ScriptedRelay, settings: RecordingSettings) {
        let started = try await caller.post("recordings/room/demo/start", body)
        #expect(started.status == 200, "\(started.text)")
        let id = try #require(try started.value("id"))
        let relay = try await TaskRouteTests.relay(bench, of: "shop/auto-demo")
        let settings = try await eventually { relay.plan?.outputs.recordings.first?.settings }
        relay.setRecordings([RecordingStatus(id: settings.id, state: .recording)])
        try await status(caller, "recordings/\(id)", is: "running")
        return (id, relay, settings)
    }

    private static func recording(_ bench: Bench) async throws -> RecordingSettings? {
        bench.relays.running.last { $0.task == "shop/auto-demo" }?.plan?.outputs.recordings.first?.settings
    }

    /// 100ms' documentation has the room's id in some calls, and `room/` in others.
    @Test(arguments: ["recordings/room/demo", "recordings/demo", "recordings/ID"])
    func aRecordingIsPausedAndGoesOnInItsFile(_ path: String) async throws {
        try await run { bench, caller in
            let (id, relay, settings) = try await Self.record(bench, caller)
            let path = path.replacing("ID", with: id)
            for _ in 0..<2 {
                let paused = try await caller.post("\(path)/pause", nil)
                #expect(try paused.status == 200 && paused.value("status") == "running", "\(paused.text)")
                #expect(try paused.value("id") == id)
            }
            relay.setRecordings([])
            try await eventually { try await Self.recording(bench) == nil ? true : nil }
            let room = try await bench.call(.get, "/v1/rooms/demo?app=shop")
            #expect(try !room.isTrue("browserRecording.running"))
            try await Task.sleep(for: .milliseconds(700))
            try await Self.status(caller, "recordings/\(id)", is: "running")
            for _ in 0..<2 {
                let resumed = try await caller.post("\(path)/resume", nil)
                #expect(try resumed.status == 200 && resumed.value("status") == "running", "\(resumed.text)")
            }
            let next = try await eventually { try await Self.recording(bench) }
            var expected = settings
            expected.leavesOutGaps = true
            #expect(next == expected, "the same file, without the pause")
            let stopped = try await caller.post("recordings/\(id)/stop")
            #expect(try stopped.status == 200 && stopped.value("status") == "stopping")
            try await eventually { try await Self.recording(bench) == nil ? true : nil }
            #expect(try await caller.post("\(path)/pause").status >= 400, "it is over")
        }
    }

    @Test func aPausedRecordingIsStopped() async throws {
        try await run { bench, caller in
            let (id, relay, settings) = try await Self.record(bench, caller)
            #expect(try await caller.post("recordings/\(id)/pause").status == 200)
            relay.setRecordings([])
            #expect(try await caller.post("recordings/\(id)/stop").value("status") == "stopping")
            try KeptFiles.makeRecording(bench.directory, of: "shop/demo", "20260131T200000Z-x", recording: settings.id)
            try await Self.status(caller, "recordings/\(id)", is: "completed")
            #expect(try await caller.get("recordings/\(id)").value("recording_assets.0.size") == "1000")
        }
    }

    @Test func whatOthersNeedIsNotPaused() async throws {
        try await run { bench, caller in
            let (id, _, _) = try await Self.record(bench, caller)
            let second = try await caller.post("recordings/room/demo/start")
            let other = try #require(try second.value("id"))
            let shared = try await caller.post("recordings/\(id)/pause")
            #expect(shared.status == 400 && shared.text.contains(other), "\(shared.text)")
            #expect(try await caller.post("recordings/\(other)/stop").status == 200)
            #expect(try await caller.post("recordings/\(id)/pause").status == 200)
            // Another caller records meanwhile.
            #expect(try await bench.call(.put, "/v1/rooms/demo/recording?app=shop", "{}").status < 300)
            let taken = try await caller.post("recordings/\(id)/resume")
            #expect(taken.status == 400 && taken.text.contains("Another recording"), "\(taken.text)")
            #expect(try await bench.call(.delete, "/v1/rooms/demo/recording?app=shop").status == 204)
            #expect(try await caller.post("recordings/\(id)/resume").status == 200)
        }
    }

    @Test func onlySoundIsRecorded() async throws {
        try await run { bench, caller in
            let (id, _, settings) = try await Self.record(bench, caller, #"{"audio_only":true}"#)
            #expect(settings.audioOnly == true && settings.singleFilePerLayer)
            #expect(try await caller.get("recordings/\(id)").isTrue("audio_only"))
            let room = try await bench.call(.get, "/v1/rooms/demo/recording?app=shop")
            #expect(try room.isTrue("settings.audioOnly"))
            let other = try await caller.post("recordings/room/demo/start")
            #expect(other.status == 400 && other.text.contains("without pictures"), "\(other.text)")
            let stream = try await caller.post(
                "external-streams/room/demo/start", #"{"rtmp_urls":["rtmp://127.0.0.1/cdn/a"],"recording":true}"#)
            #expect(stream.status == 400)
            let only = try await caller.post(
                "external-streams/room/demo/start", #"{"rtmp_urls":["rtmp://127.0.0.1/cdn/a"]}"#)
            #expect(only.status == 200, "\(only.text)")
            #expect(try await caller.post("recordings/room/demo/start", #"{"audio_only":true}"#).status == 200)
        }
    }

    /// Starts a live stream with prepared files, and lets it run.
    private static func stream(_ bench: Bench, _ caller: HMSCaller, _ body: String) async throws -> String {
        try KeptFiles.makeSession(bench.directory, app: "shop", isEnded: true)
        let started = try await caller.post("live-streams/room/demo/start", body)
        #expect(started.status == 200, "\(started.text)")
        let id = try #require(try started.value("id"))
        let early = try await caller.post("live-streams/\(id)/timed-metadata", Self.cue)
        #expect(early.status == 400 && early.text.contains("not running"), "\(early.text)")
        let relay = try await TaskRouteTests.relay(bench, of: "shop/auto-demo")
        relay.setHLS(
            HLSStatus(
                service: ServiceState(running: true), session: "1700000000000",
                variants: [HLSVariantStatus(name: "video")]))
        try await status(caller, "live-streams/\(id)", is: "running")
        return id
    }

    private static let cue = #"{"payload":"Hi, this is a test event","duration":5}"#
    private static let playlists = "/live/shop/demo/hls/1700000000000"

    @Test func textsReachThePlayers() async throws {
        try await run { bench, caller in
            let id = try await Self.stream(bench, caller, "{}")
            let before = try await bench.call(.get, "\(Self.playlists)/video.m3u8")
            let sent = try await caller.post("live-streams/\(id)/timed-metadata", Self.cue)
            #expect(try sent.status == 200 && sent.value("id") == id && sent.value("status") == "running")
            let media = try await bench.call(.get, "\(Self.playlists)/video.m3u8")
            let tag = try #require(media.text.firstMatch(of: /DURATION=5.000,X-100MSLIVE-PAYLOAD="([^"]+)"/))
            let document = Data(base64Encoded: String(tag.1)).map { String(decoding: $0, as: UTF8.self) }
            #expect(document?.contains("Hi, this is a test event") == true)
            #expect(media.headers[.eTag] != before.headers[.eTag], "players that ask for changes get it")
            #expect(try await !bench.call(.get, "/live/shop/demo/index.m3u8").text.contains("DATERANGE"))
            #expect(try await caller.post("live-streams/\(id)/timed-metadata", "{}").status == 400)
            #expect(try await HMSCaller.other(bench).post("live-streams/\(id)/timed-metadata", Self.cue).status == 404)
            #expect(try await caller.post("external-streams/\(id)/timed-metadata", Self.cue).status == 404)
            // Nothing is recorded, so that nothing can be paused.
            let pause = try await caller.post("live-streams/\(id)/pause-recording")
            #expect(pause.status == 400 && pause.text.contains("nothing is recorded"), "\(pause.text)")
        }
    }

    @Test func whatIsKeptOfALiveStreamHasNoPauses() async throws {
        try await run { bench, caller in
            let id = try await Self.stream(bench, caller, #"{"recording":{"hls_vod":true}}"#)
            let paused = try await caller.post("live-streams/\(id)/pause-recording", nil)
            #expect(try paused.status == 200 && paused.value("status") == "running", "\(paused.text)")
            let second = try await caller.post("live-streams/room/demo/start", #"{"recording":{"hls_vod":true}}"#)
            #expect(second.status == 400 && second.text.contains("is paused"), "\(second.text)")
            #expect(try await caller.post("live-streams/\(id)/resume-recording", nil).status == 200)
            // The prepared segments are older than the pause, so the pause is moved to them.
            let file = "\(bench.directory)/hls/shop/demo/1700000000000/marks.json"
            let marks = try String(contentsOfFile: file, encoding: .utf8)
            #expect(marks.contains("\"end\""))
            // 22:13:24 to 22:13:28 is the second segment.
            try #"{"ranges":[],"pauses":[{"start":1700000003000,"end":1700000005000}]}"#
                .write(toFile: file, atomically: true, encoding: .utf8)
            let live = try await bench.call(.get, "\(Self.playlists)/video.m3u8")
            #expect(live.text.contains("video-1.ts"))
            let kept = try await bench.call(.get, "\(Self.playlists)/video-vod.m3u8")
            #expect(!kept.text.contains("video-1.ts") && kept.text.contains("#EXT-X-DISCONTINUITY\n"), "\(kept.text)")
            let archive = try await bench.client.execute(uri: "/live/shop/demo/vod/1700000000000.zip", method: .get) {
                Array($0.body.readableBytesView)
            }
            let names = ["index.m3u8", "video-vod.m3u8", "video-0.ts", "video-1.ts", "video-2.ts"].filter {
                archive.firstRange(of: Array($0.utf8)) != nil
            }
            #expect(names == ["index.m3u8", "video-vod.m3u8", "video-0.ts", "video-2.ts"])
        }
    }
}
