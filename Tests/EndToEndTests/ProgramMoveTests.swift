import EncodedMedia
import Foundation
import NIOCore
import StoreSupport
import TestSupport
import Testing

@testable import ViewerProbe

/// Planned moves with real relays, as seen by a destination that accepts everything.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ProgramMoveTests {
    private struct Drained: Decodable {
        struct Kept: Decodable {
            var room: String
            var reason: String
        }
        var moved: Int
        var left: Int
        var kept: [Kept]?
    }

    /// Longest permitted time between two pictures at a move, in seconds.
    private static let longestFreeze = 0.5

    private static func open(_ room: String, _ stage: ClusterStage, _ receiver: RTMPReceiver) async throws {
        try await stage.a.client.putRoom(
            room, host: "alice", output: receiver.url(room), layout: "side-by-side", canvas: .portrait)
        try await stage.a.client.published(room, user: "alice", url: stage.source, role: "host")
    }

    /// Returns whether frames of the stream have arrived within the last second.
    private static func flows(_ room: String, to receiver: RTMPReceiver) -> Bool {
        let last = receiver.senders(of: room).compactMap { $0.frames.last?.at }.max() ?? 0
        return MonotonicClock.now() - last < 1_000_000_000
    }

    /// Checks the recording of a viewer of HTTP-FLV: one connection, on which timestamps continue.
    private static func expectNoSeam(_ seen: FLVRecording) throws {
        let error = seen.lastError.map { "\($0)" }
        #expect(seen.connections == 1 && error == nil, "\(seen.connections), \(error ?? "")")
        let trace = try seen.trace()
        for track in [trace.video, trace.audio] {
            let times = track.map(\.frame.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "timestamps go on")
        }
        let arrivals = trace.video.compactMap(\.arrival)
        let freeze = zip(arrivals, arrivals.dropFirst()).map { $1 - $0 }.max() ?? 0
        let gap = zip(trace.video, trace.video.dropFirst()).map { $1.frame.dts - $0.frame.dts }.max() ?? .zero
        print("a viewer of the node that was drained: longest freeze \(freeze / 1_000_000) ms, longest step \(gap)")
        #expect(gap < .milliseconds(500), "pictures are not lost")
        if TestLength.isLong { #expect(Double(freeze) / 1e9 < longestFreeze) }
    }

    /// Waits until the destinations receive from the relays that took over last.
    private static func waitUntilMoved(_ rooms: [String], times moves: Int, _ receiver: RTMPReceiver) async throws {
        func senders() -> [Int] { rooms.map { receiver.senders(of: $0).count } }
        try await waitUntil("all rooms have moved \(moves) times: \(senders()) senders") {
            senders().allSatisfy { $0 > moves }
        }
    }

    /// Checks the arrivals at the destinations of programs that have moved this often.
    private static func expectMoved(_ rooms: [String], times moves: Int, _ receiver: RTMPReceiver) {
        var freezes: [Double] = []
        for room in rooms {
            let senders = receiver.senders(of: room)
            freezes += receiver.freezes(of: room)
            #expect(senders.count == 1 + moves, "\(room): one reconnect for each move, \(senders.count) senders")
            // Two relays that send at once go on until one is ended. A shorter overlap is a frame that a busy receiver
            // has read late.
            #expect(receiver.overlap(of: room).seconds < 0.15, "\(room): \(receiver.overlap(of: room))")
            for isVideo in [true, false] {
                let times = senders.flatMap(\.frames).filter { $0.isVideo == isVideo }.map(\.timestamp)
                #expect(zip(times, times.dropFirst()).allSatisfy { $0 <= $1 }, "\(room): timestamps go on")
            }
            #expect(senders.last?.frames.first(where: \.isVideo)?.isIDR == true)
        }
        guard !freezes.isEmpty else {
            Issue.record("nothing was received after a move")
            return
        }
        freezes.sort()
        let (median, longest) = (freezes[(freezes.count - 1) / 2], freezes[freezes.count - 1])
        let figures = [median, longest].map { "\(Int($0 * 1000)) ms" }
        print("\(freezes.count) moves, freeze: median \(figures[0]), longest \(figures[1])")
        // The limit of each move is for an idle machine; elsewhere one stall must not fail the few moves of the short form.
        if TestLength.isLong { #expect(longest < longestFreeze) } else { #expect(median < 2 * longestFreeze) }
    }

    /// Each destination is connected to once more, two relays never send to it at once, and its viewers hardly notice.
    /// Viewers of the node stay connected to it. The same holds after SIGTERM.
    @Test(.timeLimit(.minutes(10))) func aDrainMovesPrograms() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        try await ClusterStage.run(lease: 10) { stage in
            let rooms = (0..<TestLength.of(short: 2, long: 20)).map { "room-\($0)" }
            for room in rooms { try await Self.open(room, stage, receiver) }
            try await waitUntil("all are on air") { rooms.allSatisfy { Self.flows($0, to: receiver) } }
            let address = "http://127.0.0.1:\(stage.a.client.port)/live/\(rooms[rooms.count - 1]).flv"
            let viewer = try await stage.record(address, as: "viewer")
            try await Task.sleep(for: .seconds(2))
            let answer = try await stage.a.client.request("POST", "/v1/node/drain", within: .seconds(300))
            let drained = try JSONDecoder().decode(Drained.self, from: answer.body)
            #expect(drained.moved == rooms.count && drained.left == 0, "\(answer.text)")
            try await Self.waitUntilMoved(rooms, times: 1, receiver)
            try await Task.sleep(for: .seconds(2))
            viewer.stop()
            try Self.expectNoSeam(await viewer.recording())
            Self.expectMoved(rooms, times: 1, receiver)

            // A service that is asked to stop moves its programs first.
            #expect(try await stage.a.client.request("DELETE", "/v1/node/drain").status == 204)
            kill(stage.b.service.identifier, SIGTERM)
            try await waitUntil("node b has ended", within: 180) { !stage.b.service.isRunning }
            #expect(stage.b.service.exitStatus == 0, "\(stage.b.service.messages())")
            try await Self.waitUntilMoved(rooms, times: 2, receiver)
            try await Task.sleep(for: .seconds(1))
            Self.expectMoved(rooms, times: 2, receiver)
        }
    }

    /// A process of either node is killed or stalls at any moment of a move, and resumes. Two relays never send at once
    /// for longer than the data in flight takes, and the program comes back.
    @Test(.timeLimit(.minutes(60))) func movesThatAreDisturbed() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        var random = SeededGenerator(announcedFor: "disturbed moves")
        try await ClusterStage.run(lease: 3) { stage in
            try await Self.open("demo", stage, receiver)
            var nodes = [stage.a, stage.b]
            for trial in 0..<TestLength.of(short: 2, long: 100) {
                try await waitUntil("trial \(trial): the program is on air") {
                    Self.flows("demo", to: receiver)
                }
                let owner = nodes[nodes.firstIndex { !$0.relays.isEmpty } ?? 0].client
                let drain = Task { try? await owner.request("POST", "/v1/node/drain", within: .seconds(40)) }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0..<2500, using: &random)))
                nodes = try await Self.disturb(nodes, stage, &random)
                drain.cancel()
                for node in nodes { _ = try? await node.client.request("DELETE", "/v1/node/drain") }
                let overlap = receiver.overlap(of: "demo")
                #expect(overlap.seconds < 0.3 && overlap.bytes < 256 << 10, "trial \(trial): \(overlap)")
            }
            try await waitUntil("the program is on air in the end") { Self.flows("demo", to: receiver) }
            let senders = receiver.senders(of: "demo").count
            print("\(senders) senders one after another, longest overlap of two: \(receiver.overlap(of: "demo"))")
        }
    }

    /// Kills or stops one process, or all of a node, and lets them resume.
    private static func disturb(
        _ nodes: [ClusterStage.Node], _ stage: ClusterStage, _ random: inout SeededGenerator
    ) async throws -> [ClusterStage.Node] {
        var nodes = nodes
        let index = Int.random(in: 0..<nodes.count, using: &random)
        let node = nodes[index]
        let pause = Duration.milliseconds(Int.random(in: 100..<6000, using: &random))
        let relay = node.relays.randomElement(using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            kill(node.service.identifier, SIGKILL)
            try await Task.sleep(for: pause)
            nodes[index] = try await stage.restart(node)
        case 1: if let relay { kill(relay, SIGKILL) }
        case 2:
            kill(node.service.identifier, SIGSTOP)
            try await Task.sleep(for: pause)
            kill(node.service.identifier, SIGCONT)
        case 3:
            guard let relay else { break }
            kill(relay, SIGSTOP)
            try await Task.sleep(for: pause)
            kill(relay, SIGCONT)
        default:
            node.freeze(true)
            try await Task.sleep(for: pause)
            node.freeze(false)
        }
        return nodes
    }
}
