import Foundation
import MixModel
import Synchronization
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// How a URL is pulled: with a socket of our own, or through `rtmp2src`, which stays for URLs with a user name.
enum RTMPPullKind: String, CaseIterable, Sendable {
    case socket, element
}

/// Reads a stream through a pull and keeps what came.
final class PullRecorder: Sendable {
    private struct State {
        var reader = FLVReader()
        var frames: [FLVTag] = []
        var arrivals: [Int64] = []
        var configurations: [[UInt8]] = []
        var ended: [String] = []
        var bytes = 0
        var afterEnd = 0
        /// What came, without the FLV header, if events hold whole tags.
        var tags: [[UInt8]] = []
        /// When the first bytes came, in ns of CLOCK_MONOTONIC.
        var begunAt: Int64?
    }
    private let state: Shared
    private let pull: any SourcePull

    private final class Shared: Sendable { let state = Mutex(State()) }

    init(
        url: String, _ kind: RTMPPullKind = .socket, trust: TLSContext? = nil, connectTimeout: Int = 2,
        idleTimeout: Int = 15
    ) {
        let shared = Shared()
        state = shared
        let receive: @Sendable (PullEvent) -> Void = { event in
            shared.state.withLock { state in
                switch event {
                case .ended(let reason): state.ended.append(reason)
                case .bytes(let bytes, let arrival):
                    state.bytes += bytes.count
                    var rest = bytes.dropFirst(state.begunAt == nil ? FLVTag.fileHeader.count : 0)
                    // Over HTTP the bytes are cut anywhere.
                    while rest.count >= 15 {
                        let length = rest.dropFirst().prefix(3).reduce(0) { $0 << 8 | Int($1) } + 15
                        state.tags.append(Array(rest.prefix(length)))
                        rest = rest.dropFirst(length)
                    }
                    state.begunAt = state.begunAt ?? arrival
                    if !state.ended.isEmpty { state.afterEnd += 1 }
                    for item in (try? state.reader.push(bytes)) ?? [] {
                        switch item {
                        case .frame(let frame):
                            state.frames.append(FLVTag(frame, origin: .zero))
                            state.arrivals.append(arrival)
                        case .configuration(let configuration):
                            state.configurations.append(
                                FLVTag(configuration, at: .zero, origin: .zero).body)
                        case .metadata: break
                        }
                    }
                }
            }
        }
        pull =
            if url.hasPrefix("http") {
                HTTPPull.open(url, onEvent: receive)
            } else if kind == .socket {
                RTMPSocketPull.open(
                    url, trust: trust, connectTimeout: connectTimeout, idleTimeout: idleTimeout, onEvent: receive)
            } else {
                RTMPPull.open(url, connectTimeout: connectTimeout, idleTimeout: idleTimeout, onEvent: receive)
            }
    }

    var frames: [FLVTag] { state.state.withLock { $0.frames } }
    var arrivals: [Int64] { state.state.withLock { $0.arrivals } }
    var configurations: [[UInt8]] { state.state.withLock { $0.configurations } }
    var endings: [String] { state.state.withLock { $0.ended } }
    var eventsAfterEnd: Int { state.state.withLock { $0.afterEnd } }
    /// The server has answered: the FLV header is there.
    var hasBegun: Bool { state.state.withLock { $0.bytes > 0 } }
    var tags: [[UInt8]] { state.state.withLock { $0.tags } }
    var begunAt: Int64? { state.state.withLock { $0.begunAt } }
    func stop() { pull.stop() }
    func close() async { await pull.close() }
}

@Suite(.serialized, .timeLimit(.minutes(3))) struct PullRTMPTests {
    /// B-frames' composition times, AAC and payload come through, in real time.
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
        #expect(try await outputEventually { pull.frames.filter { $0.kind == .video }.count >= sent.count })
        let got = pull.frames.filter { $0.kind == .video }
        #expect(got.map(\.body) == sent.map(\.body))
        #expect(Set(zip(got, sent).map { $0.timestamp &- $1.timestamp }).count == 1)
        #expect(Set(got.map { Array($0.body[2..<5]) }).count > 2, "no B-frames in the test stream")
        // No bunching: nothing is held until the next frame comes.
        let lateness = zip(pull.frames, pull.arrivals).map { $1 / 1_000_000 - Int64($0.timestamp) }.sorted()
        let median = lateness[lateness.count / 2] - (lateness.first ?? 0)
        #expect(median < 60, "frames come \(median) ms later than the earliest")
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
        #expect(pull.endings.first?.contains("secret-key") == false)
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func aServerThatGoesAwayEndsThePull(_ kind: RTMPPullKind) async throws {
        let server = try await OutputMediaServer.start()
        let output = RTMPOutput(PlannedOutput(id: "o", url: server.url("gone")), preamble: [])
        async let playing: Void = output.play(try await outputProgram(seconds: 4))
        let pull = PullRecorder(url: server.url("gone"), kind)
        #expect(try await outputEventually { pull.frames.count > 20 })
        try server.signal(SIGKILL)
        #expect(try await outputEventually { !pull.endings.isEmpty })
        #expect(pull.eventsAfterEnd == 0)
        try await playing
        await output.close()
        await pull.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func silenceEndsThePullAfterItsLimit(_ kind: RTMPPullKind) async throws {
        let server = try await OutputMediaServer.start()
        let pull = PullRecorder(url: server.url("nobody"), kind, idleTimeout: 1)
        #expect(try await outputEventually(within: .seconds(6)) { !pull.endings.isEmpty })
        await pull.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func stoppingIsQuickAndSilentAtAnyMoment(_ kind: RTMPPullKind) async throws
    {
        let server = try await OutputMediaServer.start()
        for delay in [0, 1, 5, 20, 60, 150, 400] {
            let pull = PullRecorder(url: server.url("nobody"), kind)
            try await Task.sleep(for: .milliseconds(delay))
            let start = ContinuousClock.now
            await pull.close()
            #expect(ContinuousClock.now - start < .seconds(1), "after \(delay) ms")
            #expect(pull.endings.isEmpty)
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
        // GLib's pool lets go of idle threads after a while.
        let isClean = try await outputEventually(within: .seconds(30)) {
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
        let server = try await OutputMediaServer.start()
        let directory = server.directory.appendingPathComponent("http")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let tags = try await outputProgram(seconds: 2)
        try Data(FLVTag.fileHeader + tags.flatMap(\.encoded)).write(to: directory.appendingPathComponent("a.flv"))
        let web = Process()
        web.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let port = server.httpPort + 1
        web.arguments = [
            "ffmpeg", "-v", "quiet", "-i", directory.appendingPathComponent("a.flv").path, "-c", "copy", "-f", "flv",
            "-listen", "1", "http://127.0.0.1:\(port)/a.flv",
        ]
        try web.run()
        var pulls: [PullRecorder] = []
        #expect(
            try await outputEventually {
                if let last = pulls.last, last.endings.isEmpty || !last.frames.isEmpty {
                    return last.frames.count >= 40
                }
                pulls.append(PullRecorder(url: "http://127.0.0.1:\(port)/a.flv"))
                return false
            })
        for pull in pulls { await pull.close() }
        web.terminate()
        await server.remove()
    }
}
