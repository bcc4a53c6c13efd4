import Foundation
import Logging
import MixModel
import ObjectStorage
import Testing

@testable import RoomService

/// Attempts that end before the storage is called.
struct UploadJobTests {
    /// It would otherwise be tried again by each search, without a word in the log.
    @Test func aFileThatIsTooLargeIsGivenUpOnce() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = "\(directory)/a.mp4"
        try Data("content".utf8).write(to: URL(filePath: path))
        let item = UploadItem(
            kind: .recording, room: "demo", file: "a.mp4", path: path, version: "v",
            notes: UploadNotes(path: "\(directory)/a.upload"))
        let target = UploadTarget(
            name: .main, place: try StoragePlace(endpoint: "https://h", region: "r", bucket: "b", style: .path),
            keys: StorageKeys(StorageCredentials(accessKey: "a", secretKey: "12345678")))
        let start = wallClock()
        let job = UploadJob(
            item: item, source: HugeFiles(), target: target,
            client: StorageClient(target, pace: nil, share: nil, connections: 1) { _ in },
            settings: UploadSettings(targets: [target]), startedAt: start, logger: Logger(label: "uploads"))
        for _ in 0..<2 {
            guard case .failed(let fault, nil) = await job.run() else {
                Issue.record("it is not given up")
                return
            }
            #expect(fault.code == .tooLarge)
            let note = try #require(item.notes.read("main"))
            #expect(note.judgement(of: "v", since: start) == .givenUp)
            #expect(note.judgement(of: "v", since: wallClock() + 1) == .due, "after the next start")
        }
    }
}

/// Files larger than an object may be.
private struct HugeFiles: UploadSource {
    private struct Reader: UploadReader {
        var bytes: Int64 { PartPlan.mostBytes + 1 }

        func read(_ range: Range<Int64>) throws(UploadReadFailure) -> [UInt8] { throw UploadReadFailure("no content") }
    }

    let kind = UploadItem.Kind.recording
    let type = "video/mp4"

    func directories() -> [String] { [] }

    func look(in directory: String, now: Double, isSettled: (UploadNotes, String) -> Bool) -> UploadFinding {
        UploadFinding()
    }

    func version(of item: UploadItem) -> String? { item.version }
    func open(_ item: UploadItem) -> (any UploadReader)? { Reader() }
    func remove(_ item: UploadItem) -> Bool { false }
}
