import ChildProcesses
import Foundation
import HTTPTypes
import Testing

@testable import MixOrchestrator

/// Pages of a service, with scripted workers: the next run finds them again, and they end with their streams.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageServiceTests {
    private static let page =
        #"{"type":"stream.published","user":"board","kind":"page","url":"http://127.0.0.1:8000/"}"#

    private static func settings(
        _ directory: String, _ changes: [String: [String]] = [:]
    ) throws -> [String: [String]] {
        try ScriptedPageWorker.settings(in: directory).merging(changes) { $1 }
    }

    private static func open(_ bench: Bench, app: String? = nil) async throws {
        let query = app.map { "?app=\($0)" } ?? ""
        let answer = try await bench.call(.post, "/v1/rooms/demo/events\(query)", page)
        #expect(answer.status == 202, "\(answer.text)")
        try await waitForAir(bench, query)
    }

    private static func waitForAir(_ bench: Bench, _ query: String = "") async throws {
        try await eventually("the page is not on air") {
            let room = try await bench.call(.get, "/v1/rooms/demo\(query)")
            return try room.value("pages.0.state") == "on-air" ? true : nil
        }
    }

    /// Waits until there is no page, no process of it, and no record that would open a page in the next run.
    private static func waitForEnd(_ bench: Bench, _ process: Int32, _ query: String = "") async throws {
        try await eventually("the page is still there") {
            let room = try await bench.call(.get, "/v1/rooms/demo\(query)")
            return try room.value("pages.0.user") == nil && isGone(process) ? true : nil
        }
        try await eventually("files of the page are left") { files(bench.directory).isEmpty ? true : nil }
    }

    private static func isGone(_ process: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return status.isEmpty || status.contains(") Z ")
    }

    private static func files(_ directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory + "/pages")) ?? []
        return names.filter { $0 != "pages.log" }
    }

    private static let keep = ["relay.keep": ["true"]]

    @Test func theNextRunFindsAPageThatGoesOn() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory, Self.keep)
            try await withOrchestrator(directory: directory, settings: settings) { try await Self.open($0) }
            let worker = try #require(ScriptedPageWorker.openers(in: directory).first)
            #expect(!Self.isGone(worker))
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await Self.waitForAir(bench)
                #expect(ScriptedPageWorker.openers(in: directory) == [worker], "it is the same one")
                try await bench.unpublish("board")
                try await Self.waitForEnd(bench, worker)
            }
        }
    }

    @Test func theNextRunOpensAPageWhoseWorkerIsGone() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory, Self.keep)
            try await withOrchestrator(directory: directory, settings: settings) { try await Self.open($0) }
            let lost = try #require(ScriptedPageWorker.openers(in: directory).first)
            kill(lost, SIGKILL)
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await Self.waitForAir(bench)
                let workers = ScriptedPageWorker.openers(in: directory)
                #expect(workers.count == 2 && workers.last != lost)
                try await bench.unpublish("board")
                try await Self.waitForEnd(bench, try #require(workers.last))
            }
        }
    }

    /// Without `relay.keep` a shutdown ends the workers. Their pages are opened again.
    @Test func pagesComeBackAfterAShutdown() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory)
            try await withOrchestrator(directory: directory, settings: settings) { try await Self.open($0) }
            let first = try #require(ScriptedPageWorker.openers(in: directory).first)
            try await eventually("the worker does not end") { Self.isGone(first) ? true : nil }
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await Self.waitForAir(bench)
                #expect(ScriptedPageWorker.openers(in: directory).count == 2)
            }
        }
    }

    /// A service without pages forgets the pages of an earlier run.
    @Test func aServiceWithoutPagesForgetsThem() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory, Self.keep)
            try await withOrchestrator(directory: directory, settings: settings) { try await Self.open($0) }
            let worker = try #require(ScriptedPageWorker.openers(in: directory).first)
            defer { kill(worker, SIGKILL) }
            try await withOrchestrator(
                directory: directory, settings: settings.merging(["pages.enabled": ["false"]]) { $1 }
            ) { bench in
                try await eventually { Self.files(directory).isEmpty ? true : nil }
                let room = try await bench.call(.get, "/v1/rooms/demo")
                #expect(try room.value("pages.0.user") == nil)
            }
        }
    }

    /// A way to end a page's stream, or to put another stream in its place.
    enum Way: String, CaseIterable {
        case event, left, closed, deleted, snapshot, replaced, hook, terminals, endRoom
    }

    private static let secret = "S3CR3T-hook-0123456789"

    @Test(arguments: Way.allCases) func aPageEndsWithItsStream(_ way: Way) async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(
                directory,
                HMSCaller.settings.merging([
                    "hooks.nginx-rtmp.secret": [Self.secret], "hooks.nginx-rtmp.allow": ["*"],
                    "hooks.nginx-rtmp.app": ["shop"], "hooks.nginx-rtmp.url": ["rtmp://127.0.0.1:1935/{app}/{name}"],
                ]) { $1 })
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await Self.open(bench, app: "shop")
                let worker = try #require(ScriptedPageWorker.openers(in: directory).first)
                let answer = try await Self.go(way, bench)
                #expect((200..<300).contains(answer.status), "\(answer.text)")
                try await Self.waitForEnd(bench, worker, "?app=shop")
            }
        }
    }

    private static func go(_ way: Way, _ bench: Bench) async throws -> Answer {
        let events = "/v1/rooms/demo/events?app=shop"
        switch way {
        case .event: return try await bench.call(.post, events, #"{"type":"stream.unpublished","user":"board"}"#)
        case .left: return try await bench.call(.post, events, #"{"type":"participant.left","user":"board"}"#)
        case .closed: return try await bench.call(.post, events, #"{"type":"room.closed"}"#)
        case .deleted:
            let settings = try await bench.call(.put, "/v1/rooms/demo?app=shop", "{}")
            #expect((200..<300).contains(settings.status), "\(settings.text)")
            return try await bench.call(.delete, "/v1/rooms/demo?app=shop")
        case .snapshot: return try await bench.call(.put, "/v1/rooms/demo/streams?app=shop", #"{"streams":[]}"#)
        case .replaced:
            return try await bench.call(
                .post, events, #"{"type":"stream.published","user":"board","url":"rtmp://127.0.0.1/live/board"}"#)
        case .hook:
            return try await bench.call(
                .post, "/v1/hooks/nginx-rtmp?token=\(secret)",
                "app=live&flashver=&swfurl=&tcurl=&pageurl=&addr=10.0.0.1&clientid=7&call=publish&name=demo__board",
                headers: [.contentType: "application/x-www-form-urlencoded"])
        case .terminals:
            return try await WireCaller(bench: bench).call(
                "RemoveTerminals", ["ChannelId": "demo", "TerminalIds.1": "board"])
        case .endRoom: return try await HMSCaller(bench: bench).post("active-rooms/demo/end-room")
        }
    }

    /// A page that is published again at once stays.
    @Test func pagesThatComeAndGoEndAsTheRoomSays() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: try Self.settings(directory)) { bench in
                for _ in 0..<10 {
                    try await bench.unpublish("board")
                    #expect(try await bench.call(.post, "/v1/rooms/demo/events", Self.page).status == 202)
                }
                try await Self.waitForAir(bench)
                try await Task.sleep(for: .milliseconds(300))
                try await Self.waitForAir(bench)
                // Pages that were told to end may take a moment.
                let open = try await eventually("several pages stay") {
                    let open = ScriptedPageWorker.openers(in: directory).filter { !Self.isGone($0) }
                    return open.count == 1 ? open : nil
                }
                try await bench.unpublish("board")
                try await Self.waitForEnd(bench, try #require(open.last))
            }
        }
    }

    @Test func aListOfPagesThatDoNotFitIsRefused() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory, ["admission.cores": ["1"], "pages.cores": ["0.5"]])
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                let pages = ["a", "b"].map { #"{"user":"\#($0)","kind":"page","url":"http://127.0.0.1:8000/"}"# }
                let list = #"{"streams":[\#(pages.joined(separator: ","))]}"#
                let answer = try await bench.call(.put, "/v1/rooms/demo/streams", list)
                #expect(answer.status == 503 && answer.text.contains("pages.cores"), "\(answer.text)")
                #expect(ScriptedPageWorker.openers(in: directory).isEmpty)
                try await Self.open(bench)
            }
        }
    }

    /// A list that repeats a page need not know the token with which it was opened.
    @Test func aPageThatIsRepeatedWithoutItsTokenStays() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: try Self.settings(directory)) { bench in
                let first = Self.page.replacing("}", with: #","token":"t"}"#)
                #expect(try await bench.call(.post, "/v1/rooms/demo/events", first).status == 202)
                try await Self.waitForAir(bench)
                let worker = try #require(ScriptedPageWorker.openers(in: directory).first)
                let list = #"{"streams":[{"user":"board","kind":"page","url":"http://127.0.0.1:8000/"}]}"#
                let answer = try await bench.call(.put, "/v1/rooms/demo/streams", list)
                #expect(answer.status < 300, "\(answer.text)")
                try await Self.waitForAir(bench)
                #expect(ScriptedPageWorker.openers(in: directory) == [worker])
                try await bench.unpublish("board")
                try await Self.waitForEnd(bench, worker)
            }
        }
    }

    /// Workers receive the settings of their pages. A change of the browser's share of the machine does not interrupt a
    /// page on air.
    @Test func settingsReachPages() async throws {
        try await withDirectory { directory in
            let own = ["pages.cpu": ["3"], "pages.niceness": ["7"], "pages.requests": ["allowed"]]
            let settings = try Self.settings(directory, own.merging(Self.keep) { $1 })
            try await withOrchestrator(directory: directory, settings: settings) { try await Self.open($0) }
            let worker = try #require(ScriptedPageWorker.openers(in: directory).first)
            let job = ScriptedPageWorker.told(in: directory).first { $0.command.contains("\"publish\"") }?.command ?? ""
            #expect(job.contains("\"processors\":3") && job.contains("\"niceness\":7"), "\(job)")
            #expect(job.contains("\"hosts\":{\"entries\":[{"), "\(job)")
            let changed = settings.merging(["pages.cpu": ["1"]]) { $1 }
            try await withOrchestrator(directory: directory, settings: changed) { bench in
                try await Self.waitForAir(bench)
                #expect(try await bench.call(.post, "/v1/rooms/demo/events", Self.page).status < 300)
                try await bench.unpublish("board")
                try await Self.waitForEnd(bench, worker)
                #expect(ScriptedPageWorker.openers(in: directory) == [worker])
            }
        }
    }

    // MARK: - Prepared browsers

    /// Waits until this number of browsers is prepared for pages.
    private static func waitForBrowsers(_ count: Int, _ bench: Bench) async throws {
        try await eventually("\(count) browsers do not wait") {
            bench.log.text.components(separatedBy: "a browser waits for a page").count > count ? true : nil
        }
        #expect(ScriptedPageWorker.prepared(in: bench.directory).count == count)
    }

    @Test func aBrowserThatWaitsTakesThePage() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory, ["pages.warm": ["2"]].merging(Self.keep) { $1 })
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await Self.waitForBrowsers(2, bench)
                try await Self.open(bench)
                let first = try #require(ScriptedPageWorker.openers(in: directory).first)
                #expect(ScriptedPageWorker.prepared(in: directory).contains(first))
                // A page of another size starts its own browser.
                let small = Self.page.replacing("}", with: #","width":320,"height":240}"#)
                    .replacing("board", with: "small")
                #expect(try await bench.call(.post, "/v1/rooms/demo/events", small).status == 202)
                try await eventually { ScriptedPageWorker.openers(in: directory).count == 2 ? true : nil }
                let second = try #require(ScriptedPageWorker.openers(in: directory).last)
                #expect(!ScriptedPageWorker.prepared(in: directory).contains(second))
                // Another browser is prepared in its place.
                try await eventually { ScriptedPageWorker.prepared(in: directory).count == 3 ? true : nil }
                #expect(Set(ScriptedPageWorker.prepared(in: directory)).count == 3, "none is used twice")
                try await bench.unpublish("board")
                try await eventually("the worker stays") { Self.isGone(first) ? true : nil }
                try await bench.unpublish("small")
                try await eventually("the second worker stays") { Self.isGone(second) ? true : nil }
            }
            // Prepared browsers end with the service, even if pages continue.
            for worker in ScriptedPageWorker.prepared(in: directory) {
                try await eventually("a browser still waits") { Self.isGone(worker) ? true : nil }
            }
        }
    }

    /// A worker that took over a page is like any other: the next run finds it.
    @Test func theNextRunFindsAPageOfABrowserThatWaited() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory, ["pages.warm": ["1"]].merging(Self.keep) { $1 })
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await Self.waitForBrowsers(1, bench)
                try await Self.open(bench)
            }
            let worker = try #require(ScriptedPageWorker.openers(in: directory).first)
            #expect(ScriptedPageWorker.prepared(in: directory).first == worker && !Self.isGone(worker))
            try await withOrchestrator(directory: directory, settings: try Self.settings(directory, Self.keep)) {
                bench in
                try await Self.waitForAir(bench)
                #expect(ScriptedPageWorker.openers(in: directory) == [worker])
                try await bench.unpublish("board")
                try await Self.waitForEnd(bench, worker)
            }
        }
    }

    /// A browser ends if the event of its page is refused.
    @Test func aBrowserThatWasTakenInVainEnds() async throws {
        try await withDirectory { directory in
            let settings = try Self.settings(directory, ["pages.warm": ["1"]])
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await Self.waitForBrowsers(1, bench)
                // This event is older than the last one of the stream.
                let newer = #"{"type":"stream.published","user":"board","url":"rtmp://127.0.0.1/live/b","sequence":5}"#
                #expect(try await bench.call(.post, "/v1/rooms/demo/events", newer).status == 202)
                let stale = Self.page.replacing("}", with: #","sequence":4}"#)
                let answer = try await bench.call(.post, "/v1/rooms/demo/events", stale)
                #expect(answer.status < 300, "\(answer.text)")
                let waited = try #require(ScriptedPageWorker.prepared(in: directory).first)
                try await eventually("it waits for a page that does not come") { Self.isGone(waited) ? true : nil }
                #expect(ScriptedPageWorker.openers(in: directory).isEmpty)
            }
        }
    }
}
