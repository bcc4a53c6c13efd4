import EncodedMedia
import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// A data directory of an earlier release that was killed on air, and the answers of that release just before.
///
/// `data.tar.gz` was made by the release build of 0088c6d with a real media server, two streams and two apps: a program that
/// was recorded and kept as HLS while it switched to a mix and back, an explicit task on air and one that had ended, a layout of
/// two versions, a subscription whose endpoint refuses. Its media files hold zeros, in their length. `answers.json` has the
/// answers by their path.
@Suite(.timeLimit(.minutes(2))) struct EarlierDataTests {
    private static let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "EarlierData")
    /// The time at which the earlier release was killed, in seconds since 1970. Retention is relative to it.
    private static let killedAt = 1_795_548_110.0

    /// Fields that hold a process's momentary state or a running counter.
    private static let momentary: Set<String> = [
        "appliedRevision", "revision", "bytesSent", "connectedSince", "droppedFrames", "programTime", "relayProcess",
        "mixerProcess", "load", "state", "onAir", "passthrough", "sources", "running", "task", "switches", "viewers",
        "mixMode", "attempts", "lastAttempt", "nextAttemptAt", "loudness", "lastError", "lastErrorCode", "reconnects",
    ]

    /// The content of panes whose streams stall: a card follows after `fallback.cardAfter`, where the earlier release
    /// kept the last picture.
    private static let changed: Set<String> = ["fallback"]

    private static let entriesOfEnded = 7

    private static func unpack(to directory: String) throws {
        let archive = Process()
        archive.executableURL = URL(filePath: "/usr/bin/env")
        archive.arguments = ["tar", "-xzf", Self.directory.appending(path: "data.tar.gz").path, "-C", directory]
        try archive.run()
        archive.waitUntilExit()
        try #require(archive.terminationStatus == 0)
    }

    private static func store(_ directory: String) throws -> SQLiteTaskStore {
        let start = MonotonicClock.now()
        let clock = StoreClock { killedAt + Double(MonotonicClock.now() - start) / 1e9 }
        return try SQLiteTaskStore(path: directory + "/orchestrator.sqlite", clock: clock)
    }

    @Test func itsAnswersAreTheSame() async throws {
        let document = try Data(contentsOf: Self.directory.appending(path: "answers.json"))
        try await withDirectory { directory in
            try Self.unpack(to: directory)
            let store = try Self.store(directory)
            // The service forgets it an hour after its end.
            #expect(try await store.task("ended")?.document.isFinished == true)
            #expect(try await store.switches(of: "ended", limit: 9).map(\.to) == [.bypass])
            #expect(try await store.timeline(of: "ended", limit: 99).count == Self.entriesOfEnded)
            let settings = ["apps.0.id": ["shop"], "rooms.outputs": [], "hls.retentionHours": ["0"]]
            try await withOrchestrator(directory: directory, store: store, settings: settings) { bench in
                let running: Set = ["auto-demo", "auto-sale", "extra"]
                try await eventually { Set(bench.relays.running.map(\.task.name)) == running ? true : nil }
                let answers = try #require(try JSONSerialization.jsonObject(with: document) as? [String: Any])
                #expect(answers.count == 25)
                for (path, earlier) in answers.sorted(by: { $0.key < $1.key }) where !path.hasPrefix("/v1/tasks/ended")
                {
                    let answer = try await bench.call(.get, path)
                    #expect(answer.status == 200, "\(path): \(answer.text)")
                    if let text = earlier as? String {
                        #expect(answer.text == text, "\(path)")
                    } else {
                        let now = try JSONSerialization.jsonObject(with: Data(answer.text.utf8))
                        #expect(Self.differences(earlier, now, at: path) == [], "\(path)")
                    }
                }
            }
        }
    }

    /// Lists the values of the earlier answer that are missing or different now. Additional fields and entries are no
    /// difference.
    private static func differences(_ earlier: Any, _ now: Any, at path: String) -> [String] {
        switch (earlier, now) {
        case (let earlier as [String: Any], let now as [String: Any]):
            return earlier.sorted { $0.key < $1.key }.flatMap { key, value -> [String] in
                if momentary.contains(key), !path.hasSuffix("/switches"), !path.contains("/recordings") { return [] }
                if changed.contains(key) { return [] }
                guard let other = now[key] else { return ["\(path).\(key) is missing"] }
                return differences(value, other, at: "\(path).\(key)")
            }
        case (let earlier as [Any], let now as [Any]):
            // Entries with names are matched by name, since entries made at the start may precede them.
            return earlier.filter { name($0) != "ended" }.enumerated().flatMap { index, value -> [String] in
                let other = name(value).map { name in now.first { Self.name($0) == name } } ?? now[safe: index]
                guard let other else { return ["\(path)[\(name(value) ?? "\(index)")] is missing"] }
                return differences(value, other, at: "\(path)[\(index)]")
            }
        default:
            return (earlier as? NSObject)?.isEqual(now) == true ? [] : ["\(path) was \(earlier), is \(now)"]
        }
    }

    private static func name(_ value: Any) -> String? {
        guard let value = value as? [String: Any] else { return value as? String }
        return ["id", "file", "number", "version", "user", "stream", "at"].lazy.compactMap { value[$0] }.first
            .map { "\($0)" }
    }
}

extension Array {
    fileprivate subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
