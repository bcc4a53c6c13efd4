import Foundation
import MixModel
import Testing

@testable import RoomService

/// The parts of recordings on the disk.
struct RecordingShelfTests {
    /// Webhooks name the first file, and a list is cut after the newest ones.
    @Test func partsAreListedByTheirNumbers() async throws {
        try await Self.withShelf { shelf, directory in
            for part in [1, 2, 9, 10, 11, 100] { try Self.record(directory, "20260101T000000Z-a", part) }
            try Self.record(directory, "20260101T000000Z-a-alice~2fcamera", 1)
            try Self.record(directory, "20260102T000000Z-b", 1)
            let names = try await shelf.files(of: "demo").map { $0.manifest.file.dropLast(4) }
            #expect(
                names == [
                    "20260102T000000Z-b", "20260101T000000Z-a-alice~2fcamera", "20260101T000000Z-a-100",
                    "20260101T000000Z-a-11", "20260101T000000Z-a-10", "20260101T000000Z-a-9", "20260101T000000Z-a-2",
                    "20260101T000000Z-a",
                ])
        }
    }

    /// The object of the removed part would be overwritten in the storage.
    @Test func theNumberOfARemovedPartIsKeptWhileItsRecordingGoesOn() async throws {
        try await Self.withShelf { shelf, directory in
            let stem = "20260101T000000Z-a"
            func remove(_ part: Int, current: String?) async throws -> [String] {
                let name = stem + (part > 1 ? "-\(part)" : "") + ".mp4"
                guard case .removed = try await shelf.remove(name, of: "demo", current: current) else { return ["?"] }
                return try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
            }
            for part in 1...2 { try Self.record(directory, stem, part) }
            #expect(try await remove(1, current: "a") == ["\(stem)-2.json", "\(stem)-2.mp4"])
            #expect(try await remove(2, current: "a") == ["\(stem)-2.json"])
            #expect(try await shelf.files(of: "demo").isEmpty)
            #expect(try await remove(2, current: "a") == ["?"], "it is not there")
            // The number of the newest one is enough.
            try Self.record(directory, stem, 3)
            #expect(try await remove(3, current: "a") == ["\(stem)-3.json"])
            // The recording has ended, or another one has begun.
            try Self.record(directory, stem, 4)
            #expect(try await remove(4, current: "b").isEmpty)
            try Self.record(directory, stem, 1)
            #expect(try await remove(1, current: nil).isEmpty)
        }
    }

    private static func withShelf(_ body: (RecordingShelf, _ directory: String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("rec-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory + "/demo", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(RecordingShelf(place: RecordingPlace(directory: directory)), directory + "/demo")
    }

    /// Writes a closed part of the recording `a`.
    private static func record(_ directory: String, _ stem: String, _ part: Int) throws {
        let name = stem + (part > 1 ? "-\(part)" : "")
        var manifest = RecordingManifest(
            room: "demo", task: "auto-demo", recording: "a", source: nil, file: name + ".mp4", part: part, startedAt: 0,
            hasVideo: true, hasAudio: true)
        manifest.state = .complete
        try Data("content".utf8).write(to: URL(filePath: "\(directory)/\(name).mp4"))
        try JSONEncoder().encode(manifest).write(to: URL(filePath: "\(directory)/\(name).json"))
    }
}
