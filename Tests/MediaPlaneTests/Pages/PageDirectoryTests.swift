import Foundation
import Testing

@testable import PageCapture

struct PageDirectoryTests {
    /// A browser that paints 30 times a second would show every picture of a faster page twice.
    @Test func browsersOfFastPagesPaintSixtyTimes() throws {
        let directory = try PageDirectory(user: nil)
        defer { directory.remove() }
        let state = "\(directory.path)/profile/Local State"
        for (frameRate, savesBattery) in [(30, true), (31, false), (60, false), (10, true)] {
            try directory.renew(frameRate: frameRate)
            let text = try? String(contentsOfFile: state, encoding: .utf8)
            #expect(text?.contains("battery_saver_mode") ?? false == savesBattery, "\(frameRate)")
        }
    }
}
