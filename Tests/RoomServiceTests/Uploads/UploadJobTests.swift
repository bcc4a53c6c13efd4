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
        try await Self.withFile { item in
            let start = wallClock()
            let settings = UploadSettings(targets: [try Self.target(.main)])
            let job = Self.job(item, PreparedFiles(bytes: PartPlan.mostBytes + 1), settings, startedAt: start)
            for _ in 0..<2 {
                guard case .failed(let fault, nil) = await job.run() else {
                    Issue.record("it is not given up")
                    return
                }
                #expect(fault.code == .tooLarge)
                let note = try #require(item.notes.read("main"))
                let place = settings.targets[0].place
                #expect(note.judgement(of: "v", at: place, since: start) == .givenUp)
                #expect(note.judgement(of: "v", at: place, since: wallClock() + 1) == .due, "after the next start")
            }
        }
    }

    /// The notes say where its objects are, and nothing else does.
    @Test func theNotesOfAFileThatWasRemovedAfterItsUploadStay() async throws {
        try await Self.withFile { item in
            var settings = UploadSettings(targets: [try Self.target(.main), try Self.target(.backup)])
            settings.keepsFiles = false
            for target in settings.targets {
                #expect(!settings.mayRemove(item))
                var document = UploadDocument(
                    content: .init(bytes: 7, version: "v"), place: target.place, key: "demo/a.mp4")
                document.stage = .stored(ObjectChecksum([]), at: 1)
                #expect(item.notes.write(document, of: target.name.rawValue))
            }
            #expect(settings.mayRemove(item))
            let job = Self.job(item, PreparedFiles(bytes: 7, removesOpened: true), settings, startedAt: 0)
            guard case .stored = await job.run() else {
                Issue.record("it is not stored")
                return
            }
            #expect(!FileManager.default.fileExists(atPath: item.path))
            for target in settings.targets { #expect(item.notes.read(target.name.rawValue)?.isStored == true) }
            settings.keepsFiles = true
            #expect(!settings.mayRemove(item))
        }
    }

    private static func withFile(_ body: (UploadItem) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("up-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = "\(directory)/a.mp4"
        try Data("content".utf8).write(to: URL(filePath: path))
        try await body(
            UploadItem(
                kind: .recording, room: "demo", file: "a.mp4", path: path, version: "v",
                notes: UploadNotes(path: "\(directory)/a.upload")))
    }

    private static func target(_ name: UploadTarget.Name) throws -> UploadTarget {
        UploadTarget(
            name: name, place: try StoragePlace(endpoint: "https://h", region: "r", bucket: "b", style: .path),
            keys: StorageKeys(StorageCredentials(accessKey: "a", secretKey: "12345678")))
    }

    /// Returns the job that uploads a file to the first target.
    private static func job(
        _ item: UploadItem, _ source: PreparedFiles, _ settings: UploadSettings, startedAt: Double
    ) -> UploadJob {
        let target = settings.targets[0]
        return UploadJob(
            item: item, source: source, target: target,
            client: StorageClient(target, pace: nil, share: nil, connections: 1) { _ in }, settings: settings,
            startedAt: startedAt, logger: Logger(label: "uploads"))
    }
}

/// Files of any size, without content.
private struct PreparedFiles: UploadSource {
    private struct Reader: UploadReader {
        let bytes: Int64

        func read(_ range: Range<Int64>) throws(UploadReadFailure) -> [UInt8] { throw UploadReadFailure("no content") }
    }

    /// Size of each file.
    let bytes: Int64
    /// Whether a file is removed once it has been opened.
    var removesOpened = false

    let kind = UploadItem.Kind.recording
    let type = "video/mp4"

    func directories() -> [String] { [] }

    func look(in directory: String, now: Double, isSettled: (UploadNotes, String) -> Bool) -> UploadFinding {
        UploadFinding()
    }

    func version(of item: UploadItem) -> String? { item.version }

    func open(_ item: UploadItem) -> (any UploadReader)? {
        if removesOpened { unlink(item.path) }
        return Reader(bytes: bytes)
    }

    func remove(_ item: UploadItem) -> Bool { false }
}
