import Foundation
import Testing

@testable import RoomService

/// Files that are downloaded while others remove them.
@Suite struct OpenFileTests {
    @Test func aFileIsReadToItsEndAfterItWasRemoved() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("open-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appendingPathComponent("a.mp4").path
        try Data("0123456789".utf8).write(to: URL(filePath: path))
        let file = try #require(try await OpenFile.opened(path))
        try FileManager.default.removeItem(atPath: path)
        #expect(file.bytes == 10)
        #expect(try await file.bytes(4..<7) == Array("456".utf8))
        #expect(try await file.bytes(8..<10) == Array("89".utf8))
        await #expect(throws: UploadReadFailure.self) { try await file.bytes(8..<11) }
        #expect(try await OpenFile.opened(path) === nil)
    }

    @Test func onlyRegularFilesAreOpened() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("open-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let (file, link) = (
            directory.appendingPathComponent("file").path, directory.appendingPathComponent("link").path
        )
        try Data("secret".utf8).write(to: URL(filePath: file))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        #expect(try await OpenFile.opened(file)?.bytes == 6)
        #expect(try await OpenFile.opened(link) === nil)
        #expect(try await OpenFile.opened(directory.path) === nil)
    }
}
