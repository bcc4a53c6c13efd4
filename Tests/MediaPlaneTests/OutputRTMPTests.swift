import Foundation
import MixModel
import ProgramSplicer
import Synchronization
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

extension DestinationOutput {
    /// Creates an output that publishes with the given `kind`.
    convenience init(
        _ url: String, _ kind: RTMPPullKind, policy: OutputMachine.Policy = OutputMachine.Policy(),
        limits: OutputQueue.Limits = OutputQueue.Limits()
    ) {
        self.init(
            PushDestination(id: "o", url: url), preamble: [], policy: policy, limits: limits,
            connect: { url, limits, name in
                switch kind {
                case .socket: try RTMPSocketConnection(url: url, limits: limits)
                case .element: try RTMPConnection(url: url, limits: limits, name: name)
                }
            })
    }
}

/// A destination at a real media server, with a socket of our own and through `rtmp2sink`.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OutputRTMPTests {
    /// Timestamps, composition times and payload reach a viewer as sent: nothing is rewritten.
    @Test(arguments: RTMPPullKind.allCases) func tagsArriveAsTheyWereSent(_ kind: RTMPPullKind) async throws {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 4)
        let viewer = PullRecorder(url: server.url("same"))
        // The viewer connects first and misses nothing.
        #expect(try await outputEventually { viewer.hasBegun })
        let output = DestinationOutput(server.url("same"), kind)
        try await output.play(tags)
        let sent = tags.filter { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { viewer.frames.count >= sent.count },
            "\(viewer.frames.count) of \(sent.count) frames, \(viewer.endings); \(output.status)")
        await output.close()
        await viewer.close()
        let got = viewer.frames
        for track in [FLVTag.Kind.video, .audio] {
            #expect(got.filter { $0.kind == track } == sent.filter { $0.kind == track })
        }
        #expect(
            viewer.configurations
                == tags.compactMap { tag in
                    if case .sequenceHeader = tag.role { tag.body } else { nil }
                })
        #expect(output.status.bytesSent > 0 && output.status.reconnects == 0)
        #expect(output.droppedFrames == 0)
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func aDestinationThatComesLateGetsTheProgramFromItsFirstFrame(
        _ kind: RTMPPullKind
    ) async throws {
        let server = try await OutputMediaServer.start()
        let ports = (server.rtmpPort, server.httpPort)
        await server.stop()
        let output = DestinationOutput(server.url("late-key"), kind)
        let tags = try await outputProgram(seconds: 60)
        try await output.whilePlaying(tags) { () async throws in
            #expect(try await outputEventually { output.status.state == .recovering })
            #expect(output.status.lastError?.contains("refused") == true)
            #expect(output.status.lastErrorCode == .connectionRefused)
            #expect(output.status.lastError?.contains("late-key") == false)
            _ = try await OutputMediaServer.start(in: server.directory, ports: ports)
            #expect(try await outputEventually { output.status.state == .live })
            #expect(output.status.reconnects == 0 && output.status.connectedSince != nil)
            let viewer = PullRecorder(url: server.url("late-key"))
            #expect(try await outputEventually { viewer.frames.contains { $0.kind == .video } })
            #expect(viewer.frames.first { $0.kind == .video }?.isIDR == true)
            await viewer.close()
        }
        await output.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func aServerThatRestartsGetsHeadersAndAnIDR(_ kind: RTMPPullKind)
        async throws
    {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 60)
        let output = DestinationOutput(server.url("again"), kind)
        try await output.whilePlaying(tags) { () async throws in
            #expect(try await outputEventually { output.status.state == .live })
            let sent = output.status.bytesSent
            await server.stop()
            #expect(try await outputEventually { output.status.state == .recovering })
            _ = try await OutputMediaServer.start(in: server.directory, ports: (server.rtmpPort, server.httpPort))
            #expect(try await outputEventually { output.status.state == .live })
            let viewer = PullRecorder(url: server.url("again"))
            #expect(try await outputEventually { viewer.frames.contains { $0.kind == .video } })
            #expect(try await outputEventually { viewer.configurations.count == 2 }, "\(viewer.endings)")
            #expect(viewer.frames.first { $0.kind == .video }?.isIDR == true)
            #expect(output.status.reconnects == 1)
            #expect(try await outputEventually { output.status.bytesSent > sent })
            await viewer.close()
        }
        await output.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func closingTellsTheServerAtOnce(_ kind: RTMPPullKind) async throws {
        let server = try await OutputMediaServer.start()
        let output = DestinationOutput(server.url("bye"), kind)
        try await output.play(try await outputProgram(seconds: 2), speed: 2)
        #expect(try await outputEventually { try await server.isPublished("bye") })
        let start = ContinuousClock.now
        await output.close()
        // An output waits longer for data that it cannot send, and a server that receives nothing reacts only after a
        // minute.
        #expect(ContinuousClock.now - start < .seconds(3))
        #expect(try await outputEventually(within: .seconds(30)) { try await !server.isPublished("bye") })
        await output.close()
        await server.remove()
    }

    @Test(arguments: RTMPPullKind.allCases) func aServerThatNeverAnswersIsGivenUpAndDoesNotHoldTheClose(
        _ kind: RTMPPullKind
    ) async throws {
        let silent = try RTMPOddServer()
        var policy = OutputMachine.Policy()
        policy.connectLimit = 1_000_000_000
        let output = DestinationOutput("rtmp://127.0.0.1:\(silent.port)/live/key", kind, policy: policy)
        output.send(try await outputProgram(seconds: 1))
        #expect(try await outputEventually { output.status.state == .recovering })
        #expect(output.status.bytesSent == 0)
        #expect(output.status.lastErrorCode == .timeout)
        let start = ContinuousClock.now
        await output.close()
        #expect(ContinuousClock.now - start < .seconds(9))
    }

    /// The server stops reading: the caller is not blocked, memory stays bounded, and the stream continues when the
    /// server resumes.
    @Test(arguments: RTMPPullKind.allCases) func aServerThatStopsReadingCostsOnlyItsOwnFrames(_ kind: RTMPPullKind)
        async throws
    {
        let server = try await OutputMediaServer.start()
        var policy = OutputMachine.Policy()
        policy.stallLimit = 5_000_000_000
        // Real headers, then 20 Mbit/s, which fill the sockets' buffers within seconds.
        let headers = try await outputProgram(seconds: 1).filter { tag in
            if case .frame = tag.role { false } else { true }
        }
        let noise = [UInt8](repeating: 0x55, count: 100_000)
        let frames = (0..<900).map { index -> FLVTag in
            let isIDR = index % 25 == 0
            let head: [UInt8] = [isIDR ? 0x17 : 0x27, 1, 0, 0, 0]
            return FLVTag(
                role: .frame(.video, isIDR: isIDR), timestamp: UInt32(index * 40), body: head + noise)
        }
        let tags = headers + frames
        let output = DestinationOutput(
            server.url("stuck"), kind, policy: policy,
            limits: .init(milliseconds: 2_000, bytes: 8 << 20))
        let playing = Task { try await output.play(tags) }
        #expect(try await outputEventually { output.status.bytesSent > 200_000 })
        try server.signal(SIGSTOP)
        var times: [Duration] = []
        #expect(
            try await outputEventually {
                let start = ContinuousClock.now
                output.send([])
                times.append(ContinuousClock.now - start)
                return output.droppedFrames > 0
            })
        times.sort()
        let longest = try #require(times.last)
        print("sending to a server that reads nothing: median \(times[times.count / 2]), longest \(longest)")
        // A caller who waits for the server would wait until the connection is given up. A busy machine delays it too.
        #expect(times[times.count * 9 / 10] < .milliseconds(100) && longest < .seconds(4), "\(times.suffix(10))")
        #expect(try await outputEventually { output.status.state == .recovering })
        try server.signal(SIGCONT)
        #expect(try await outputEventually { output.status.state == .live && output.status.reconnects >= 1 })
        playing.cancel()
        _ = await playing.result
        await output.close()
        await server.remove()
    }

    @Test func aURLThatIsNoneFailsForGoodAndSaysWhatOneIs() async throws {
        let output = DestinationOutput(PushDestination(id: "o", url: "nonsense"), preamble: [])
        output.send(try await outputProgram(seconds: 1))
        #expect(try await outputEventually { output.status.state == .failed })
        #expect(output.status.lastErrorCode == .badURL)
        #expect(output.status.lastError?.contains("expected rtmp://host[:port]/application/stream") == true)
        await output.close()
    }

    /// The data queued when an output is closed reaches the server, even if the connection was only begun. With
    /// `rtmp2sink` some of it is lost.
    @Test func closingSendsWhatWaits() async throws {
        let server = try await OutputMediaServer.start()
        let viewer = PullRecorder(url: server.url("brief"))
        #expect(try await outputEventually { viewer.hasBegun })
        let tags = try await outputProgram(seconds: 2)
        let output = DestinationOutput(server.url("brief"), .socket)
        output.send(tags)
        // Before that there is no connection to close.
        #expect(try await outputEventually { output.hasConnection })
        await output.close()
        let count = tags.count { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { viewer.frames.count == count },
            "\(viewer.frames.count) of \(count) frames, \(viewer.endings); \(output.status)")
        await viewer.close()
        await server.remove()
    }

    /// A server's refusal is reported in its own words, and leads to another attempt.
    @Test func aNameThatIsTakenIsToldOf() async throws {
        let server = try await OutputMediaServer.start()
        let tags = try await outputProgram(seconds: 60)
        let first = DestinationOutput(server.url("name-taken"), .socket)
        try await first.whilePlaying(tags) { () async throws in
            #expect(try await outputEventually { try await server.isPublished("name-taken") })
            let second = DestinationOutput(server.url("name-taken"), .socket)
            second.send(tags)
            #expect(try await outputEventually { second.status.state == .recovering })
            #expect(second.status.lastError?.contains("NetStream.Publish.BadName") == true, "\(second.status)")
            #expect(second.status.lastErrorCode == .publishRefused)
            #expect(second.status.lastError?.contains("name-taken") == false)
            #expect(first.status.reconnects == 0)
            await second.close()
        }
        await first.close()
        await server.remove()
    }
}
