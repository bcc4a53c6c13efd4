import ChildProcesses
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// A page as a participant: alone, it is on air as encoded; together with another participant, in a mix.
@Suite(.serialized, .timeLimit(.minutes(8)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageTests {
    private static let canvas = Canvas(width: 640, height: 360, fps: TestPage.rate)
    private static let board = SyntheticPublisher(id: 3, width: 640, height: 360, fps: TestPage.rate)
    private static let guest = SyntheticPublisher(
        id: 2, width: 640, height: 360, fps: TestPage.rate, videoBitrate: 800_000)

    @Test func aPageIsBypassedAndMixed() async throws {
        let server = try PageServer(["/board": TestPage.html(source: 3)])
        defer { server.stop() }
        try await Stage.run(canvas: Self.canvas, environment: Stage.pageSettings()) { stage in
            stage.knows(Self.board)
            try await stage.open(page: "http://127.0.0.1:\(server.port)/board", as: "board")
            let viewer = try await stage.record(
                "http://127.0.0.1:\(stage.client.port)/live/\(stage.room).flv", as: "viewer")
            try await Task.sleep(for: .seconds(3))
            try await stage.publish("bob", Self.guest)
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["board", "bob"])
            try await Task.sleep(for: .seconds(3))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(2))
            let report = try await stage.judge(viewer, expectedSwitches: 2, limits: Self.limits)
            // A picture of a page may be captured twice at a switch too, so the step of its content is not evidence.
            let failures = (report.failures + report.switches.flatMap(\.failures)).filter {
                !$0.contains("content steps by")
            }
            #expect(failures.isEmpty && report.splices.count == 2 && report.connections == 1, "\(report.table)")
            let offsets = report.splices.flatMap { [$0.avBeforeMs, $0.avAfterMs] }.compactMap(\.self)
            print("A/V in ms: \(offsets)")
            // The range that viewers accept when sound is early (ITU-R BT.1359-1); the bench measures pages more
            // closely.
            #expect(!offsets.isEmpty && offsets.allSatisfy { abs($0) <= 90 }, "\(offsets)")
            try await stage.client.unpublished(stage.room, user: "board")
            try await stage.waitUntilPagesHaveEnded()
        }
    }

    private static let layout = """
        {"overlays": [{"page": "PAGE", "x": 0.5, "y": 0, "width": 0.5, "height": 0.5}],
         "arrangements": [{"panes": [
           {"slot": 1, "x": 0, "y": 0.5, "width": 0.5, "height": 0.5},
           {"slot": 2, "x": 0.5, "y": 0.5, "width": 0.5, "height": 0.5}]}],
         "canvas": {"background": "#404040"}}
        """

    /// Returns a bar that covers the right half of the page and changes its colour on request.
    private static func bar(_ colour: String) -> String {
        """
        <body style="margin:0"><div id="bar" style="position:absolute;left:50%;top:0;width:50%;height:100%;\
        background:\(colour)"></div><script>setInterval(async () => { const text = await (await fetch("/colour")).text(); \
        document.getElementById("bar").style.background = text; }, 200);</script></body>
        """
    }

    /// A page over a mix is transparent outside its content, changes while it is on air, and disappears with the
    /// layout.
    @Test func aPageLiesOverTheMix() async throws {
        let server = try PageServer(["/": Self.bar("#FFFFFF"), "/colour": "#FFFFFF"])
        defer { server.stop() }
        try await Stage.run(layout: "board", environment: Stage.pageSettings()) { stage in
            try stage.save(
                layout: Self.layout.replacingOccurrences(of: "PAGE", with: "http://127.0.0.1:\(server.port)/"),
                as: "board")
            try await stage.publish("alice", SyntheticPublisher(id: 1))
            // Bob's picture is as large as his pane, because a browser, an encoder and a mixer have two cores here.
            try await stage.publish(
                "bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 1, videoBitrate: 600_000))
            try await stage.waitForLayout("board")
            try await stage.open(host: "alice")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            try await waitUntil("the page is shown") {
                try await stage.client.request("GET", "/v1/rooms/\(stage.room)").text.contains(#""state":"on-air""#)
            }
            try await Task.sleep(for: .seconds(2))
            server.set("/colour", "rgba(0, 0, 0, 0.5)")
            let asked = server.requests.count
            try await waitUntil("the page is told of the other colour") { server.requests.count > asked + 2 }
            try await Task.sleep(for: .seconds(3))
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            try await Task.sleep(for: .seconds(1))
            viewer.stop()
            let recording = await viewer.recording()
            let report = try await stage.judge(recording, expectedSwitches: 2)
            #expect(report.isWithinLimits && report.isWhole(), "\(report.table)")
            // Colours of the background: beside the page's bar, and under it.
            var seen: [[Int]] = []
            _ = try PictureDecoder.decode(recording.path) { _, picture in
                let (width, height) = (Double(picture.width), Double(picture.height))
                func luma(_ x: Double) -> Int {
                    Int(
                        picture.meanLuma(
                            x: width * x, y: height * 0.1, width: width * 0.05, height: height * 0.2) ?? -1)
                }
                seen.append([luma(0.1), luma(0.6), luma(0.85)])
            }
            // #404040 is 71 in limited range, white 235, and half of the background under black (71 + 16) / 2.
            func count(_ bar: Int) -> Int {
                seen.count { zip($0, [71, 71, bar]).allSatisfy { abs($0 - $1) <= 4 } }
            }
            #expect(count(235) >= 5 && count(44) >= 5, "\(seen)")
        }
    }

    /// A page paints by its own clock and its pictures are sampled by another, so some are captured twice or not at
    /// all.
    private static var limits: ProbeLimits {
        var limits = ProbeLimits.ofTests
        limits.videoGapMs = 40
        // This is the duration of two pictures of the page.
        limits.avShiftMs = 70
        limits.audioGapMs = 2
        limits.contentFaults = .max
        // With two publishers, a mix and a browser on two cores, a page stalls for some pictures.
        limits.frozenMs = 4000
        limits.unreadable = 10
        return limits
    }
}
