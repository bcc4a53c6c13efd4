import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import MixModel
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Archives of long sessions: laid out once, without delaying other requests.
@Suite(.timeLimit(.minutes(5))) struct HLSArchivesTests {
    /// Two days of segments of two seconds.
    private static let many = 86_000

    @Test func aLongSessionIsLaidOutOnceAndSegmentsGoOn() async throws {
        try await withDirectory { directory in
            // More archives than a small machine has threads, and no more than are kept.
            let rooms = (0..<3).map { "long\($0)" }
            for room in rooms { try Self.makeSession(directory, room, segments: Self.many) }
            try KeptFiles.makeSession(directory)
            try await withOrchestrator(directory: directory) { bench in
                func head(_ room: String) async throws -> Duration {
                    let start = ContinuousClock.now
                    let answer = try await bench.call(.head, "/live/\(room)/vod/1700000000000.zip")
                    #expect(answer.status == 200, "\(answer.text)")
                    return ContinuousClock.now - start
                }
                let laidOut = LockedBox(0)
                let first = try await withThrowingTaskGroup(of: Duration.self) { group in
                    for room in rooms {
                        group.addTask {
                            let time = try await head(room)
                            laidOut.update { $0 += 1 }
                            return time
                        }
                    }
                    try await Task.sleep(for: .milliseconds(20))
                    var served = 0
                    for _ in 0..<10 {
                        let answer = try await bench.call(.get, "/live/demo/hls/1700000000000/video.m3u8")
                        #expect(answer.status == 200)
                        if laidOut.value < rooms.count { served += 1 }
                    }
                    #expect(served > 0, "playlists waited for all archives")
                    return try await group.reduce(Duration.zero) { max($0, $1) }
                }
                // The fastest of several requests: one may have to wait for the machine.
                var again: [Duration] = []
                for _ in 0..<5 { again.append(try await head(rooms[0])) }
                let quickest = again.min() ?? .zero
                print("\(Self.many) segments: laid out in \(first), again in \(quickest)")
                #expect(quickest < first / 20)
                // A part from the middle of the archive.
                let part = try await bench.call(
                    .get, "/live/long0/vod/1700000000000.zip", headers: [.range: "bytes=0-3"])
                #expect(part.status == 206 && part.text.hasPrefix("PK"))
            }
        }
    }

    @Test func whatIsMadeAtOnceIsBounded() async throws {
        try await withDirectory { directory in
            let rooms = (0..<3 * HLSArchives.mostWaiting).map { "r\($0)" }
            for room in rooms { try Self.makeSession(directory, room, segments: 10_000) }
            let archives = HLSArchives()
            let files = HLSFiles(directory: "\(directory)/hls")
            let refusals = await withTaskGroup(of: OrchestratorError?.self) { group in
                for room in rooms {
                    group.addTask {
                        do {
                            let made = try await archives.archive(
                                in: files.directory(of: RoomID(room)) + "/1700000000000")
                            #expect(made?.entryCount == 10_002)
                            return nil
                        } catch {
                            return error as? OrchestratorError
                        }
                    }
                }
                return await group.reduce(into: [OrchestratorError]()) { if let error = $1 { $0.append(error) } }
            }
            #expect(!refusals.isEmpty && refusals.count <= rooms.count - HLSArchives.mostWaiting)
            #expect(refusals.allSatisfy { $0.kind == .unavailable && $0.retryAfter == 5 })
        }
    }

    @Test func filesThatChangedAreLaidOutAnewAndOldOnesForgotten() async throws {
        try await withDirectory { directory in
            for room in ["a", "b"] { try Self.makeSession(directory, room, segments: 10) }
            let archives = HLSArchives(mostEntries: 15)
            func entries(_ room: String) async throws -> Int? {
                try await archives.archive(in: "\(directory)/hls/default/\(room)/1700000000000")?.entryCount
            }
            for _ in 0..<3 { #expect(try await entries("a") == 12) }
            #expect(await archives.made == 1)
            try Self.makeSession(directory, "a", segments: 11)
            #expect(try await entries("a") == 13)
            #expect(try await entries("b") == 12)
            #expect(await archives.made == 3)
            #expect(try await entries("b") == 12)
            #expect(try await entries("a") == 13)
            #expect(await archives.made == 4, "one of them alone has room")
            #expect(try await entries("c") == nil)
        }
    }

    private static func makeSession(_ directory: String, _ room: String, segments: Int) throws {
        try KeptFiles.makeSession(directory, room: room, isEnded: true)
        var lines = ""
        for number in 0..<segments {
            lines += """
                {"variant":"video","entry":{"number":\(number),"uri":"video-\(number).ts","isGap":false,\
                "duration":2.002,"bytes":\(100_000 + number),"checksum":\(number)}}\n
                """
        }
        let path = "\(directory)/hls/default/\(room)/1700000000000/segments.jsonl"
        try lines.write(toFile: path, atomically: true, encoding: .utf8)
    }
}
