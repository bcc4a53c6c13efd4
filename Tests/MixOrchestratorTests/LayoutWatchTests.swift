import Foundation
import Synchronization
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// A watch over real files in real directories, which change as editors and operators change them.
@Suite(.timeLimit(.minutes(2))) struct LayoutWatchTests {
    /// Collects the findings of a watch.
    private struct Bench: Sendable {
        let directory: String
        let seen = Seen()

        final class Seen: Sendable {
            let readings = Mutex<[(name: String, reading: LayoutReading)]>([])
            let others = Mutex<[String]>([])
            let notes = Mutex<[String]>([])
        }

        func path(_ name: String) -> String { "\(directory)/\(name)" }
        func write(_ text: String, _ name: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
        }

        /// Returns the findings for this layout in order, as one word each.
        func history(_ name: String) -> [String] {
            seen.readings.withLock { $0.filter { $0.name == name }.map { Self.word($0.reading) } }
        }

        static func word(_ reading: LayoutReading) -> String {
            switch reading {
            case .good(let template, _): template.summary ?? ""
            case .bad: "bad"
            case .gone: "gone"
            }
        }

        func waitFor(_ name: String, _ word: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            try await eventually("\(name) was never \(word)", sourceLocation: sourceLocation) {
                history(name).last == word ? true : nil
            }
        }
    }

    private static func layout(_ summary: String) -> String {
        #"{"description":"\#(summary)","arrangements":[{"algorithm":"grid"}]}"#
    }

    private func withWatch(
        pollsOnly: Bool = false, makesDirectory: Bool = true, _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await withDirectory { root in
            let bench = Bench(directory: root + "/layouts")
            if makesDirectory {
                try FileManager.default.createDirectory(atPath: bench.directory, withIntermediateDirectories: false)
            }
            let watch = try LayoutWatch(files: LayoutFiles(directory: bench.directory), pollsOnly: pollsOnly)
            watch.start()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in watch.signals {
                        let findings = watch.take()
                        bench.seen.readings.withLock { $0 += findings.layouts.map { ($0.key, $0.value.reading) } }
                        bench.seen.others.withLock { $0 += findings.others.sorted() }
                        bench.seen.notes.withLock { $0 += findings.notes }
                    }
                }
                group.addTask {
                    defer { watch.stop() }
                    try await body(bench)
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: [false, true]) func savedFilesAreReadWhole(pollsOnly: Bool) async throws {
        try await withWatch(pollsOnly: pollsOnly) { bench in
            try bench.write(Self.layout("one"), "a.json")
            try await bench.waitFor("a", "one")
            // Most editors, and `Data.write(.atomic)`, rename a new file over the old one.
            try Data(Self.layout("two").utf8).write(to: URL(fileURLWithPath: bench.path("a.json")), options: .atomic)
            try await bench.waitFor("a", "two")
            // vim renames the old file to its backup and then writes a new one.
            let start = ContinuousClock.now
            #expect(rename(bench.path("a.json"), bench.path("a.json~")) == 0)
            try bench.write(Self.layout("three"), "a.json")
            let isBrief = ContinuousClock.now - start < .milliseconds(100)
            try await bench.waitFor("a", "three")
            try bench.write("{", "a.json")
            try await bench.waitFor("a", "bad")
            #expect(unlink(bench.path("a.json")) == 0)
            try await bench.waitFor("a", "gone")
            try bench.write(Self.layout("four"), "a.json")
            try await bench.waitFor("a", "four")
            let history = bench.history("a")
            let expected = ["one", "two", "three", "bad", "gone", "four"]
            // A file that stays away is removed.
            func rest(_ words: [String]) -> [String] { words.filter { $0 != "gone" } }
            #expect(history == expected || !isBrief && rest(history) == rest(expected), "\(history)")
        }
    }

    /// A file that is written slowly is not read before its writer has closed it.
    @Test func aFileIsNotReadBeforeItsWriterClosedIt() async throws {
        try await withWatch { bench in
            try bench.write(Self.layout("one"), "a.json")
            try await bench.waitFor("a", "one")
            let text = Self.layout("two")
            let descriptor = open(bench.path("a.json"), O_WRONLY | O_TRUNC | O_CLOEXEC)
            #expect(descriptor >= 0)
            for half in [text.prefix(20), text.dropFirst(20)] {
                #expect(Foundation.write(descriptor, String(half), half.utf8.count) == half.utf8.count)
                // This pause is long enough for a reader that does not wait; other files are read meanwhile.
                let other = UUID().uuidString
                try bench.write(Self.layout(other), "b.json")
                try await bench.waitFor("b", other)
                #expect(bench.history("a") == ["one"])
            }
            close(descriptor)
            try await bench.waitFor("a", "two")
            #expect(bench.history("a") == ["one", "two"])
        }
    }

    @Test func linksAreFollowed() async throws {
        try await withWatch { bench in
            let target = bench.directory + "-real.json"
            defer { unlink(target) }
            try Data(Self.layout("linked").utf8).write(to: URL(fileURLWithPath: target))
            #expect(symlink(target, bench.path("soft.json")) == 0)
            try await bench.waitFor("soft", "linked")
            #expect(link(target, bench.path("hard.json")) == 0)
            try await bench.waitFor("hard", "linked")
        }
    }

    /// Configuration maps are mounted in this way: every file is a link through `..data`, which is switched in one
    /// step.
    @Test func switchingALinkThatAllGoThroughIsNoticed() async throws {
        try await withWatch { bench in
            for (folder, text) in [("..1", "one"), ("..2", "two")] {
                try FileManager.default.createDirectory(
                    atPath: bench.path(folder), withIntermediateDirectories: false)
                try bench.write(Self.layout(text), folder + "/a.json")
            }
            #expect(symlink("..1", bench.path("..data")) == 0)
            #expect(symlink("..data/a.json", bench.path("a.json")) == 0)
            try await bench.waitFor("a", "one")
            #expect(symlink("..2", bench.path("..next")) == 0)
            #expect(rename(bench.path("..next"), bench.path("..data")) == 0)
            try await bench.waitFor("a", "two")
        }
    }

    @Test(arguments: [false, true]) func theDirectoryMayComeAndGo(pollsOnly: Bool) async throws {
        try await withWatch(pollsOnly: pollsOnly, makesDirectory: false) { bench in
            let files = FileManager.default
            for text in ["one", "two"] {
                try files.createDirectory(atPath: bench.directory, withIntermediateDirectories: false)
                try bench.write(Self.layout(text), "a.json")
                try await bench.waitFor("a", text)
                try files.removeItem(atPath: bench.directory)
                try await bench.waitFor("a", "gone")
            }
            // Another directory is moved to its place.
            try files.createDirectory(atPath: bench.directory + ".new", withIntermediateDirectories: false)
            try Data(Self.layout("three").utf8).write(to: URL(fileURLWithPath: bench.directory + ".new/a.json"))
            #expect(rename(bench.directory + ".new", bench.directory) == 0)
            try await bench.waitFor("a", "three")
            try bench.write(Self.layout("four"), "a.json")
            try await bench.waitFor("a", "four")
        }
    }

    @Test func whatIsNoLayoutIsNamedOnceOrLeftAlone() async throws {
        try await withWatch { bench in
            try bench.write(Self.layout("no"), "two words.json")
            try bench.write(Self.layout("no"), "auto.json")
            try bench.write("{}", "layout.schema.json")
            try bench.write(Self.layout("no"), ".hidden.json")
            #expect(mkfifo(bench.path("pipe.json"), 0o600) == 0)
            try bench.write(String(repeating: " ", count: LayoutFiles.longestFile + 1), "long.json")
            try bench.write(Self.layout("yes"), "a.json")
            try await bench.waitFor("a", "yes")
            try await bench.waitFor("long", "bad")
            try await eventually { bench.seen.notes.withLock { $0.count } == 2 ? true : nil }
            #expect(bench.seen.notes.withLock { $0.allSatisfy { $0.contains(".json is not used: ") } })
            for name in ["auto", "layout.schema", ".hidden", "two words"] { #expect(bench.history(name).isEmpty) }
        }
    }

    @Test(arguments: [false, true]) func changedImagesAreNamed(pollsOnly: Bool) async throws {
        try await withWatch(pollsOnly: pollsOnly) { bench in
            try bench.write(Self.layout("yes"), "a.json")
            try await bench.waitFor("a", "yes")
            try bench.write("png", "logo.png")
            try await eventually { bench.seen.others.withLock { $0.contains("logo.png") } ? true : nil }
            try FileManager.default.createDirectory(
                atPath: bench.path("images"), withIntermediateDirectories: false)
            try await eventually {
                try bench.write("png", "images/back.png")
                return bench.seen.others.withLock { $0.contains("images/back.png") } ? true : nil
            }
        }
    }

    /// No change is missed when there are more events than the kernel queues.
    @Test func anOverflowingQueueIsMadeGoodByReadingAll() async throws {
        let text = try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        let limit = text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 16_384
        try await withDirectory { directory in
            let events = try DirectoryEvents()
            _ = try events.watch(directory, for: UInt32(IN_CREATE | IN_DELETE))
            for number in 0...(limit / 2) {
                let path = "\(directory)/\(number % 2)"
                close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
                unlink(path)
            }
            let taken = events.take()
            #expect(taken.last?.has(UInt32(IN_Q_OVERFLOW)) == true)
            #expect(taken.last?.watch == -1)
        }
    }
}
