import EncodedMedia
import StoreSupport
import TestSupport
import Testing

/// For how long a program is off air when its node is lost, as its destination sees it.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct NodeLossTests {
    private static let lease = 12
    /// Seconds after the lease within which another node's first frame must have come: a machine that runs other tests may
    /// need longer to start a relay.
    private static let patience = TestLength.of(short: 4.0, long: 2.0)

    @Test(.timeLimit(.minutes(8))) func aLostNodeIsReplacedInTime() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        try await ClusterStage.run(lease: Self.lease) { stage in
            var nodes = [stage.a, stage.b, try await stage.start("c")]
            try await stage.a.client.putRoom(
                "demo", host: "alice", output: receiver.url("demo"), layout: "side-by-side", canvas: .portrait)
            try await stage.a.client.published("demo", user: "alice", url: stage.source, role: "host")
            func senders() -> [RTMPReceiver.Publication] { receiver.senders(of: "demo") }
            func isOnAir() -> Bool { (senders().last?.frames.count ?? 0) > 100 }

            /// Kills the node of the room with all of its workers. Returns the seconds until another node's first frame.
            func loseNode(isKnown: Bool) async throws -> Double {
                try await waitUntil("the program is on air") { isOnAir() }
                let lost = nodes.remove(at: try #require(nodes.firstIndex { !$0.relays.isEmpty }))
                let before = senders().count
                let killed = MonotonicClock.now()
                lost.destroy()
                if isKnown { try await stage.expel(lost) }
                try await waitUntil("another node sends") { senders().count > before }
                return Double(senders()[before].frames[0].at - killed) / 1e9
            }
            let known = try await loseNode(isKnown: true)
            let unknown = try await loseNode(isKnown: false)
            print(
                "off air for \(known) s after an expelled node, \(unknown) s after one whose lease of \(Self.lease) s ran out"
            )
            #expect(known < TestLength.of(short: 9.0, long: 5.0))
            #expect(unknown < Double(Self.lease) + Self.patience)
            let times = senders().flatMap { $0.frames.filter(\.isVideo).map(\.timestamp) }
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "timestamps go on")
        }
    }
}
