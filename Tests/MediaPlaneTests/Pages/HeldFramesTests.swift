import EncodedMedia
import Testing
import WebRTCGateway

@testable import PageCapture

/// The wait of a page's frames, by which those that show a crash can be dropped.
struct HeldFramesTests {
    private static let millisecond: Int64 = 1_000_000

    private static func frame(_ number: Int64) -> PublishedStream.Frame {
        PublishedStream.Frame(
            track: number % 2 == 0 ? .video : .audio, pts: .milliseconds(number), dts: nil, payload: [1])
    }

    @Test func everyFrameLeavesOnceInOrderAfterItsWait() {
        var held = HeldFrames()
        #expect(held.due == .max && held.takeDue(now: .max).isEmpty)
        for number in Int64(0)..<10 { held.add(Self.frame(number), now: number * 20 * Self.millisecond) }
        #expect(held.due == HeldFrames.wait && held.takeDue(now: HeldFrames.wait - 1).isEmpty)
        var left: [PublishedStream.Frame] = []
        for time in stride(from: Int64(0), through: 400, by: 10) {
            let now = time * Self.millisecond
            let due = held.takeDue(now: now)
            left += due
            #expect(due.allSatisfy { now - $0.pts.nanoseconds * 20 - HeldFrames.wait < 10 * Self.millisecond })
            #expect(held.due > now)
        }
        #expect(left == (Int64(0)..<10).map(Self.frame) && held.due == .max)
    }

    /// A crash is reported at most 0.1 s after it; the frames since then have not left.
    @Test func whatAHiddenPageHasShownLastIsDropped() {
        var held = HeldFrames()
        let (crash, report) = (1000 * Self.millisecond, 1100 * Self.millisecond)
        var left: [PublishedStream.Frame] = []
        for time in stride(from: 0, to: report, by: Int(20 * Self.millisecond)) {
            held.add(Self.frame(time / Self.millisecond), now: time)
            left += held.takeDue(now: time)
        }
        held.drop()
        left += held.takeDue(now: .max)
        #expect(!left.isEmpty && left.allSatisfy { $0.pts.nanoseconds < crash })
    }
}
