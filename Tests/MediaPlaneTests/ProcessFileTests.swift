import Foundation
import Testing

@testable import ProgramRelay

@Suite struct ProcessFileTests {
    @Test func theFileNamesThisProcessInPlaceOfAnother() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("process-\(UUID()).pid").path
        defer { unlink(path) }
        try "the process of an earlier relay\n".write(toFile: path, atomically: true, encoding: .utf8)
        let file = ProcessFile(path: path)
        file.write()
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "\(getpid())\n")
        file.remove()
        #expect(access(path, F_OK) != 0)
    }
}
