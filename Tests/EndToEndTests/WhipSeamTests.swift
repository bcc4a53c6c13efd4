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
    private static let host = SyntheticPublisher(id: 1, width: 360, height: 640, videoBitrate: 800_000)
    private static let guest = SyntheticPublisher(id: 2, width: 360, height: 640, videoBitrate: 800_000)

    private static func run(
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
    private static func firstPicture(_ stage: Stage) async throws -> Int64 {
        while true {
            let body = try await stage.client.body("/live/\(stage.room).flv")
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

    /// Measures the time from the posted offer of a service's first publisher to the first picture at a viewer of
    /// HTTP-FLV. It cannot be measured for later publishers, because the room's program continues without them.
    @Test(.timeLimit(.minutes(6))) func theFirstPicture() async throws {
        try await Self.run { stage in
            let alice = try await WhipPublisher("alice", Self.host, on: stage)
            async let picture = Self.firstPicture(stage)
            let begin = try await alice.publish()
            let time = Self.milliseconds(begin, try await picture)
            print("POST to the first picture at a viewer: \(time) ms")
            #expect(time <= 1500)
            try await alice.leave()
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
            #expect(toMix.sorted()[joins / 2] <= 2000 && toMix.allSatisfy { $0 <= 5000 }, "\(toMix)")
            #expect(toBypass.sorted()[joins / 2] <= 300 && toBypass.allSatisfy { $0 <= 1000 }, "\(toBypass)")
            #expect(task.outputs.map(\.reconnects) == [0])
            try await alice.leave()
        }
    }

    /// WebRTC's times are those of its clocks, and RTMP's are whole ms: limits as for sources without a fixed rate.
    private static var limits: ProbeLimits {
        var limits = ProbeLimits()
        limits.videoGapMs = 52
        limits.avShiftMs = 20
        return limits
    }

    /// Packets are lost and reordered, and for a second none arrives. Viewers see a whole picture all the time.
    @Test(.timeLimit(.minutes(6))) func aPoorNetwork() async throws {
        let random = SeededGenerator(announcedFor: "a poor network")
        try await Self.run { stage in
            let path = try LossyPath(seed: random)
            let alice = try await WhipPublisher("alice", Self.host, on: stage, through: path)
            try await alice.publish()
            try await stage.waitForOnAir("bypass")
            var results: [String] = []
            for (name, weather) in [
                ("5 % lost", LossyPath.Weather(loss: 0.05)), ("50 ms jitter", LossyPath.Weather(jitter: 50)),
                ("both", LossyPath.Weather(loss: 0.05, jitter: 50)),
            ] {
                path.set(weather)
                let viewer = try await stage.record(stage.media.cdn(stage.room), as: name.replacing(" ", with: "-"))
                try await Task.sleep(for: .seconds(10))
                let report = try await stage.judge(viewer, expectedSwitches: nil, limits: Self.limits)
                results.append(
                    "\(name): \(report.decodeErrors.count) decode errors, frozen \(report.frozenMs) ms, black \(report.blackMs) ms, "
                        + "intervals \(report.videoIntervalsMs), \(report.sources.map { "lost \($0.lost) repeated \($0.repeated)" })"
                )
                #expect(report.decodeErrors.isEmpty && report.backwardTimestamps == 0, "seed \(random.seed) \(name)")
                #expect(report.blackMs == 0 && report.connections == 1)
                // A packet that is lost together with its retransmissions costs the pictures up to the next keyframe.
                #expect(report.frozenMs <= 1000, "seed \(random.seed) \(name)")
            }
            path.set(LossyPath.Weather())
            try await Task.sleep(for: .seconds(2))
            let viewer = try await stage.record(stage.media.cdn(stage.room), as: "outage")
            try await Task.sleep(for: .seconds(3))
            path.set(LossyPath.Weather(isOut: true))
            try await Task.sleep(for: .seconds(1))
            path.set(LossyPath.Weather())
            try await Task.sleep(for: .seconds(5))
            let report = try await stage.judge(viewer, limits: Self.limits)
            results.append(
                "1 s outage: \(report.decodeErrors.count) decode errors, frozen \(report.frozenMs) ms, black \(report.blackMs) ms, "
                    + "intervals \(report.videoIntervalsMs), switches \(report.switches.map(\.to))")
            #expect(report.decodeErrors.isEmpty && report.backwardTimestamps == 0 && report.blackMs == 0)
            #expect(try await stage.client.users(stage.room) == ["alice"])
            print(results.joined(separator: "\n"))
            print("packets passed and lost: \(path.counts)")
            try await alice.leave()
            path.stop()
        }
    }

    /// A camera drops pictures in poor light.
    @Test(.timeLimit(.minutes(6))) func aHostWithoutAFixedRate() async throws {
        try await Self.run { stage in
            let alice = try await WhipPublisher("alice", Self.host, on: stage, dropping: 0.2)
            try await alice.publish()
            try await stage.waitForOnAir("bypass")
            let viewer = try await stage.watch()
            try await Task.sleep(for: .seconds(2))
            for _ in 0..<3 {
                let bob = try await WhipPublisher("bob", Self.guest, on: stage, dropping: 0.2)
                try await bob.publish()
                try await stage.waitForOnAir("mix", users: ["alice", "bob"])
                try await Task.sleep(for: .seconds(2))
                try await bob.leave()
                try await stage.waitForOnAir("bypass")
                try await Task.sleep(for: .seconds(2))
            }
            let report = try await stage.judge(viewer, expectedSwitches: 6, limits: Self.limits)
            #expect(report.decodeErrors.isEmpty && report.backwardTimestamps == 0 && report.blackMs == 0)
            #expect(report.splices.count == 6, "\(report.table)")
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
