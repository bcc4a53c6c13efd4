import Foundation
import TestSupport
import Testing
import TextFormats

@testable import ProgramRelay
@testable import RTMP

/// Bare connections that find out when the servers of sources are up.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ConnectionProbeTests {
    private static func probe(_ host: String, _ port: Int) async -> PullEnd? {
        let limits = Destination.Limits(reach: .loopback, setting: "sources.allow")
        let destination = Destination(scheme: "rtsp", host: host, port: UInt16(port), limits: limits)
        do throws(PullEnd) {
            try await ConnectionProbe.run(destination, timeout: 30, URLRedaction("rtsp://\(host):\(port)/secret"))
        } catch { return error }
        return nil
    }

    @Test func whetherAServerListensIsFoundOut() async throws {
        let listener = try LoopbackListener()
        #expect(await Self.probe("127.0.0.1", listener.port) == nil)
        close(listener.descriptor)
        let nobody = try ReservedPort()
        #expect(await Self.probe("127.0.0.1", nobody.number)?.kind == .unreachable)
        withExtendedLifetime(nobody) {}
        #expect(await Self.probe("10.1.2.3", 554)?.kind == .notAllowed)
        #expect(await Self.probe("no-such-host.invalid", 554)?.kind == .unreachable)
    }

    /// A hundred sources whose single server is down are probed for a second without much work.
    @Test func aHundredSourcesAskWithoutMuchWork() async throws {
        let nobody = try ReservedPort()
        let port = nobody.number
        let probes = 100 * 1000 / SourceRetry.away.lowerBound
        var times: [Duration] = []
        for _ in 0..<3 {
            let began = ProcessorTime.now
            let ends = await withTaskGroup(of: PullEnd.Kind?.self) { group in
                for _ in 0..<probes { group.addTask { await Self.probe("127.0.0.1", port)?.kind } }
                return await group.reduce(into: [PullEnd.Kind?]()) { $0.append($1) }
            }
            times.append(ProcessorTime.now - began)
            #expect(ends.count == probes && ends.allSatisfy { $0 == .unreachable })
        }
        times.sort()
        print("\(probes) attempts: \(times) of processor time")
        // Pulls in separate processes would cost as much for only a few of them.
        #expect(times[1] < .seconds(1))
        withExtendedLifetime(nobody) {}
    }

    /// Processor time of all threads of this process.
    private enum ProcessorTime {
        static var now: Duration {
            var time = timespec()
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
    }
}
