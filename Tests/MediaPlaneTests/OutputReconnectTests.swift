import EncodedMedia
import Foundation
import MixModel
import Synchronization
import TestSupport
import Testing
import TextFormats

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// An RTMP output whose server asks it to reconnect, over real sockets and with a program of a real encoder.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OutputReconnectTests {
    /// The results that an output reports.
    private final class Outcomes: Sendable {
        private let state = Mutex<[ReconnectOutcome]>([])
        func add(_ outcome: ReconnectOutcome) { state.withLock { $0.append(outcome) } }
        var all: [ReconnectOutcome] { state.withLock { $0 } }
    }

    /// Calls from the loop, and whether the results came from within one of them.
    private final class Calls: Sendable {
        private struct State {
            var isCalling = false
            var results: [Bool] = []
        }
        private let state = Mutex(State())

        var results: [Bool] { state.withLock { $0.results } }

        func noteResult() { state.withLock { $0.results.append($0.isCalling) } }

        func call(_ body: @escaping @Sendable () -> Void) async {
            await withCheckedContinuation { continuation in
                SocketLoop.shared.perform { [self] in
                    state.withLock { $0.isCalling = true }
                    body()
                    state.withLock { $0.isCalling = false }
                    continuation.resume()
                }
            }
        }
    }

    private static func output(
        _ url: String, reach: Reach? = nil, policy: ReconnectMachine.Policy = ReconnectMachine.Policy(),
        _ outcomes: Outcomes
    ) -> DestinationOutput {
        DestinationOutput(
            PushDestination(id: "o", url: url), reach: reach, preamble: [],
            connect: { url, limits, _ in
                try RTMPSocketConnection(url: url, limits: limits, policy: policy) { outcomes.add($0) }
            })
    }

    private static func frames(_ tags: [FLVTag], _ kind: FLVTag.Kind? = nil) -> [FLVTag] {
        tags.filter { tag in
            guard case .frame = tag.role else { return false }
            return kind == nil || tag.kind == kind
        }
    }

    /// Plays the whole program, during which `body` acts once the output is live.
    private func play(
        _ tags: [FLVTag], to output: DestinationOutput, _ body: () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await output.play(tags) }
            #expect(try await outputEventually { output.status.state == .live }, "\(output.status)")
            try await body()
            try await group.waitForAll()
        }
    }

    /// Each frame reaches exactly one of the servers, in order and with its own timestamp.
    @Test func aProgramGoesOnAtAnotherServer() async throws {
        let (old, new) = (try ReconnectingServer(), try ReconnectingServer())
        let tags = try await outputProgram(seconds: 8)
        let outcomes = Outcomes()
        let output = Self.output(old.url, outcomes)
        try await play(tags, to: output) {
            old.ask(ReconnectRequest(target: .reference("//127.0.0.1:\(new.port)/other"), words: "stream-key is tired"))
            // Others during the move change nothing.
            old.ask(ReconnectRequest(target: .reference("/nowhere")))
            let isMet = try await outputEventually { !outcomes.all.isEmpty }
            #expect(isMet, "\(output.status)")
        }
        #expect(output.status.state == .live && output.status.reconnects == 0 && output.status.lastError == nil)
        #expect(output.status.connectedSince != nil)
        await output.close()
        let sent = Self.frames(tags)
        #expect(try await outputEventually { old.seen.frames.count + new.seen.frames.count >= sent.count })
        let (before, after) = (old.seen.frames, new.seen.frames)
        #expect(before + after == sent, "\(before.count) and \(after.count) of \(sent.count) frames")
        #expect(after.first?.isIDR == true && !before.isEmpty)
        // Headers of the moment precede the IDR.
        let start = after.first?.timestamp
        let headers = new.seen.tags.first?.prefix { $0.role != .frame(.video, isIDR: true) } ?? []
        #expect(headers.map(\.role).suffix(2) == [.sequenceHeader(.video), .sequenceHeader(.audio)])
        #expect(headers.allSatisfy { $0.timestamp == start })
        #expect(new.seen.requests.map(\.application) == ["other"] && new.seen.requests.map(\.name) == ["stream-key"])
        #expect(try await outputEventually { old.seen.left == 1 && new.seen.left == 1 }, "both were told of the end")
        #expect(old.seen.connections == 1 && new.seen.connections == 1)
        #expect(outcomes.all.map(\.code) == ["output-moved"])
        #expect(outcomes.all.first?.words.contains("rtmp://127.0.0.1:\(new.port) ") == true, "\(outcomes.all)")
        #expect(outcomes.all.first?.words.contains("tired") == true)
        #expect(outcomes.all.first?.words.contains("stream-key") == false, "\(outcomes.all)")
        old.stop()
        new.stop()
    }

    enum Trouble: CaseIterable, Sendable {
        case refused, unanswered, nobody, notAllowed, badURL
    }

    /// Nothing is lost at the present server if the other one does not take the program.
    @Test(arguments: Trouble.allCases) func theProgramStaysWhereItIs(_ trouble: Trouble) async throws {
        let old = try ReconnectingServer()
        let new = try ReconnectingServer(trouble == .refused ? .refuses : .isSilent)
        if trouble == .nobody { new.stop() }
        let tags = try await outputProgram(seconds: 8)
        let outcomes = Outcomes()
        let reach = Reach(places: [Reach.Place(scheme: "rtmp", address: "127.0.0.1", port: old.port)])
        var policy = ReconnectMachine.Policy()
        // The others answer, for which a busy machine may need longer.
        if trouble == .unanswered { policy.hold = 300_000_000 }
        let output = Self.output(
            old.url, reach: trouble == .notAllowed ? reach : nil, policy: policy, outcomes)
        let place = trouble == .badURL ? "rtmpt://h/live" : "rtmp://127.0.0.1:\(new.port)/live"
        try await play(tags, to: output) {
            old.ask(ReconnectRequest(target: .reference(place)))
            let isMet = try await outputEventually { !outcomes.all.isEmpty }
            #expect(isMet, "\(output.status)")
        }
        #expect(output.status.state == .live && output.status.reconnects == 0 && output.status.lastError == nil)
        await output.close()
        let sent = Self.frames(tags)
        #expect(try await outputEventually { old.seen.frames.count >= sent.count })
        #expect(old.seen.frames == sent, "\(old.seen.frames.count) of \(sent.count) frames")
        #expect(new.seen.frames.isEmpty)
        #expect(outcomes.all.map(\.code) == ["output-stays"] && outcomes.all.first?.isBad == true)
        let words = outcomes.all.first?.words ?? ""
        let expected =
            switch trouble {
            case .refused: "not this one"
            case .unanswered: "did not accept the stream within 300 ms"
            case .nobody: "Connection refused"
            case .notAllowed: "outputs.allow"
            case .badURL: "its tcUrl is not valid"
            }
        #expect(words.contains(expected), "\(words)")
        #expect(!words.contains("stream-key"), "\(words)")
        if trouble == .notAllowed { #expect(new.seen.connections == 0) }
        old.stop()
        new.stop()
    }

    /// The output calls its connection with its own lock held, and the relay asks it for its state as soon as there is a result.
    @Test func resultsComeOutsideOfCalls() async throws {
        let server = try ReconnectingServer()
        let calls = Calls()
        var policy = ReconnectMachine.Policy()
        policy.pause = 500_000_000
        let connection = try RTMPSocketConnection(url: server.url, policy: policy) { _ in calls.noteResult() }
        await connection.open {}
        #expect(try await outputEventually { connection.hasBegun })
        // The first one has its result at once; the second one waits for an observation after the pause.
        for _ in 0..<2 { server.ask(ReconnectRequest(target: .reference("rtmpt://h/live"))) }
        let isMet = try await outputEventually {
            await calls.call { _ = connection.observe(at: MonotonicClock.now()) }
            return calls.results.count == 2
        }
        #expect(isMet && calls.results == [false, false], "\(calls.results)")
        await connection.close()
        server.stop()
    }

    /// A server that goes away after its request, before a keyframe has come, is left like any other that is lost.
    @Test func aServerThatDoesNotWaitIsReconnectedAsUsual() async throws {
        let old = try ReconnectingServer()
        let new = try ReconnectingServer()
        let tags = try await outputProgram(seconds: 60)
        let outcomes = Outcomes()
        let output = Self.output(old.url, outcomes)
        try await output.whilePlaying(tags) { () async throws in
            #expect(try await outputEventually { output.status.state == .live })
            old.ask(ReconnectRequest(target: .reference("rtmp://127.0.0.1:\(new.port)/live")))
            old.stop()
            #expect(try await outputEventually { output.status.state == .recovering }, "\(output.status)")
        }
        await output.close()
        #expect(output.status.lastErrorCode != nil && outcomes.all.isEmpty)
        #expect(new.seen.requests.isEmpty)
        new.stop()
    }

    /// The service's ingest asks, as at the end of a drain. Its player gets each picture once.
    @Test func aPlayerOfOurIngestMissesNothing() async throws {
        let rig = try await IngestRig.start()
        defer { rig.stop() }
        let tags = try await outputProgram(seconds: 8)
        let player = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { player.progress.hasBegun }, "\(rig.account)")
        let outcomes = Outcomes()
        let output = Self.output(rig.publishURL("alice"), outcomes)
        try await play(tags, to: output) {
            rig.send(.reconnect(reason: "an update"))
            let isMet = try await outputEventually { !outcomes.all.isEmpty }
            #expect(isMet, "\(rig.account)")
        }
        #expect(outcomes.all.map(\.code) == ["output-moved"], "\(outcomes.all)")
        #expect(output.status.state == .live && output.status.reconnects == 0)
        #expect(player.progress.end == nil, "\(rig.account)")
        await output.close()
        // The end follows the last frame.
        #expect(try await outputEventually { player.progress.end != nil }, "\(rig.account)")
        #expect(player.progress.end?.kind == .unpublished)
        let pictures = Self.heads(Self.frames(tags, .video))
        let shown = Self.frames(player, .video)
        #expect(shown.map { $0.head } == pictures, "\(shown.count) of \(pictures.count) pictures; \(rig.account)")
        #expect(zip(shown, shown.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
        let sound = Self.heads(Self.frames(tags, .audio))
        let heard = Self.frames(player, .audio).map { $0.head }
        // A player begins with a picture, before which there may be sound.
        #expect(heard == Array(sound.suffix(heard.count)) && heard.count > sound.count - 10)
        #expect(rig.reports.count { if case .ask = $0 { true } else { false } } == 2, "\(rig.account)")
        #expect(try await outputEventually { rig.ended("alice") == 1 }, "\(rig.account)")
        #expect(rig.interrupted("alice") == 0)
        #expect(rig.reports.contains(.reconnecting(publishers: 1)))
        #expect(try await outputEventually { rig.reports.contains(.reconnecting(publishers: 0)) }, "\(rig.account)")
        player.stop()
    }

    /// Returns as much of the frames as `IngestPlayer` keeps.
    private static func heads(_ tags: [FLVTag]) -> [[UInt8]] { tags.map { Array($0.body.prefix(16)) } }

    /// Returns the frames that a player has got, without the headers.
    private static func frames(
        _ player: IngestPlayer, _ kind: RTMPMessage.Kind
    ) -> [(head: [UInt8], timestamp: UInt32)] {
        player.progress.tags.filter { $0.kind == kind && $0.head.dropFirst().first == 1 }
            .map { (head: $0.head, timestamp: $0.timestamp) }
    }
}
