import Foundation
import MixModel
import Synchronization
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// The method of pulling a URL: with a socket of our own, or through `rtmp2src`, which stays for URLs with a user name.
enum RTMPPullKind: String, CaseIterable, Sendable {
    case socket, element
}

/// Keeps the stream received through a pull.
final class PullRecorder: Sendable {
    private struct State {
        var items: [MediaItem] = []
        var frames: [FLVTag] = []
        var arrivals: [Int64] = []
        var ended: [PullEnd] = []
        var afterEnd = 0
        /// Time of the server's answer, in ns of CLOCK_MONOTONIC.
        var begunAt: Int64?
    }
    private let state: Shared
    private let pull: any SourcePull

    private final class Shared: Sendable { let state = Mutex(State()) }

    /// A recorder pulls once: its limits leave room for a machine that stands still for seconds.
    init(
        url: String, _ kind: RTMPPullKind = .socket, trust: TLSContext? = nil, connectTimeout: Int = 15,
        idleTimeout: Int = 30
    ) {
        let shared = Shared()
        state = shared
        let receive: @Sendable (PullEvent) -> Void = { event in
            shared.state.withLock { state in
                if !state.ended.isEmpty { state.afterEnd += 1 }
                switch event {
                case .ended(let end): state.ended.append(end)
                case .connected: state.begunAt = MonotonicClock.now()
                case .media(let items, let arrival):
                    state.items += items
                    for case .frame(let frame) in items {
                        state.frames.append(FLVTag(frame, origin: .zero))
                        state.arrivals.append(arrival)
                    }
                }
            }
        }
        let options = PullOptions(connectTimeout: connectTimeout, idleTimeout: idleTimeout)
        let request = PullRequest(url: url, options: options, trust: trust)
        pull =
            if url.hasPrefix("http") {
                HTTPPull.open(PullRequest(url: url, options: HTTPPull.options), onEvent: receive)
            } else if kind == .socket {
                RTMPSocketPull.open(request, onEvent: receive)
            } else {
                RTMPPull.open(request, onEvent: receive)
            }
    }

    var items: [MediaItem] { state.state.withLock { $0.items } }
    var frames: [FLVTag] { state.state.withLock { $0.frames } }
    var arrivals: [Int64] { state.state.withLock { $0.arrivals } }
    /// The bodies of the sequence headers.
    var configurations: [[UInt8]] {
        items.compactMap { item in
            guard case .configuration(let configuration) = item else { return nil }
            return FLVTag(configuration, at: .zero, origin: .zero).body
        }
    }
    var ends: [PullEnd] { state.state.withLock { $0.ended } }
    var endings: [String] { ends.map(\.words) }
    var eventsAfterEnd: Int { state.state.withLock { $0.afterEnd } }
    /// Whether the server has answered.
    var hasBegun: Bool { begunAt != nil }
    var begunAt: Int64? { state.state.withLock { $0.begunAt } }
    func stop() { pull.stop() }
    func close() async { await pull.close() }
}

