import ChildProcesses
import Foundation
import MixModel
import Testing

@testable import MixOrchestrator

/// 100ms' calls with a page, as its guide describes them: streaming, recording, or both, started and stopped one by
/// one. Workers and relays are scripted.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PagePrograms.missing.isEmpty)) struct HMSPageTests {
    private func run(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (Bench, HMSCaller) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let settings = try ScriptedPageWorker.settings(in: directory).merging(HMSCaller.settings) { $1 }
                .merging(settings) { $1 }
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await body(bench, HMSCaller(bench: bench))
            }
        }
    }

    private static let page = #""meeting_url":"http://127.0.0.1:8000/meeting""#
    private static let urls = #""rtmp_urls":["rtmp://127.0.0.1/cdn/a"]"#

    private static func pages(_ bench: Bench) async throws -> Int {
        let room = try await bench.call(.get, "/v1/rooms/demo?app=shop")
        var count = 0
        while try room.value("pages.\(count).user") != nil { count += 1 }
        return count
    }

    private static func wait(_ bench: Bench, outputs: Int, recordings: Int, pages: Int) async throws {
        try await eventually("\(outputs) outputs, \(recordings) recordings, \(pages) pages") {
            let relay = bench.relays.running.last { $0.task == "shop/auto-demo" }
            let planned = relay?.plan?.outputs
            if let recording = planned?.recordings.first {
                relay?.setRecordings([RecordingStatus(id: recording.id, state: .recording)])
            }
            let found = (planned?.destinations.count ?? 0, planned?.recordings.count ?? 0, try await Self.pages(bench))
            return found == (outputs, recordings, pages) ? true : nil
        }
    }

    @Test(arguments: [
        ("external-streams", urls, 1, 0), ("external-streams", #""recording":true"#, 0, 1),
        ("external-streams", urls + #","recording":true"#, 1, 1), ("recordings", #""audio_only":false"#, 0, 1),
    ]) func bothOrEither(family: String, what: String, outputs: Int, recordings: Int) async throws {
        try await run { bench, caller in
            let started = try await caller.post("\(family)/room/demo/start", "{\(Self.page),\(what)}")
            #expect(started.status == 200, "\(started.text)")
            try await Self.wait(bench, outputs: outputs, recordings: recordings, pages: 1)
            let path = "\(family)/\(try started.value("id") ?? "")"
            try await eventually { try await caller.get(path).value("status") == "running" ? true : nil }
            #expect(try await caller.post("\(path)/stop").value("status") == "stopping")
            try await eventually("the page stays") { try await Self.pages(bench) == 0 ? true : nil }
        }
    }

    /// A stream or recording may start while the other runs, and stop alone; 100ms refuses this, and so does the
    /// service if configured.
    @Test func oneIsStartedWhileTheOtherRuns() async throws {
        try await run { bench, caller in
            let stream = try await caller.post("external-streams/room/demo/start", "{\(Self.page),\(Self.urls)}")
            let recording = try await caller.post("recordings/room/demo/start", "{\(Self.page)}")
            #expect(stream.status == 200 && recording.status == 200, "\(recording.text)")
            try await Self.wait(bench, outputs: 1, recordings: 1, pages: 1)
            try await eventually("they do not share the page") {
                ScriptedPageWorker.openers(in: bench.directory).count == 1 ? true : nil
            }
            #expect(try await caller.post("external-streams/\(try stream.value("id") ?? "")/stop").status == 200)
            try await Self.wait(bench, outputs: 0, recordings: 1, pages: 1)
            // The same again, with the other one stopped.
            let again = try await caller.post("external-streams/room/demo/start", "{\(Self.page),\(Self.urls)}")
            #expect(again.status == 200, "\(again.text)")
            #expect(try await caller.post("recordings/room/demo/stop").value("data.0.status") == "stopping")
            try await Self.wait(bench, outputs: 1, recordings: 0, pages: 1)
            #expect(ScriptedPageWorker.openers(in: bench.directory).count == 1)
            #expect(try await caller.post("external-streams/room/demo/stop").status == 200)
            try await eventually("the page stays") { try await Self.pages(bench) == 0 ? true : nil }
        }
    }

    /// A page keeps its size, whatever size a later session names.
    @Test func aSharedPageHasTheSizeInWhichItWasOpened() async throws {
        try await run { bench, caller in
            let small = Self.page + #","resolution":{"width":854,"height":480}"#
            let large = Self.page + #","resolution":{"width":1280,"height":720}"#
            #expect(try await caller.post("external-streams/room/demo/start", "{\(small),\(Self.urls)}").status == 200)
            for fields in [large, Self.page] {
                let recording = try await caller.post("recordings/room/demo/start", "{\(fields)}")
                #expect(try recording.value("resolution.width") == "854", "\(recording.text)")
                #expect(try recording.value("resolution.height") == "480")
            }
        }
    }

    /// A second page in a room is refused with a message that says so.
    @Test func anotherPageIsRefused() async throws {
        try await run { bench, caller in
            let first = try await caller.post("external-streams/room/demo/start", "{\(Self.page),\(Self.urls)}")
            let other = #"{"meeting_url":"http://127.0.0.1:8000/other"}"#
            for family in ["recordings", "live-streams"] {
                let answer = try await caller.post("\(family)/room/demo/start", other)
                #expect(try answer.status == 400 && answer.text.contains(first.value("id") ?? "?"), "\(answer.text)")
                #expect(try answer.value("message") == "meeting_url is not the page that the room shows")
            }
            #expect(try await caller.post("external-streams/room/demo/stop").status == 200)
            #expect(try await caller.post("recordings/room/demo/start", other).status == 200)
        }
    }

    @Test func strictnessRefusesASecondOne() async throws {
        try await run(["hundredms.strict": ["true"]]) { bench, caller in
            #expect(try await bench.call(.put, "/v1/rooms/demo?app=shop", "{}").status == 201)
            let stream = try await caller.post("external-streams/room/demo/start", "{\(Self.page),\(Self.urls)}")
            #expect(stream.status == 200, "\(stream.text)")
            let recording = try await caller.post("recordings/room/demo/start", "{\(Self.page)}")
            #expect(try recording.status == 400 && recording.value("message")?.hasPrefix("Beam has already") == true)
            // 100ms uses a separate browser for HLS.
            #expect(try await caller.post("live-streams/room/demo/start", "{\(Self.page)}").status == 200)
        }
    }

    /// The page belongs to the session, and the next run finds it again.
    @Test func aRestartChangesNothing() async throws {
        try await withDirectory { directory in
            let settings = try ScriptedPageWorker.settings(in: directory).merging(HMSCaller.settings) { $1 }
                .merging(["relay.keep": ["true"]]) { $1 }
            let id = LockedBox("")
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            try await withOrchestrator(directory: directory, relays: relays, settings: settings) { bench in
                let caller = HMSCaller(bench: bench)
                let stream = try await caller.post("external-streams/room/demo/start", "{\(Self.page),\(Self.urls)}")
                id.value = try stream.value("id") ?? ""
                try await Self.wait(bench, outputs: 1, recordings: 0, pages: 1)
            }
            try await withOrchestrator(directory: directory, relays: relays, settings: settings) { bench in
                let caller = HMSCaller(bench: bench)
                try await Self.wait(bench, outputs: 1, recordings: 0, pages: 1)
                let path = "external-streams/\(id.value)"
                try await eventually { try await caller.get(path).value("status") == "running" ? true : nil }
                #expect(ScriptedPageWorker.openers(in: directory).count == 1)
                #expect(try await caller.post("\(path)/stop").status == 200)
                try await eventually("the page stays") { try await Self.pages(bench) == 0 ? true : nil }
            }
        }
    }
}
