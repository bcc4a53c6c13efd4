import Foundation
import MixModel
import Synchronization
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// Failures of destinations, with a real nginx-rtmp. Times are printed, not judged.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OutputFaultTests {
    private static func output(
        _ id: String, _ url: String, retry: OutputRetry? = nil, limits: OutputQueue.Limits = OutputQueue.Limits()
    ) -> DestinationOutput {
        DestinationOutput(
            PushDestination(id: OutputID(id), url: url, retry: retry), preamble: [], limits: limits,
            connect: RTMPOutput.makeConnection)
    }

    private static func ms(since start: ContinuousClock.Instant) -> Int {
        Int((ContinuousClock.now - start) / .milliseconds(1))
    }

    // MARK: Refused

    /// nginx-rtmp closes the connection when its `on_publish` refuses; the last request shows what was refused.
    @Test(arguments: RTMPPullKind.allCases) func aWrongKeyIsToldFromTroubleOfTheNetwork(_ kind: RTMPPullKind)
        async throws
    {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 60)
        let output = DestinationOutput(server.url("name?key=wrong-key", application: "guarded"), kind)
        try await output.whilePlaying(tags) { () async throws in
            #expect(try await outputEventually { output.status.state == .recovering })
        }
        print("on_publish says no, \(kind):", output.status.lastErrorCode ?? "", output.status.lastError ?? "")
        #expect(output.status.lastErrorCode == .publishRefused)
        #expect(output.status.lastError?.contains(kind == .socket ? "is the stream key correct?" : "'publish'") == true)
        #expect(output.status.lastError?.contains("wrong-key") == false)
        #expect(output.status.bytesSent == 0 && output.status.reconnects == 0)
        await output.close()
        let good = DestinationOutput(server.url("name?key=right", application: "guarded"), kind)
        try await good.whilePlaying(tags) { () async throws in
            #expect(try await outputEventually { good.status.state == .live })
        }
        #expect(good.status.lastErrorCode == nil)
        await good.close()
        await server.remove()
    }

    @Test func anApplicationThatIsNotThereIsNamed() async throws {
        let server = try await OutputMediaServer.start()
        let output = Self.output("o", server.url("key", application: "nosuch"))
        #expect(try await outputEventually { output.status.state == .recovering })
        #expect(output.status.lastErrorCode == .applicationRefused)
        #expect(output.status.lastError?.contains("is there an application nosuch?") == true)
        await output.close()
        await server.remove()
    }

    @Test func namesAndPlacesThatAreNone() async throws {
        let nobody = Self.output("a", "rtmp://127.0.0.1:1/live/key")
        let unknown = Self.output("b", "rtmp://no-such-host.invalid/live/key")
        let web = try RTMPOddServer(saying: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), closes: true)
        let other = Self.output("c", "rtmp://127.0.0.1:\(web.port)/live/key")
        for (output, code) in [
            (nobody, OutputErrorCode.connectionRefused), (unknown, .unresolvable), (other, .protocolError),
        ] {
            #expect(try await outputEventually { output.status.lastErrorCode == code }, "\(output.status)")
            #expect(output.status.state == .recovering)
            await output.close()
        }
        web.stop()
    }

    @Test func whoIsGivenUpIsTriedAgainWhenAskedTo() async throws {
        let server = try await OutputMediaServer.start()
        let ports = (server.rtmpPort, server.httpPort)
        await server.stop()
        let tags = try await outputProgram(seconds: 60)
        let output = Self.output("o", server.url("later"), retry: OutputRetry(maxAttempts: 3))
        let playing = Task { try await output.play(tags) }
        #expect(try await outputEventually { output.status.state == .failed })
        #expect(output.status.lastErrorCode == .connectionRefused)
        #expect(output.status.lastError?.hasPrefix("given up after 3 attempts: cannot connect") == true)
        let again = try await OutputMediaServer.start(in: server.directory, ports: ports)
        #expect(output.status.state == .failed)
        output.retryNow()
        #expect(try await outputEventually { output.status.state == .live })
        playing.cancel()
        _ = await playing.result
        await output.close()
        await again.remove()
    }

    // MARK: Away and back

    /// After each of three outages of one server, the destination continues with an IDR and later timestamps.
    @Test func aServerThatIsBackGetsTheProgramAtOnce() async throws {
        var server = try await OutputMediaServer.start()
        let ports = (server.rtmpPort, server.httpPort)
        let tags = try await outputProgram(seconds: 90)
        let output = Self.output("o", server.url("back"))
        let playing = Task { try await output.play(tags) }
        #expect(try await outputEventually { output.status.state == .live })
        var last: UInt32 = 0
        var delays: [Int] = []
        for outage in [1, 3, 7] {
            await server.stop()
            #expect(try await outputEventually { output.status.state == .recovering })
            try await Task.sleep(for: .seconds(outage))
            server = try await OutputMediaServer.start(in: server.directory, ports: ports)
            let start = ContinuousClock.now
            #expect(try await outputEventually { output.status.state == .live }, "\(output.status)")
            let delay = Self.ms(since: start)
            print("server back after \(outage) s: live after \(delay) ms")
            delays.append(delay)
            let viewer = PullRecorder(url: server.url("back"))
            #expect(try await outputEventually { viewer.frames.contains { $0.kind == .video } })
            #expect(viewer.frames.first { $0.kind == .video }?.isIDR == true)
            let first = try #require(viewer.frames.first).timestamp
            #expect(first > last)
            last = try #require(viewer.frames.last).timestamp
            await viewer.close()
        }
        #expect(output.status.reconnects == 3)
        #expect(delays.sorted()[1] <= 1000, "\(delays)")
        playing.cancel()
        _ = await playing.result
        await output.close()
        await server.remove()
    }

    /// The connection stays open without a reader, and no error ever arrives.
    ///
    /// The output notices it even before the server has acknowledged often enough to be known for it.
    @Test(arguments: [(300, 4), (300, 1), (1500, 4)])
    func aConnectionThatIsWedgedIsNoticed(kilobits: Int, seconds: Int) async throws {
        let server = try await OutputMediaServer.start()
        let proxy = try FaultyProxy(to: server.rtmpPort)
        let tags = try await outputProgram(seconds: 60, bitrate: "\(kilobits)k")
        let output = Self.output("o", "rtmp://127.0.0.1:\(proxy.port)/live/wedged")
        let playing = Task { try await output.play(tags) }
        #expect(try await outputEventually { output.status.state == .live })
        try await output.expectWedgeNoticed(
            "frozen proxy, \(kilobits) kbit/s for \(seconds) s",
            afterBytes: Int64(kilobits * seconds) * 1000 / 8
        ) { proxy.set(.frozen) }
        try await Task.sleep(for: .seconds(2))
        proxy.set(.pass)
        let thawed = ContinuousClock.now
        #expect(try await outputEventually { output.status.state == .live })
        print("frozen proxy, \(kilobits) kbit/s: live again after \(Self.ms(since: thawed)) ms")
        playing.cancel()
        _ = await playing.result
        await output.close()
        proxy.stop()
        await server.remove()
    }

    /// The kernel of a hung server accepts bytes for minutes: only messages of the server itself prove that it reads.
    @Test func aServerThatHangsIsNoticedAlthoughItsMachineTakesBytes() async throws {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 60, bitrate: "1500k")
        let output = Self.output("o", server.url("hangs"))
        let playing = Task { try await output.play(tags) }
        #expect(try await outputEventually { output.status.state == .live })
        try await output.expectWedgeNoticed("server hangs", afterBytes: 800_000) { try server.signal(SIGSTOP) }
        try server.signal(SIGCONT)
        #expect(try await outputEventually { output.status.state == .live })
        playing.cancel()
        _ = await playing.result
        await output.close()
        await server.remove()
    }

    // MARK: Many

    /// The same program goes to a good destination alone, and to a good one beside four that are refused, black-holed,
    /// slow and flapping. Both run at once, so that other load on the machine affects both alike.
    @Test func badDestinationsHarmNobody() async throws {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 15, bitrate: "1500k")
        let frozen = try FaultyProxy(to: server.rtmpPort, .frozen)
        let slow = try FaultyProxy(to: server.rtmpPort, .slow(60_000))
        let flapping = try FaultyProxy(to: server.rtmpPort, .cut(300_000))
        let alone = Self.output("alone", server.url("alone"))
        let beside = Self.output("beside", server.url("beside"))
        let bad = [
            Self.output("refused", server.url("x?key=wrong", application: "guarded")),
            Self.output("frozen", "rtmp://127.0.0.1:\(frozen.port)/live/frozen"),
            Self.output("slow", "rtmp://127.0.0.1:\(slow.port)/live/slow", limits: .init(milliseconds: 2_000)),
            Self.output("flapping", "rtmp://127.0.0.1:\(flapping.port)/live/flapping"),
        ]
        let viewers = [PullRecorder(url: server.url("alone")), PullRecorder(url: server.url("beside"))]
        #expect(try await outputEventually { viewers.allSatisfy(\.hasBegun) })
        // The order alternates, so that neither is always first.
        try await play(tags) { tag, index in
            if index % 2 == 0 { alone.send([tag]) }
            let shared = [OutputTag(tag)]
            beside.send(shared: shared)
            for output in bad { output.send(shared: shared) }
            if index % 2 == 1 { alone.send([tag]) }
        }
        let count = tags.count { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { viewers.allSatisfy { $0.frames.count == count } },
            "\(viewers.map(\.frames.count)) of \(count) frames, \(viewers.map(\.endings))")
        for output in [alone, beside] {
            let status = output.status
            #expect(
                status.state == .live && status.reconnects == 0 && output.droppedFrames == 0, "\(status)")
        }
        print(
            "refused:", bad[0].status.lastErrorCode ?? "", "slow: dropped", bad[2].droppedFrames, "flapping:",
            bad[3].status.reconnects)
        #expect(bad[0].status.lastErrorCode == .publishRefused, "\(bad[0].status)")
        #expect(bad[1].status.state != .live, "\(bad[1].status)")
        #expect(bad[2].droppedFrames > 0, "\(bad[2].status)")
        #expect(try await outputEventually { bad[3].status.reconnects > 0 }, "\(bad[3].status)")
        let lateness = viewers.map { viewer in Self.lateness(viewer.arrivals, viewer.frames) }
        for (name, values) in zip(["alone ", "beside"], lateness) {
            print("spacing, \(name): lateness in ms \(values)")
        }
        // Median and 95 %; the maximum depends on the machine. A destination that waits for one of the bad ones waits
        // for seconds.
        for (values, limit) in zip(zip(lateness[0], lateness[1]), [20.0, 100]) {
            #expect(values.1 - values.0 <= limit, "\(lateness)")
        }
        for output in [alone, beside] + bad { await output.close() }
        for viewer in viewers { await viewer.close() }
        for proxy in [frozen, slow, flapping] { proxy.stop() }
        await server.remove()
    }

    @Test func tenDestinationsComeAndGoWithoutTouchingEachOther() async throws {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 10)
        let outputs = (0..<10).map { Self.output("o\($0)", server.url("ten-\($0)")) }
        let viewers = (0..<10).map { PullRecorder(url: server.url("ten-\($0)")) }
        #expect(try await outputEventually { viewers.allSatisfy(\.hasBegun) })
        let late = Mutex<[DestinationOutput]>([])
        let endings = Mutex<[Task<Void, Never>]>([])
        var preamble: [FLVTag] = []
        try await play(tags) { tag, index in
            if case .frame = tag.role {} else { preamble.append(tag) }
            let shared = [OutputTag(tag)]
            for output in outputs { output.send(shared: shared) }
            for output in late.withLock({ $0 }) { output.send(shared: shared) }
            if index == tags.count / 3 {
                for output in outputs.prefix(3) { endings.withLock { $0.append(Task { await output.close() }) } }
            }
            if index == tags.count / 2 {
                late.withLock { late in
                    late = (10..<12).map { number in
                        DestinationOutput(
                            PushDestination(id: OutputID("o\(number)"), url: server.url("ten-\(number)")),
                            preamble: preamble)
                    }
                }
            }
        }
        for ending in endings.withLock({ $0 }) { await ending.value }
        let count = tags.count { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { viewers[3...].allSatisfy { $0.frames.count == count } },
            "\(viewers.map(\.frames.count)) of \(count) frames, \(viewers.map(\.endings))")
        for output in outputs[3...] {
            let status = output.status
            #expect(
                status.state == .live && status.reconnects == 0 && output.droppedFrames == 0, "\(status)")
        }
        for output in late.withLock({ $0 }) {
            #expect(
                try await outputEventually { output.status.state == .live && output.status.bytesSent > 0 },
                "\(output.status)")
            await output.close()
        }
        for output in outputs { await output.close() }
        for viewer in viewers { await viewer.close() }
        await server.remove()
    }

    /// Sends tags at the times of their timestamps.
    private func play(_ tags: [FLVTag], _ send: (FLVTag, Int) -> Void) async throws {
        let start = ContinuousClock.now
        for (index, tag) in tags.enumerated() {
            let due = start + .milliseconds(Int(tag.timestamp))
            if due > .now { try await Task.sleep(until: due) }
            send(tag, index)
        }
    }

    /// Returns the delay of each frame relative to the earliest, against its timestamp: median, 95 % and maximum.
    private static func lateness(_ arrivals: [Int64], _ frames: [FLVTag]) -> [Double] {
        let delays = zip(arrivals, frames).map { Double($0) / 1e6 - Double($1.timestamp) }.dropFirst(20)
        guard let least = delays.min() else { return [] }
        let sorted = delays.map { $0 - least }.sorted()
        return [sorted.count / 2, sorted.count * 95 / 100, sorted.count - 1].map { (sorted[$0] * 10).rounded() / 10 }
    }
}
