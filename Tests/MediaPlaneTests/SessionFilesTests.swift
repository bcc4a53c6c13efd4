import Foundation
import Testing

@testable import ProgramRelay

/// The files of an HLS session.
struct SessionFilesTests {
    @Test func aTruncatedLineTakesNoOtherWithIt() throws {
        let files = SessionFiles(directory: NSTemporaryDirectory() + "hls-files-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: files.directory) }
        try files.create()
        try files.append([1, 2], to: "lines")
        #expect(files.read("lines") == Data([1, 2, 0x0A]))
        try Data([1, 2, 0x0A, 3]).write(to: URL(filePath: "\(files.directory)/lines"))
        try files.append([4], to: "lines")
        try files.append([5], to: "lines")
        #expect(files.read("lines") == Data([1, 2, 0x0A, 3, 0x0A, 4, 0x0A, 5, 0x0A]))
    }
}
