import ChildProcesses
import Foundation
import Testing

@testable import MixOrchestrator

/// Where operators see why a page is not on air, with scripted workers.
@Suite(.timeLimit(.minutes(5)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageReasonTests {
    /// Runs a service with a task on air to which a page is added.
    private static func withPage(_ path: String, _ body: @escaping @Sendable (Bench) async throws -> Void) async throws
    {
        try await withDirectory { directory in
            let settings = try ScriptedPageWorker.settings(in: directory)
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                try await bench.publish("alice")
                _ = try await TaskRouteTests.relay(bench, of: "auto-demo")
                try await Self.open(path, bench)
                try await body(bench)
            }
        }
    }

    private static func open(_ path: String, _ bench: Bench) async throws {
        let page = #"{"type":"stream.published","user":"board","kind":"page","url":"http://127.0.0.1:8000/\#(path)"}"#
        let answer = try await bench.call(.post, "/v1/rooms/demo/events", page)
        #expect(answer.status == 202, "\(answer.text)")
    }

    private static func waitForEntry(_ words: String, _ bench: Bench) async throws {
        try await eventually("the timeline does not say: \(words)") {
            try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text.contains(words) ? true : nil
        }
    }

    /// Returns what the task says about the page as a source.
    private static func error(_ bench: Bench) async throws -> String? {
        let task = try await bench.call(.get, "/v1/tasks/auto-demo")
        for index in 0..<2 {
            guard try task.value("sources.\(index).id") == "board/camera" else { continue }
            return try task.value("sources.\(index).error")
        }
        return nil
    }

    @Test func aPageThatFails() async throws {
        try await Self.withPage("fails") { bench in
            let words = try await eventually("the source has no error") { try await Self.error(bench) }
            #expect(words.hasPrefix("no answer from") && !words.contains("S3CRET"), "\(words)")
            try await Self.waitForEntry("page board/camera fails: no answer from", bench)
            #expect(!(try await bench.call(.get, "/v1/tasks/auto-demo/timeline").text).contains("S3CRET"))
            // The reason is that of the page, not of the stream: another page in its place has none, even before there
            // is news of it.
            try await Self.open("waits", bench)
            try await eventually("the error is still there") { try await Self.error(bench) == nil ? true : nil }
        }
    }

    @Test func aPageThatEndsItself() async throws {
        try await Self.withPage("ends") { bench in
            try await Self.waitForEntry("stream.unpublished board/camera: the page has ended it", bench)
        }
    }

    @Test func aPageOnAirHasNoReason() async throws {
        try await Self.withPage("board") { bench in
            try await eventually("the page is not on air") {
                try await bench.call(.get, "/v1/rooms/demo").value("pages.0.state") == "on-air" ? true : nil
            }
            #expect(try await Self.error(bench) == nil)
        }
    }
}
