import Foundation
import TestSupport
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

@Suite(.serialized) struct LeakTests {
    /// After many joins and leaves, the relay has about as many threads and descriptors as after some. No mixer is left
    /// except the one that waits for the next join, and the relay's memory has grown by at most a few MB. Every mixer
    /// ended by itself when told to, and neither the relay nor any mixer leaks a GStreamer object.
    @Test(.timeLimit(.minutes(20))) func joinsAndLeavesLeaveNothingBehind() async throws {
        try await Stage.run(environment: LeakTracer.environment) { stage in
            try await stage.publish(
                "alice", SyntheticPublisher(id: 1, width: 360, height: 640, gopSeconds: 0.25, videoBitrate: 600_000))
            try await stage.publish(
                "bob", SyntheticPublisher(id: 2, width: 360, height: 640, gopSeconds: 0.25, videoBitrate: 600_000))
            try await stage.open(host: "alice")
            let relay = try stage.relay()
            let first = TestLength.of(short: 6, long: 10)
            for _ in 0..<first { try await joinAndLeave(stage) }
            let before = try await settled(relay)
            let more = TestLength.of(short: 10, long: 90)
            for _ in 0..<more { try await joinAndLeave(stage) }
            var after = try await settled(relay)
            // Thread pools vary by a few; a thread or a descriptor lost per join would be `more`.
            try? await waitUntil("threads and descriptors have ended") {
                after = Self.use(relay)
                return after.threads <= before.threads + 6 && after.descriptors <= before.descriptors + 6
            }
            print("relay after \(first): \(before); after \(first + more): \(after)")
            #expect(try stage.relay() == relay, "the relay was started again")
            #expect(after.threads <= before.threads + 6, "\(before), then \(after)")
            #expect(after.descriptors <= before.descriptors + 6, "\(before), then \(after)")
            #expect(after.resident - before.resident < 16_000, "\(before), then \(after)")
            let task = try await stage.waitForOnAir("bypass")
            #expect(task.outputs.map(\.reconnects) == [0])

            var log = ""
            try await waitUntil("every mixer but one has ended") {
                log = stage.relayLog() ?? ""
                return log.matches(of: #/mixer \d+ has ended, /#).count + 1
                    == log.matches(of: #/mixer \d+ started, pid /#).count
            }
            let pids = log.matches(of: #/mixer \d+ started, pid (\d+)/#).compactMap { Int32($0.output.1) }
            let ends = log.matches(of: #/mixer \d+ has ended, (.+)/#).map { String($0.output.1) }
            // A guest who joins again while a mixer is being left continues with it; the number of times depends on the
            // machine.
            #expect(pids.count >= (first + more) / 4, "\(pids.count) mixers in \(first + more) rounds")
            #expect(ends == Array(repeating: "exit code 0", count: pids.count - 1), "\(Set(ends))")

            try await stage.close()
            // The last mixer ends with the relay, and writes its report at its end.
            try? await waitUntil("every mixer has reported") {
                pids.allSatisfy { LeakTracer.report(of: $0, in: stage.directory).listed != nil }
            }
            // A relay that pulls and pushes RTMP never starts GStreamer, and then has no report.
            #expect([nil, 0].contains(LeakTracer.report(of: relay, in: stage.directory).listed), "relay")
            for pid in pids {
                let report = LeakTracer.report(of: pid, in: stage.directory)
                #expect(report == LeakTracer.Report(listed: 0, objects: []), "mixer \(pid)")
            }
        }
    }

    /// A mixer inherits no blocked signal, and the relay replaces it.
    @Test(.timeLimit(.minutes(12))) func aMixerEndsOnSIGTERM() async throws {
        try await Stage.run { stage in
            for (id, name) in [(1, "alice"), (2, "bob")] {
                try await stage.publish(
                    name, SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 0.5, videoBitrate: 600_000))
            }
            try await stage.open(host: "alice")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let relay = try stage.relay()
            let mixer = try #require(ProcessTable.descendants(of: relay).first).identifier
            kill(mixer, SIGTERM)
            try await waitUntil("the mixer has ended") {
                !ProcessTable.descendants(of: relay).contains { $0.identifier == mixer }
            }
            try await waitUntil("another one runs") {
                ProcessTable.descendants(of: relay).contains { $0.identifier != mixer }
            }
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
        }
    }

    private func joinAndLeave(_ stage: Stage) async throws {
        try await stage.join("bob")
        try await stage.waitForOnAir("mix", users: ["alice", "bob"])
        try await stage.leave("bob")
        try await stage.waitForOnAir("bypass")
    }

    private struct Use: CustomStringConvertible {
        var threads: Int
        var descriptors: Int
        /// Resident memory in kB.
        var resident: Int

        var description: String { "\(threads) threads, \(descriptors) descriptors, \(resident) kB" }
    }

    /// Returns the relay's use of resources after its last mixer has ended and the next one waits.
    private func settled(_ relay: Int32) async throws -> Use {
        var left: [ProcessTable.Entry] = []
        try await waitUntil("one mixer is left: \(left)") {
            left = ProcessTable.descendants(of: relay)
            return left.count == 1
        }
        // Threads of pools end some time after their work.
        try await Task.sleep(for: .seconds(6))
        return Self.use(relay)
    }

    private static func use(_ relay: Int32) -> Use {
        Use(
            threads: ProcessTable.threads(of: relay), descriptors: ProcessTable.descriptors(of: relay),
            resident: ProcessTable.resident(of: relay))
    }
}
