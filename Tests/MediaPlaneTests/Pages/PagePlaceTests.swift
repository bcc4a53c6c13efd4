import Foundation
import TestSupport
import Testing

@testable import PageCapture

struct PagePlaceTests {
    /// An account that owns none of these directories.
    private let other = PageDirectory.Account(user: 54_321, group: 54_321)

    /// A closed directory, or one below it, is not used for another user. Only root can act as another user.
    @Test(.enabled(if: geteuid() == 0))
    func closedDirectoriesArePassedOver() throws {
        let root = "/tmp/place-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: root) }
        for (path, mode) in [("", 0o711), ("/closed", 0o700), ("/closed/open", 0o777), ("/open", 0o711)] {
            try #require(mkdir(root + path, 0o700) == 0 && chmod(root + path, mode_t(mode)) == 0)
        }
        try Data().write(to: URL(filePath: root + "/file"))
        #expect(symlink(root + "/closed/open", root + "/link") == 0)
        let places = ["/closed", "/closed/open", "/link", "/file", "/missing"].map { root + $0 }

        #expect(try PagePlace.first(for: other, among: places + [root + "/open"]) == root + "/open")
        #expect(try PagePlace.first(for: nil, among: places) == root + "/closed")
        // The rules for owner and group take precedence over those for others.
        #expect(chmod(root + "/open", 0o701) == 0 && chown(root + "/open", 0, other.group) == 0)
        let failure = #expect(throws: PageDirectory.Failure.self) {
            try PagePlace.first(for: other, among: places + [root + "/open"])
        }
        #expect(failure?.description.contains("\(root)/open: set TMPDIR") == true)
        #expect(chown(root + "/closed", other.user, 0) == 0)
        #expect(try PagePlace.first(for: other, among: places) == root + "/closed")
    }
}
