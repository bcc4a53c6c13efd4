import Foundation
import Logging
import MixModel
import ObjectStorage
import Testing

@testable import RoomService

/// The files that count as finished, and the removal of files.
struct UploadSourceTests {
    private static func withDirectory(_ body: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory + "/demo", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try body(directory)
    }

    private static func record(
        _ directory: String, _ name: String, _ state: RecordingManifest.State = .complete, age: Double = 60
    ) throws {
        let path = "\(directory)/demo/\(name)"
        try Data("content".utf8).write(to: URL(filePath: path + ".mp4"))
        var manifest = RecordingManifest(
            room: "demo", task: "auto-demo", recording: "a", source: nil, file: name + ".mp4", part: 1, startedAt: 0,
            hasVideo: true, hasAudio: true)
        manifest.state = state
        try JSONEncoder().encode(manifest).write(to: URL(filePath: path + ".json"))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path + ".mp4")
    }

    private static func look(
        _ source: RecordingSource, _ directory: String, now: Double = wallClock()
    ) -> UploadFinding {
        source.look(in: directory + "/demo", now: now) { _, _ in false }
    }

    @Test func onlyClosedRecordingsAreFinished() throws {
        try Self.withDirectory { directory in
            let source = RecordingSource(place: RecordingPlace(directory: directory))
            try Self.record(directory, "a")
            try Self.record(directory, "b", .unindexed)
            #expect(Self.look(source, directory).items.map(\.file) == ["a.mp4", "b.mp4"])
            #expect(!Self.look(source, directory).isOpen)
            // A file written at this moment stays fresh, however long the rest takes.
            let now = wallClock()
            try Self.record(directory, "fresh", age: 0)
            try Self.record(directory, "lost", .recording)
            try Self.record(directory, "long-lost", .recording, age: 4000)
            try Self.record(directory, "written")
            let writer = open("\(directory)/demo/written.mp4", O_RDWR)
            flock(writer, LOCK_EX)
            defer { close(writer) }
            // Links lead to other directories.
            symlink("/etc/passwd", "\(directory)/demo/link.mp4")
            let finding = Self.look(source, directory, now: now)
            #expect(finding.items.map(\.file) == ["a.mp4", "b.mp4", "long-lost.mp4"] && finding.isOpen)
            #expect(source.directories() == [directory + "/demo"])
            let none = source.look(in: directory + "/none", now: 0) { _, _ in false }
            #expect(none.items.isEmpty && !none.isOpen)
            let settled = source.look(in: directory + "/demo", now: now) { notes, _ in
                notes.path.hasSuffix("/a.upload")
            }
            #expect(settled.items.map(\.file) == ["b.mp4", "long-lost.mp4"])
        }
    }

    @Test func aFileThatIsWrittenAgainIsNotRemoved() throws {
        try Self.withDirectory { directory in
            let source = RecordingSource(place: RecordingPlace(directory: directory))
            try Self.record(directory, "a")
            let item = try #require(Self.look(source, directory).items.first)
            #expect(source.version(of: item) == item.version)
            let writer = open(item.path, O_RDWR)
            flock(writer, LOCK_EX)
            #expect(!source.remove(item))
            close(writer)
            let now = wallClock()
            try Data("more content".utf8).write(to: URL(filePath: item.path))
            #expect(source.version(of: item) != item.version && !source.remove(item))
            #expect(Self.look(source, directory, now: now).isOpen)
            #expect(FileManager.default.fileExists(atPath: item.path))
            var current = item
            current.version = try #require(source.version(of: item))
            #expect(source.remove(current) && source.version(of: item) == nil && source.open(item) == nil)
            #expect(FileManager.default.fileExists(atPath: "\(directory)/demo/a.json"), "its number stays taken")
        }
    }

    /// A file is listed whenever it is removed: as a local file, or as one stored elsewhere.
    @Test func aFileThatIsRemovedDuringTheLookIsListed() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory + "/demo", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let place = try StoragePlace(endpoint: "https://h", region: "r", bucket: "b", style: .path)
        let keys = StorageKeys(StorageCredentials(accessKey: "a", secretKey: "12345678"))
        let uploads = Uploader(
            UploadSettings(targets: [UploadTarget(name: .main, place: place, keys: keys)]), sources: [],
            metrics: Metrics(), logger: Logger(label: "uploads"))
        let shelf = RecordingShelf(place: RecordingPlace(directory: directory), uploads: uploads)
        let name = "20260101T000000Z-a"
        let file = "\(directory)/demo/\(name).mp4"
        var document = UploadDocument(content: .init(bytes: 7, version: "v"), place: place, key: "k")
        document.stage = .stored(ObjectChecksum([]), at: 1)
        var elsewhere = 0
        for _ in 0..<100 {
            try Self.record(directory, name)
            #expect(RecordingShelf.notes(file).write(document, of: "main"))
            async let removal: Void = offPool { _ = unlink(file) }
            for _ in 0..<3 {
                let listed = try await shelf.files(of: "demo")
                #expect(listed.map(\.manifest.file) == ["\(name).mp4"])
                if listed.first?.isHere == false { elsewhere += 1 }
            }
            await removal
        }
        #expect(elsewhere > 0)
        RecordingShelf.notes(file).remove()
        #expect(try await shelf.files(of: "demo").isEmpty, "one that is nowhere")
    }

    @Test func filesAreReadAtTheirPlaces() throws {
        try Self.withDirectory { directory in
            try Self.record(directory, "a")
            let file = try #require(OpenFile("\(directory)/demo/a.mp4"))
            #expect(file.bytes == 7)
            #expect(try file.read(3..<7) == Array("tent".utf8))
            #expect(try file.read(2..<2).isEmpty)
            #expect { try file.read(5..<8) } throws: { ($0 as? UploadReadFailure)?.reason == "it is shorter" }
            #expect(OpenFile("\(directory)/demo") == nil && OpenFile("\(directory)/none") == nil)
        }
    }

    @Test func notesAreReplacedAsAWholeAndBadOnesAreNone() throws {
        try Self.withDirectory { directory in
            let notes = UploadNotes(path: directory + "/demo/a.upload")
            let place = try StoragePlace(endpoint: "https://h", region: "r", bucket: "b", style: .path)
            var document = UploadDocument(content: .init(bytes: 1, version: "v"), place: place, key: "k")
            #expect(notes.read("main") == nil && notes.write(document, of: "main") && notes.read("main") == document)
            document.failures = 3
            document.fault = StorageFault(.timeout, "late", retryAfter: 4)
            #expect(notes.write(document, of: "main") && notes.read("main") == document && notes.read("backup") == nil)
            func judgement(_ version: String, since start: Double) -> UploadWatch.Judgement {
                document.judgement(of: version, at: place, since: start)
            }
            #expect(judgement("v", since: 0) == .due && judgement("w", since: 0) == .due)
            document.stage = .failed(at: 5)
            #expect(judgement("v", since: 5) == .givenUp && judgement("v", since: 6) == .due)
            document.stage = .stored(ObjectChecksum([]), at: 1)
            #expect(judgement("v", since: 0) == .settled && judgement("w", since: 0) == .due)
            // Another bucket, or another storage, does not have the object.
            for (endpoint, bucket) in [("https://h", "c"), ("https://i", "b")] {
                let other = try StoragePlace(endpoint: endpoint, region: "r", bucket: bucket, style: .path)
                #expect(document.judgement(of: "v", at: other, since: 0) == .due, "\(endpoint) \(bucket)")
            }
            try Data("{\"content\":".utf8).write(to: URL(filePath: directory + "/demo/a.upload-main.json"))
            #expect(notes.read("main") == nil)
            symlink("/etc/passwd", directory + "/demo/a.upload-backup.json")
            #expect(notes.read("backup") == nil)
            notes.remove()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/demo").isEmpty)
            #expect(!UploadNotes(path: directory + "/none/a").write(document, of: "main"))
        }
    }

    @Test func directoriesInWhichAllIsSettledAreLeftOut() throws {
        try Self.withDirectory { directory in
            let source = RecordingSource(place: RecordingPlace(directory: directory))
            // All looks use this moment, so that files written after it are fresh.
            let now = wallClock()
            func age() throws {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -60)], ofItemAtPath: directory + "/demo")
            }
            try Self.record(directory, "a")
            try age()
            var watch = UploadWatch()
            var judged = 0
            func look(_ judgement: UploadWatch.Judgement) -> Int {
                var taken = 0
                watch.look(in: [source], now: now) { _, _ in
                    judged += 1
                    return judgement
                } take: { _ in
                    taken += 1
                }
                return taken
            }
            #expect(look(.due) == 1 && watch.quietCount == 0)
            #expect(look(.givenUp) == 0 && watch.quietCount == 0, "a start may change that")
            #expect(look(.settled) == 0 && watch.quietCount == 1 && judged == 3)
            #expect(look(.due) == 0 && judged == 3)
            try Self.record(directory, "b")
            #expect(look(.settled) == 0 && judged == 5 && watch.quietCount == 0, "something happens there")
            try age()
            #expect(look(.settled) == 0 && watch.quietCount == 1)
            try FileManager.default.removeItem(atPath: directory + "/demo")
            #expect(look(.settled) == 0 && watch.quietCount == 0)
        }
    }

    @Test func directoriesThatAreRememberedAreBounded() throws {
        try Self.withDirectory { directory in
            for number in 0..<20 {
                let path = "\(directory)/room\(number)"
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -10)], ofItemAtPath: path)
            }
            var watch = UploadWatch(most: 8)
            let source = RecordingSource(place: RecordingPlace(directory: directory))
            watch.look(in: [source], now: wallClock(), judge: { _, _ in .due }, take: { _ in })
            #expect(watch.quietCount == 8)
        }
    }
}
