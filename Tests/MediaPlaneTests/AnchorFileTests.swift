import EncodedMedia
import Foundation
import ProgramSplicer
import TestSupport
import Testing

@testable import ProgramRelay

@Suite struct AnchorFileTests {
    private func withFile(_ body: (AnchorFile) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("anchor-\(UUID()).clock").path
        defer { unlink(path) }
        try body(AnchorFile(path: path))
    }

    @Test func theLastAnchorIsRead() throws {
        try withFile { file in
            #expect(file.read() == nil)
            var anchor = ProgramAnchor(
                boot: AnchorFile.boot, zero: .max, wallZero: 1.7e9 + 0.125, noted: MediaTime(nanoseconds: .max),
                ahead: .milliseconds(50))
            file.write(anchor)
            #expect(file.read() == anchor)
            anchor.zero = 1
            anchor.noted = .zero
            file.write(anchor)
            #expect(file.read() == anchor, "the shorter one replaces the longer one wholly")
            file.remove()
            #expect(file.read() == nil)
        }
    }

    @Test(arguments: ["", "{", #"{"boot":"a","zero":1e400}"#, String(repeating: "x", count: 100_000)])
    func whatIsNoAnchorIsNone(text: String) throws {
        try withFile { file in
            try text.write(toFile: file.path, atomically: true, encoding: .utf8)
            #expect(file.read() == nil)
        }
    }

    @Test func theMachineHasABoot() { #expect(AnchorFile.boot.count == 36) }
}
