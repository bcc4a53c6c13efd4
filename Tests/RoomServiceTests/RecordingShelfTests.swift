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
