import EncodedMedia
import Foundation
import LayoutEngine
import TestSupport
import Testing

@testable import ViewerProbe

/// Browsers whose uplink becomes narrow, and wide again. The service tells them which packets have arrived
/// and when (TWCC), and their congestion control follows.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct CongestionTests {
    /// Rate of the narrow uplink in bit/s. Everything that the browser sends has to pass.
    private static let narrow = 500_000
    /// Longest time in ms without a picture or a sound at the viewer. The program waits for up to 1 s for a source whose
    /// gaps have been long (`StallWatch.mostPatience`), and a mixer that is started then needs up to 0.4 s (ADR 42).
    private static let longestPause = 1400.0

    private static func run(_ body: (Stage, LossyPath) async throws -> Void) async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on",
        ]
        // Nothing is left to chance: no packet is lost or delayed at random.
        let path = try LossyPath(seed: SeededGenerator(seed: 1))
        defer { path.stop() }
        let canvas = Canvas(width: NarrowStudio.width, height: NarrowStudio.height, fps: 20)
        try await Stage.run(canvas: canvas, environment: environment) { stage in
            try await stage.client.putRoom(
                stage.room, host: "alice", output: stage.media.cdn(stage.room), layout: stage.layout,
                canvas: stage.canvas)
            try await body(stage, path)
        }
    }

    /// The browser sends less than the narrow uplink carries while it is narrow, and more when it is wide again. The viewer
    /// sees one whole program on one connection all the time, with times that never go back (docs/adr/0058). Only in the long form.
    @Test(.timeLimit(.minutes(6)), .enabled(if: TestLength.isLong)) func aBrowserFollowsItsUplink() async throws {
        try await Self.run { stage, path in
            let studio = try await NarrowStudio.open(as: "alice", on: stage, through: path)
            #expect(studio.answer.contains("transport-wide-cc-extensions"), "\(studio.answer)")
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.watch()
            let begin = MonotonicClock.now()
            for round in 1...3 {
                try await Self.narrowAndWiden(path, studio, round)
            }
            try await viewer.receive(pictures: 20)
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])
            #expect(try await stage.client.users(stage.room) == ["alice"])
            // One session all the time.
            try await studio.page.wait(for: "requests.join() === 'POST'")
            try await studio.page.wait(for: "document.getElementById('state').textContent === 'You are live.'")
            #expect(await studio.page.complaints == [])
            viewer.stop()
            await studio.page.close()
            let sizes = try await Self.expectWholeProgram(await viewer.recording(), since: begin)
            // The page asks the browser to keep the resolution.
            #expect(sizes == ["\(NarrowStudio.width)x\(NarrowStudio.height)"])
            print("the program was spliced \(task.switches.count) times")
        }
    }

    private static func narrowAndWiden(_ path: LossyPath, _ studio: NarrowStudio, _ round: Int) async throws {
        func say(_ phase: String, _ rate: Double) async throws {
            let sending = try await studio.sending()
            print("round \(round), \(phase): \(Int(rate / 1000)) kbit/s, \(sending)")
        }
        try await waitUntil("the browser sends more than the narrow uplink carries: \(path.bitRate(overLast: 2)) bit/s")
        {
            path.bitRate(overLast: 2) > 1.5 * Double(narrow)
        }
        try await say("wide", path.bitRate(overLast: 2))

        let narrowed = MonotonicClock.now()
        // 12.5 kB, that is 200 ms, wait at most; what comes then is dropped.
        path.set(LossyPath.Weather(uplink: Bottleneck(bitRate: narrow)))
        // Far more than congestion control needs, which reacts after some 100 ms: this machine is busy.
        try await waitUntil("the browser sends less: \(path.bitRate(overLast: 2)) bit/s", within: 10) {
            MonotonicClock.now() - narrowed > 2_000_000_000 && path.bitRate(overLast: 2) < Double(narrow)
        }
        print("round \(round): below the limit \((MonotonicClock.now() - narrowed) / 1_000_000) ms later")
        let seconds: Int64 = 20
        try await Task.sleep(for: .nanoseconds(max(0, narrowed + seconds * 1_000_000_000 - MonotonicClock.now())))
        let now = MonotonicClock.now()
        let sent = path.sent(in: now - 4_000_000_000...now)
        let first = path.sent(in: narrowed...now - 4_000_000_000)
        let rate = Double(sent.bytes) * 8 / 4
        try await say("narrow", rate)
        print("round \(round), packets and losses at first: \(first), then \(sent)")
        // A sender that only hears of losses fills the queue: it sends more than the link carries, and loses the rest.
        #expect(rate < Double(narrow), "\(rate) bit/s")
        // A keyframe may be more than the queue holds.
        #expect(sent.lost * 10 <= sent.packets, "\(sent)")

        let freed = MonotonicClock.now()
        path.set(LossyPath.Weather())
        // Congestion control adds about 8 % each second.
        try await waitUntil("the browser sends more again: \(path.bitRate(overLast: 2)) bit/s", within: 30) {
            MonotonicClock.now() - freed > 2_000_000_000 && path.bitRate(overLast: 2) > 1.2 * Double(narrow)
        }
        print("round \(round): above the limit \((MonotonicClock.now() - freed) / 1_000_000) ms later")
        try await say("wide again", path.bitRate(overLast: 2))
    }

    /// Expects that a viewer was never without picture or sound for long, and could decode everything.
    ///
    /// - Parameter begin: Time in ns of CLOCK_MONOTONIC.
    /// - Returns: The sizes of the pictures, as `640x360`.
    private static func expectWholeProgram(_ recording: FLVRecording, since begin: Int64) async throws -> Set<String> {
        #expect(recording.connections == 1 && recording.publisherLosses == 0)
        let trace = try recording.trace()
        for (name, track) in [("pictures", trace.video), ("sound", trace.audio)] {
            let times = track.map(\.frame.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(name)")
            let arrivals = track.compactMap(\.arrival).filter { $0 >= begin }
            let pause = zip(arrivals, arrivals.dropFirst()).map { Double($1 - $0) / 1e6 }.max() ?? .infinity
            print("at most \(pause) ms without \(name)")
            #expect(pause <= longestPause, "\(pause) ms without \(name)")
        }
        // Neither browsers nor the mix reorder pictures.
        let pictures = trace.video.map { "\($0.frame.pts) at \($0.frame.dts)" }
        for index in trace.video.indices.dropFirst() {
            let (last, next) = (trace.video[index - 1].frame.pts, trace.video[index].frame.pts)
            #expect(last < next, "\(pictures[max(0, index - 10)..<min(pictures.count, index + 10)])")
        }
        let decoded = try await Decoded.decode(recording)
        #expect(decoded.errors == [])
        #expect(decoded.pictures > 0)
        return decoded.sizes
    }

    /// A guest whose browser lowers the resolution stays in the same pane of the mix. Before its uplink becomes narrow, it sends the
    /// whole film. Only in the long form, because Chromium takes its time.
    @Test(.timeLimit(.minutes(8)), .enabled(if: TestLength.isLong))
    func aGuestWhosePictureShrinksKeepsThePane() async throws {
        try await Self.run { stage, path in
            let host = SyntheticPublisher(
                id: 1, width: NarrowStudio.width, height: NarrowStudio.height, videoBitrate: 800_000)
            let alice = try await WhipPublisher("alice", host, on: stage)
            try await alice.publish()
            try await stage.waitForOnAir("bypass")
            let studio = try await NarrowStudio.open(as: "bob", on: stage, through: path, shrinks: true)
            let panes = try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes
            let viewer = try await stage.watch()
            let begin = MonotonicClock.now()
            var last = try await studio.sending()
            try await waitUntil("bob sends the whole film: \(last)") {
                last = try await studio.sending()
                return last.width == NarrowStudio.width
            }
            path.set(LossyPath.Weather(uplink: Bottleneck(bitRate: Self.narrow / 2)))
            try await waitUntil("bob sends a smaller picture: \(last)") {
                last = try await studio.sending()
                return 1..<NarrowStudio.width ~= last.width
            }
            print("the guest sends \(last)")
            // With the next keyframe, which has come after so many pictures.
            try await viewer.receive(pictures: 60)
            #expect(try await stage.waitForOnAir("mix", users: ["alice", "bob"]).panes == panes)
            path.set(LossyPath.Weather())
            try await viewer.receive(pictures: 60)
            let task = try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            #expect(task.panes == panes && task.outputs.map(\.reconnects) == [0])
            viewer.stop()
            await studio.page.close()
            try await alice.leave()
            let sizes = try await Self.expectWholeProgram(await viewer.recording(), since: begin)
            #expect(sizes == ["\(NarrowStudio.width)x\(NarrowStudio.height)"], "the canvas stays")
        }
    }
}

/// The pictures of a recording.
private struct Decoded: Sendable {
    let pictures: Int
    /// Sizes as `640x360`.
    let sizes: Set<String>
    let errors: [String]

    /// Decodes a recording on a thread of its own.
    static func decode(_ recording: FLVRecording) async throws -> Decoded {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try Decoded(recording) }) }
            thread.start()
        }
    }

    private init(_ recording: FLVRecording) throws {
        var pictures = 0
        var sizes: Set<String> = []
        errors = try PictureDecoder.decode(recording.path) { _, picture in
            pictures += 1
            sizes.insert("\(picture.width)x\(picture.height)")
        }
        self.pictures = pictures
        self.sizes = sizes
    }
}