@Suite(.serialized, .timeLimit(.minutes(6))) struct PullRTMPTests {
    /// B-frames' composition times, AAC and payload arrive unchanged, in real time.
    @Test(arguments: RTMPPullKind.allCases) func whatIsPublishedArrivesIntactAndAtOnce(_ kind: RTMPPullKind)
        async throws
    {
        let server = try await OutputMediaServer.start()
        let file = server.directory.appendingPathComponent("program.flv")
        let tags = try await outputProgram(seconds: 4)
        try Data(FLVTag.fileHeader + tags.flatMap(\.encoded)).write(to: file)
        let pull = PullRecorder(url: server.url("p?token=x"), kind)
        #expect(try await outputEventually { pull.hasBegun })
        let status = try await outputTool(
            "/usr/bin/env",
            ["ffmpeg", "-v", "error", "-re", "-i", file.path, "-c", "copy", "-f", "flv", server.url("p")])
        #expect(status == 0)
        let sent = tags.filter { $0.kind == .video && $0.role != .sequenceHeader(.video) }
        #expect(
            try await outputEventually { pull.frames.filter { $0.kind == .video }.count >= sent.count },
            "\(pull.frames.count) frames, \(pull.endings)")
        let got = pull.frames.filter { $0.kind == .video }
        #expect(got.map(\.body) == sent.map(\.body))
        #expect(Set(zip(got, sent).map { $0.timestamp &- $1.timestamp }).count == 1)
        #expect(Set(got.map { Array($0.body[2..<5]) }).count > 2, "no B-frames in the test stream")
        // No bunching: no frame is held until the next one arrives.
        let lateness = zip(pull.frames, pull.arrivals).map { $1 / 1_000_000 - Int64($0.timestamp) }.sorted()
        let median = lateness[lateness.count / 2] - (lateness.first ?? 0)
        #expect(median < 150, "frames come \(median) ms later than the earliest")
        await pull.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func aRefusedConnectionEndsOnceWithTheReasonAndWithoutTheKey(
        _ kind: RTMPPullKind
    ) async throws {
        let server = try await OutputMediaServer.start()
        await server.stop()
        let pull = PullRecorder(url: server.url("secret-key"), kind)
        #expect(try await outputEventually { !pull.endings.isEmpty })
        await pull.close()
        #expect(pull.endings.count == 1)
        #expect(pull.endings.first?.contains("refused") == true)
        #expect(pull.ends.first.map { [.unreachable, .lost, .refused].contains($0.kind) } == true)
        #expect(pull.endings.first?.contains("secret-key") == false)
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func aServerThatGoesAwayEndsThePull(_ kind: RTMPPullKind) async throws {
        let server = try await OutputMediaServer.start()
        let output = DestinationOutput(PushDestination(id: "o", url: server.url("gone")), preamble: [])
        let pull = PullRecorder(url: server.url("gone"), kind)
        try await output.whilePlaying(try await outputProgram(seconds: 60)) { () async throws in
            #expect(try await outputEventually { pull.frames.count > 20 }, "\(pull.endings) \(output.status)")
            try server.signal(SIGKILL)
            #expect(try await outputEventually { !pull.endings.isEmpty })
            #expect(pull.eventsAfterEnd == 0)
        }
        await output.close()
        await pull.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func silenceEndsThePullAfterItsLimit(_ kind: RTMPPullKind) async throws {
        let server = try await OutputMediaServer.start()
        let pull = PullRecorder(url: server.url("nobody"), kind, idleTimeout: 1)
        #expect(try await outputEventually { !pull.endings.isEmpty })
        await pull.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func stoppingIsQuickAndSilentAtAnyMoment(_ kind: RTMPPullKind) async throws
    {
        let server = try await OutputMediaServer.start()
        for delay in [0, 1, 5, 20, 60, 150, 400] {
            var times: [Duration] = []
            for _ in 0..<3 {
                let pull = PullRecorder(url: server.url("nobody"), kind)
                try await Task.sleep(for: .milliseconds(delay))
                let start = ContinuousClock.now
                await pull.close()
                times.append(ContinuousClock.now - start)
                #expect(pull.endings.isEmpty)
            }
            #expect(times.sorted()[1] < .seconds(1), "after \(delay) ms: \(times)")
        }
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func aHundredPullsLeaveNoThreadAndNoDescriptor(_ kind: RTMPPullKind)
        async throws
    {
        let server = try await OutputMediaServer.start()
        func rounds(_ count: Int) async throws {
            for _ in 0..<count {
                let pull = PullRecorder(url: server.url("nobody"), kind)
                #expect(try await outputEventually { pull.hasBegun })
                await pull.close()
            }
        }
        try await rounds(10)
        let before = try Self.resources()
        try await rounds(100)
        // GLib's pool ends idle threads after a while.
        let isClean = try await outputEventually(within: .seconds(60)) {
            let now = try Self.resources()
            return now.descriptors <= before.descriptors + 2 && now.threads <= before.threads + 4
        }
        let after = try Self.resources()
        #expect(isClean, "before \(before), after \(after)")
        await server.remove()
    }

    private static func resources() throws -> (descriptors: Int, threads: Int) {
        let manager = FileManager.default
        return (
            try manager.contentsOfDirectory(atPath: "/proc/self/fd").count,
            try manager.contentsOfDirectory(atPath: "/proc/self/task").count
        )
    }

    @Test func flvOverHTTPComesThroughToo() async throws {
        let server = try await HLSServer()
        defer { server.stop() }
        let tags = try await outputProgram(seconds: 2)
        try server.write("a.flv", FLVTag.fileHeader + tags.flatMap(\.encoded))
        let pull = PullRecorder(url: server.url + "/a.flv")
        let isOver = try await outputEventually { !pull.endings.isEmpty }
        #expect(isOver && pull.frames.count >= 40, "\(pull.frames.count) frames, \(pull.endings)")
        await pull.close()
    }
}
