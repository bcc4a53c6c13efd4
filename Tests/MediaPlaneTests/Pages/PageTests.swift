import ChildProcesses
import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import TestSupport
import Testing
import TextFormats

@testable import ViewerProbe

/// Pages in a real Chromium, with a real worker and a real ingest.
@Suite(.serialized, .timeLimit(.minutes(6)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageTests {
    @Test func aPageIsAStreamOfItsSize() async throws {
        let scene = try await PageScene.start()
        defer { scene.stop() }
        try await scene.waitForAir()
        try await Task.sleep(for: .seconds(2))
        let recording = try await scene.record("page", seconds: 10)
        let report = try await Probe.judge(recording, ProbeConfiguration(publishers: [PageScene.publisher]))
        print(report.table)
        let player = try WholePlayer(scene.ingest.pullURL("alice"))
        defer { player.stop() }
        #expect(try await outputEventually { player.tags.contains(where: \.isVideoHeader) })
        let found = player.tags.first(where: \.isVideoHeader)
        let header = try #require(found)
        let size = VideoConfiguration(CodecConfiguration(track: .video, bytes: header.payload))?.sequenceParameters
        #expect(size?.width == PageScene.size.width && size?.height == PageScene.size.height)
        let source = try #require(report.sources.first { $0.id == 3 })
        let rate = Double(report.videoFrames - 1) / report.seconds
        print("\(rate) pictures/s, \(source.repeated) of \(source.pictures) repeated, \(source.lost) lost")
        // The page has 30; a browser on a busy machine makes fewer, and one whose pictures are captured twice only half
        // of them.
        #expect(rate > 22, "\(rate)")
        // Some pictures were only partly painted when they were captured.
        #expect(
            report.decodeErrors.isEmpty && report.unreadable * 20 <= report.videoFrames,
            "\(report.unreadable) of \(report.videoFrames); \(report.decodeErrors)")
        #expect(source.torn * 20 <= source.pictures, "\(source.torn) of \(source.pictures)")
        #expect(source.repeated * 100 <= 40 * source.pictures, "\(source.repeated) of \(source.pictures)")
        #expect(abs(report.audioDeviationMs) <= 1.5, "AAC without gaps")
        // The processes that need the sandbox.
        let renderers = scene.browsers("renderer")
        #expect(!renderers.isEmpty)
        for renderer in renderers {
            let status = (try? String(contentsOfFile: "/proc/\(renderer)/status", encoding: .utf8)) ?? ""
            #expect(status.contains("Seccomp:\t2"), "\(renderer)")
        }
    }

    /// A browser that was started before its page was known shows it like any other.
    @Test func aPageInABrowserThatWaited() async throws {
        let scene = try await PageScene.startWarm()
        defer { scene.stop() }
        try await Task.sleep(for: .seconds(2))
        #expect(scene.server.requests.isEmpty && scene.worker.states.isEmpty)
        let begin = ContinuousClock.now
        scene.worker.send(.publish(scene.job("?console=1&end=240000", .console)))
        try await scene.waitForAir()
        print("on air \(ContinuousClock.now - begin) after the command, in a browser that waited")
        let recording = try await scene.record("warm", seconds: 4)
        let report = try await Probe.judge(recording, ProbeConfiguration(publishers: [PageScene.publisher]))
        #expect(report.decodeErrors.isEmpty && report.unreadable * 20 <= report.videoFrames, "\(report.table)")
        #expect(report.sources.first { $0.id == 3 }?.pictures ?? 0 > 40, "\(report.table)")
        #expect(abs(report.audioDeviationMs) <= 1.5)
        // The browser is restarted like any other.
        let browser = try #require(scene.browsers(nil).first)
        kill(browser, SIGKILL)
        #expect(try await outputEventually { scene.worker.states.contains(.failing) }, "\(scene.worker.log)")
        #expect(try await outputEventually(within: .seconds(60)) { scene.worker.isOnAir }, "\(scene.worker.log)")
    }

    @Test func aPlayerThatNeedsAKeyframeGetsOne() async throws {
        let scene = try await PageScene.start()
        defer { scene.stop() }
        try await scene.waitForAir()
        let player = try WholePlayer(scene.ingest.pullURL("alice"))
        defer { player.stop() }
        #expect(try await outputEventually { player.pictures.contains(where: \.isIDR) })
        var times: [Int64] = []
        for _ in 0..<3 {
            try await Task.sleep(for: .milliseconds(300))
            let before = player.pictures.count(where: \.isIDR)
            let asked = MonotonicClock.now()
            player.requestKeyframe()
            #expect(
                try await outputEventually { player.pictures.count(where: \.isIDR) > before }, "\(scene.worker.log)")
            times.append((player.pictures.last(where: \.isIDR)?.arrival ?? .max) - asked)
        }
        times.sort()
        print("keyframes of a page after \(times.map { $0 / 1_000_000 }) ms")
        #expect(times[1] < 500_000_000 && times[2] < 5_000_000_000)
    }

    /// While a page is absent, no picture of the screen is sent: it would show the browser's own messages.
    @Test func aCrashTakesThePageOffTheAirAndBack() async throws {
        let scene = try await PageScene.start()
        defer { scene.stop() }
        try await scene.waitForAir()
        let player = try WholePlayer(scene.ingest.pullURL("alice"))
        defer { player.stop() }
        #expect(try await outputEventually { player.pictures.count > 60 })
        let renderer = try #require(scene.browsers("renderer").first)
        let killed = MonotonicClock.now()
        kill(renderer, SIGKILL)
        #expect(try await outputEventually { scene.worker.states.contains(.failing) }, "\(scene.worker.log)")
        #expect(try await outputEventually(within: .seconds(60)) { scene.worker.isOnAir }, "\(scene.worker.log)")
        let count = player.pictures.count
        #expect(try await outputEventually { player.pictures.count > count + 30 })
        let times = player.pictures.map(\.arrival)
        // The last one before the kill, too: it is possible that none follows.
        let arrivals = [times.last { $0 < killed } ?? killed] + times.filter { $0 >= killed }
        let gaps = zip(arrivals, arrivals.dropFirst()).map { ($1 - $0) / 1_000_000 }
        let pause = gaps.max() ?? 0
        let place = gaps.firstIndex(of: pause) ?? 0
        print("pictures for \((arrivals[place] - killed) / 1_000_000) ms after the kill, then none for \(pause) ms")
        // Normally this happens at once. A page whose crash is not noticed would be sent until it has not answered for
        // five seconds.
        #expect(arrivals[place] - killed < 3_500_000_000)
        let back = player.pictures.first { $0.arrival == arrivals[place + 1] }
        #expect(back?.isIDR ?? false && player.end == nil, "on the same connection")
        // The card of the page depends on it.
        let notices = player.tags.filter { FLVMetadata.isPaused($0.body) }.map(\.arrival)
        #expect(notices.contains { arrivals[place] <= $0 && $0 < arrivals[place + 1] }, "\(notices)")
    }

    @Test func aPageThatHangsIsOpenedAgain() async throws {
        let scene = try await PageScene.start("?at=4000&run=" + PercentEncoding.encoded("for (;;) {}"))
        defer { scene.stop() }
        try await scene.waitForAir()
        #expect(
            try await outputEventually(within: .seconds(60)) {
                scene.worker.reasons.contains { $0.contains("did not answer") }
            }, "\(scene.worker.log)")
        #expect(try await outputEventually(within: .seconds(60)) { scene.worker.isOnAir }, "\(scene.worker.log)")
        #expect(scene.server.requests.count { $0.hasPrefix("/?") } >= 2)
    }

    @Test func thePageBeginsAndEndsByItsConsole() async throws {
        let scene = try await PageScene.start("?console=1&end=5000", ready: .console)
        defer { scene.stop() }
        #expect(
            try await outputEventually(within: .seconds(90)) { scene.worker.states.contains(.onAir) },
            "\(scene.worker.log)")
        #expect(
            try await outputEventually { scene.worker.end == "the page has ended it" },
            "\(scene.worker.end ?? "") \(scene.worker.log)")
        #expect(scene.worker.process.waitForExit() == .status(0))
        #expect(try await outputEventually { scene.ingest.ended("alice") == 1 }, "unpublished cleanly")
    }

    /// Neither end depends on how the page begins.
    @Test(
        arguments: [
            ("?console=1&end=15000", .console), ("?ready=15000", .expression("window.isReady === true")),
        ] as [(String, PageEnding)]) func aPaintedPageEndsItself(_ query: String, _ end: PageEnding) async throws
    {
        let scene = try await PageScene.start(query, end: end)
        defer { scene.stop() }
        #expect(
            try await outputEventually(within: .seconds(90)) { scene.worker.end == "the page has ended it" },
            "\(scene.worker.end ?? "") \(scene.worker.log)")
        #expect(scene.worker.states.contains(.onAir))
        #expect(scene.worker.process.waitForExit() == .status(0))
    }

    /// A page on air may navigate to allowed addresses, but to no others.
    @Test func aPageThatLeavesForARefusedPlaceIsOpenedAgain() async throws {
        let scene = try await PageScene.start(
            "?at=4000&run=" + PercentEncoding.encoded("location='http://127.0.0.1:20001/'"))
        defer { scene.stop() }
        try await scene.waitForAir()
        #expect(
            try await outputEventually(within: .seconds(60)) {
                scene.worker.reasons.contains { $0.contains("cannot be loaded") }
            }, "\(scene.worker.log)")
        #expect(try await outputEventually(within: .seconds(60)) { scene.worker.isOnAir }, "\(scene.worker.log)")
    }

    /// Content that would cover the page, or leave it, is suppressed.
    @Test func dialogsAndWindowsAreNotInThePicture() async throws {
        let script = """
            setInterval(() => { alert("x"); confirm("y"); prompt("z"); window.open("about:blank"); \
            try { Notification.requestPermission(); } catch { } navigator.geolocation.getCurrentPosition(() => {}); \
            const link = document.createElement("a"); link.href = "data:application/zip,x"; link.download = "x.zip"; \
            link.target = "_blank"; document.body.append(link); link.click(); }, 300);
            """
        let scene = try await PageScene.start("?at=500&run=" + PercentEncoding.encoded(script))
        defer { scene.stop() }
        try await scene.waitForAir()
        try await Task.sleep(for: .seconds(2))
        let recording = try await scene.record("dialogs", seconds: 4)
        let report = try await Probe.judge(recording, ProbeConfiguration(publishers: [PageScene.publisher]))
        print(report.table)
        let pictures = report.sources.first { $0.id == 3 }?.pictures ?? 0
        // Some pictures are captured while being painted. A window over the page would be on most of them.
        #expect(pictures > 40 && report.unreadable * 10 < pictures)
        #expect(report.decodeErrors.isEmpty && report.frozenMs < 3000)
    }
}
