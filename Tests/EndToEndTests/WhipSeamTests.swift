import EncodedMedia
import Foundation
import LayoutEngine
import MediaFormats
import NIOCore
import TestSupport
import Testing

@testable import ViewerProbe

/// Hosts and guests over WebRTC, and a viewer who records and judges every switch. Runs only with `MIX_LONG=1`, because
/// it needs an otherwise idle machine.
@Suite(.serialized, .enabled(if: TestLength.isLong)) struct WhipSeamTests {
    private static let canvas = Canvas(width: 360, height: 640, fps: 20)
    static let host = SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 800_000)
    private static let guest = SyntheticPublisher(id: 2, width: 360, height: 640, videoBitrate: 800_000)
    /// The time that a debug build, which shares two cores with the publisher and the viewer, may need in proportion to
    /// the limit for a release.
    private static let debugMargin = 1.5

    static func run(
        _ environment: [String: String] = [:], _ body: (Stage) async throws -> Void
    ) async throws {
        let variables = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on", "MIXORCHESTRATOR_WEBRTC_SILENCE": "5",
        ]
        try await Stage.run(canvas: canvas, environment: variables.merging(environment) { $1 }) { stage in
            try await stage.client.putRoom(
                stage.room, host: "alice", output: stage.media.cdn(stage.room), layout: stage.layout,
                canvas: stage.canvas)
            try await body(stage)
        }
    }

    private static func milliseconds(_ from: Int64, _ to: Int64) -> Double { (Double(to - from) / 1e5).rounded() / 10 }

    /// Starts a viewer of HTTP-FLV that waits for a program that has not begun, as a page does.
    ///
    /// - Returns: The time at which the first picture arrived, in ns of CLOCK_MONOTONIC.
    private static func firstPicture(_ stage: Stage, of room: String) async throws -> Int64 {
        while true {
            let body = try await stage.client.body("/live/\(room).flv")
            var reader = FLVReader()
            if let body {
                for try await buffer in body {
                    let isSeen = try reader.push(Array(buffer.readableBytesView)).contains { item in
                        if case .frame(let frame) = item { frame.track == .video } else { false }
                    }
                    if isSeen { return MonotonicClock.now() }
                }
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Measures the time from the posted offer to the first picture at a viewer of HTTP-FLV: for a service's first
    /// publisher (cold), and for the first publishers of other rooms (warm). A later publisher of the same room would
    /// join a program that already has pictures.
    @Test(.timeLimit(.minutes(8))) func theFirstPicture() async throws {
        try await Self.run { stage in
            var times: [Double] = []
            for room in [stage.room, "second", "third", "fourth"] {
                try await stage.client.putRoom(
                    room, host: "alice", output: stage.media.cdn(room), layout: stage.layout, canvas: stage.canvas)
                let alice = try await WhipPublisher(
                    "alice", Self.host, in: room, of: stage.client, files: stage.directory)
                async let picture = Self.firstPicture(stage, of: room)
                let begin = try await alice.publish()
                times.append(Self.milliseconds(begin, try await picture))
                try await alice.leave()
                // The next room has the machine to itself.
                try await stage.client.deleteRoom(room)
                try await waitUntil("the program of \(room) has ended") { stage.workers.isEmpty }
            }
            let warm = times.dropFirst().sorted()
            print("POST to the first picture at a viewer: cold \(times[0]) ms, warm \(warm) ms")
            #expect(times[0] <= 1000 * Self.debugMargin, "\(times)")
            #expect(warm[1] <= 600 * Self.debugMargin, "\(times)")
        }
    }

    /// Guests come and go at random times.
    @Test(.timeLimit(.minutes(6))) func joinsAtRandomTimes() async throws {
        var random = SeededGenerator(announcedFor: "WebRTC joins at random times")
        let joins = TestLength.of(short: 5, long: 20)
        try await Self.run { stage in
            let alice = try await WhipPublisher("alice", Self.host, on: stage)
            try await alice.publish()
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(3))
            var (joined, left): ([Int64], [Int64]) = ([], [])
            for _ in 0..<joins {
                let bob = try await WhipPublisher("bob", Self.guest, on: stage)
                joined.append(try await bob.publish())
                try await stage.waitForOnAir("mix", users: ["alice", "bob"])
                try await Task.sleep(for: .milliseconds(Int.random(in: 1200...2800, using: &random)))
                left.append(try await bob.leave())
                try await stage.waitForOnAir("bypass")
                try await Task.sleep(for: .milliseconds(Int.random(in: 1200...2800, using: &random)))
            }
            let report = try await stage.judge(viewer, expectedSwitches: 2 * joins, limits: Self.limits)
            let mixes = report.splices.filter { $0.to.hasPrefix("mix") }.compactMap(\.arrival)
            let returns = report.splices.filter { $0.to.hasPrefix("bypass") }.compactMap(\.arrival)
            let toMix = zip(joined, mixes).map { Self.milliseconds($0, $1) }
            let toBypass = zip(left, returns).map { Self.milliseconds($0, $1) }
            let task = try await stage.waitForOnAir("bypass")
            let latencies = task.switches.reversed().filter { $0.to == "bypass" }.map { $0.latencyMs.rounded() }
            print("guest's POST to the mix at a viewer in ms: \(toMix)")
            print("DELETE to the bypass at a viewer in ms: \(toBypass); from the event to the splice: \(latencies)")
            let offsets = report.splices.flatMap { [$0.avBeforeMs, $0.avAfterMs] }.compactMap(\.self)
            print("A/V in ms: \(offsets.map { $0.rounded() })")
            #expect(report.isWithinLimits, "seed \(random.seed)\n\(report.table)")
            #expect(report.splices.allSatisfy { $0.contentStep != nil })
            #expect(offsets.allSatisfy { abs($0) <= 40 }, "\(offsets)")
            try #require(mixes.count == joins && returns.count == joins)
            #expect(toMix.sorted()[joins / 2] <= 1200 && toMix.allSatisfy { $0 <= 5000 }, "\(toMix)")
            #expect(toBypass.sorted()[joins / 2] <= 300 && toBypass.allSatisfy { $0 <= 1000 }, "\(toBypass)")
            #expect(task.outputs.map(\.reconnects) == [0])
            try await alice.leave()
        }
    }

    /// WebRTC's times are those of its clocks, and RTMP's are whole ms: limits as for sources without a fixed rate.
    static var limits: ProbeLimits {
        var limits = ProbeLimits()
        limits.videoGapMs = 52
        limits.avShiftMs = 20
        return limits
    }

    /// Cameras drop a tenth of their pictures, as in poor light. A larger share would often leave no picture for 250 ms,
    /// which the program bridges as a stall.
    @Test(.timeLimit(.minutes(8))) func aHostWithoutAFixedRate() async throws {
        var random = SeededGenerator(announcedFor: "joins of a host without a fixed rate")
        let joins = TestLength.of(short: 5, long: 20)
        try await Self.run { stage in
            let alice = try await WhipPublisher("alice", Self.host, on: stage, dropping: 0.1)
            try await alice.publish()
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            for _ in 0..<joins {
                let bob = try await WhipPublisher("bob", Self.guest, on: stage, dropping: 0.1)
                try await bob.publish()
                try await stage.waitForOnAir("mix", users: ["alice", "bob"])
                try await Task.sleep(for: .milliseconds(Int.random(in: 1200...2800, using: &random)))
                try await bob.leave()
                try await stage.waitForOnAir("bypass")
                try await Task.sleep(for: .milliseconds(Int.random(in: 1200...2800, using: &random)))
            }
            let report = try await stage.judge(viewer, limits: Self.limits)
            #expect(report.decodeErrors.isEmpty && report.backwardTimestamps == 0 && report.blackMs == 0)
            // Chance may drop so many pictures in a row that the gap is bridged as a stall, with two more splices.
            let splices = report.splices.count
            #expect(0...4 ~= splices - 2 * joins && report.connections == 1, "\(report.table)")
            // The time by which the host's content advances at a seam, compared with the time between the two pictures.
            // It differs by one source frame if a picture was dropped there, and rarely by more.
            let steps = report.splices.compactMap { splice in
                splice.contentStep.map { abs(Double($0) * 1000 / Double(Self.host.fps) - splice.videoGapMs) }
            }
            #expect(steps.count == splices && steps.allSatisfy { $0 <= 152 }, "seed \(random.seed) \(steps)")
            #expect((steps.median ?? .infinity) <= 52, "\(steps)")
            // In a bypass, each dropped picture counts as frozen for one interval.
            #expect(report.frozenMs <= 0.15 * 1000 * report.seconds && report.videoIntervalsMs[2] <= 500)
            let offsets = report.splices.flatMap { [$0.avBeforeMs, $0.avAfterMs] }.compactMap(\.self)
            let shifts = report.splices.compactMap(\.avShiftMs)
            print("content steps \(steps), A/V \(offsets), shifts \(shifts), frozen \(report.frozenMs) ms")
            #expect(!shifts.isEmpty && shifts.allSatisfy { abs($0) <= 20 }, "\(shifts)")
            #expect(offsets.allSatisfy { abs($0) <= 40 }, "\(offsets)")
            try await alice.leave()
        }
    }

    /// Publishers who come and go leave no resources behind.
    @Test(.timeLimit(.minutes(10))) func publishersComeAndGo() async throws {
        let rounds = TestLength.of(short: 10, long: 100)
        try await Self.run { stage in
            struct Count: CustomStringConvertible {
                var threads: Int
                var descriptors: Int
                var processes: Int
                var mebibytes: Int
                var description: String {
                    "\(threads) threads, \(descriptors) fds, \(processes) processes, \(mebibytes) MiB"
                }
            }
            func count() throws -> Count {
                let all =
                    [stage.service.identifier]
                    + ProcessTable.descendants(of: stage.service.identifier).map(\.identifier)
                var count = Count(threads: 0, descriptors: 0, processes: all.count, mebibytes: 0)
                for id in all {
                    count.threads +=
                        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task").count) ?? 0
                    count.descriptors +=
                        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").count) ?? 0
                    let text = (try? String(contentsOfFile: "/proc/\(id)/statm", encoding: .utf8)) ?? ""
                    count.mebibytes += (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) / 256
                }
                return count
            }
            var counts: [Count] = []
            for round in 1...rounds {
                let alice = try await WhipPublisher("alice", Self.host, on: stage)
                try await alice.publish()
                try await stage.waitForOnAir("bypass")
                try await alice.leave()
                try await waitUntil("alice has left") { try await stage.client.users(stage.room).isEmpty }
                if round % (rounds / 5) == 0 {
                    try await Task.sleep(for: .seconds(1))
                    counts.append(try count())
                }
            }
            print("after every \(rounds / 5) of \(rounds) publishers: \(counts)")
            let (first, last) = (counts[0], counts[4])
            #expect(last.threads <= first.threads + 6 && last.descriptors <= first.descriptors + 6)
            #expect(last.processes <= first.processes && last.mebibytes <= first.mebibytes + 40)
        }
    }
}
