import Foundation
import MixModel
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Planned moves of rooms, with scripted relays.
@Suite(.timeLimit(.minutes(3))) struct ClusterMoveTests {
    private func place(_ seconds: Double) -> ProgramPlace {
        ProgramPlace(wallZero: 1_700_000_000, noted: .seconds(seconds), ahead: .milliseconds(40))
    }

    private struct Drained: Decodable {
        struct Kept: Decodable {
            var room: String
            var reason: String
        }
        var moved: Int
        var left: Int
        var kept: [Kept]?
    }

    /// The bytes that a viewer has received.
    private final class Seen: Sendable {
        private let bytes = Mutex<[UInt8]>([])

        func take(_ piece: ByteBuffer) { bytes.withLock { $0 += piece.readableBytesView } }

        /// Timestamps of the frames.
        var times: [UInt32] {
            get throws {
                try ScriptedProgram.scanned(bytes.withLock { $0 }).filter { $0.role.isFrame }.map(\.timestamp)
            }
        }
    }

    private func drain(_ node: ClusterMember) async throws -> Drained {
        let answer = try await node.call("POST", "/v1/node/drain")
        #expect(answer.status == 200, "\(answer.text)")
        return try JSONDecoder().decode(Drained.self, from: Data(answer.text.utf8))
    }

    /// The next relay is ready before the last one stops, and then starts sending; requests are answered meanwhile.
    @Test func aProgramIsMadeReadyBeforeItMoves() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            let old = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            old.setPlace(place(30))
            async let drained = drain(a)
            // Two relays never send at the same time.
            var both = 0
            let watching = Task {
                while !Task.isCancelled {
                    let senders = (a.relays.running + b.relays.running).filter { $0.plan != nil && !$0.isSilent }
                    // The first relay may have stopped before the second one was looked at.
                    if senders.count > 1, senders.count(where: { !$0.isSilent }) > 1 { both += 1 }
                    try? await Task.sleep(for: .milliseconds(1))
                }
                return both
            }
            let result = try await drained
            #expect(result.moved == 1 && result.left == 0 && result.kept == nil, "\(result)")
            let new = try await eventually { b.running("auto-demo").first { !$0.isSilent } }
            watching.cancel()
            #expect(await watching.value == 0)
            #expect(b.relays.started.count == 1, "the relay that was made ready goes on")
            try await eventually { a.relays.running.isEmpty ? true : nil }
            let orders = old.commands.filter { if case .hold = $0 { false } else { true } }
            #expect(orders.suffix(2) == [.standBy, .drain], "\(old.commands)")
            let stand = try #require(new.commands.firstIndex(of: .standBy))
            var stopped = place(30)
            stopped.last = .seconds(30)
            let resume = try #require(new.commands.firstIndex(of: .resume(stopped)), "\(new.commands)")
            #expect(stand < resume)
            try await eventually {
                try await a.call("GET", "/v1/tasks/auto-demo").text.contains("bypass") ? true : nil
            }
            try await a.publish("bob", room: "demo")
            try await eventually { new.plan?.sources.count == 2 ? true : nil }
        }
    }

    /// Requests that arrive during a move are answered by the room's new node.
    @Test func requestsWaitForTheMove() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            async let drained = drain(a)
            for number in 0..<30 {
                let node = number % 2 == 0 ? a : b
                let answer = try await node.call(
                    "POST", "/v1/rooms/demo/events",
                    #"{"type":"stream.published","user":"u\#(number)","url":"rtmp://127.0.0.1/live/u\#(number)"}"#)
                #expect(answer.status == 202, "\(answer.text)")
            }
            #expect(try await drained.moved == 1)
            let room = try await b.call("GET", "/v1/rooms/demo").text
            for number in 0..<30 { #expect(room.contains(#""u\#(number)""#), "\(number)") }
        }
    }

    /// A room stays at its node if its next relay does not start, or if its relay dies while it stops.
    @Test func aMoveThatFailsLeavesTheProgramOnAir() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            let old = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            old.setPlace(place(30))
            b.relays.failNextStarts(["no mixworker"])
            let first = try await drain(a)
            #expect(first.moved == 0 && first.left == 1 && first.kept?.first?.room == "demo")
            #expect(first.kept?.first?.reason.contains("no mixworker") == true, "\(first)")
            #expect(!old.commands.contains(.standBy) && !old.isSilent && a.running("auto-demo").count == 1)

            old.ignoreStandBy()
            let killing = Task {
                try await eventually { old.commands.contains(.standBy) ? true : nil }
                old.kill()
            }
            let second = try await drain(a)
            try await killing.value
            #expect(second.moved == 0 && second.kept?.first?.reason.contains("was lost") == true, "\(second)")
            // Another relay replaces it, and the prepared one is gone.
            let next = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            #expect(!next.isSilent)
            try await eventually { b.relays.running.isEmpty ? true : nil }
            #expect(try await a.call("DELETE", "/v1/node/drain").status == 204)
            try await a.publish("bob", room: "demo")
            try await eventually { next.plan?.sources.count == 2 ? true : nil }
            // The third attempt succeeds.
            #expect(try await drain(a).moved == 1)
            try await eventually { b.running("auto-demo").first { !$0.isSilent } }
        }
    }

    /// Viewers at the node that hands over the room stay connected, on the same timeline, there and back.
    @Test func viewersStayConnected() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            let old = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let seen = Seen()
            let body = try await a.body(of: "/live/demo.flv")
            let viewer = Task { for try await piece in body { seen.take(piece) } }
            try await eventually { old.viewerCount == 1 ? true : nil }
            old.sendToViewers(ScriptedProgram.picture(1000))
            try await eventually { try seen.times.last == 1000 ? true : nil }

            b.relays.setOpening(ScriptedProgram.opening(at: 1040))
            #expect(try await drain(a).moved == 1)
            let new = try await eventually { b.relays.started.first }
            try await eventually { new.viewerCount == 1 ? true : nil }
            new.sendToViewers(ScriptedProgram.picture(1080))
            try await eventually { try seen.times.last == 1080 ? true : nil }

            #expect(try await a.call("DELETE", "/v1/node/drain").status == 204)
            a.relays.setOpening(ScriptedProgram.opening(at: 1120))
            #expect(try await drain(b).moved == 1)
            let third = try await eventually { a.running("auto-demo").first }
            try await eventually { third.viewerCount == 1 ? true : nil }
            third.sendToViewers(ScriptedProgram.picture(1160))
            try await eventually { try seen.times.last == 1160 ? true : nil }
            let times = try seen.times
            #expect(times == times.sorted() && Set(times).count == times.count, "\(times)")
            viewer.cancel()
            _ = await viewer.result
        }
    }

    /// All viewers who stay at a node count where the room is, not only the connection that the node makes for them.
    @Test func viewersWhoStayCountAtTheNextNode() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let bodies = [try await a.body(of: "/live/demo.flv"), try await a.body(of: "/live/demo.flv")]
            let viewers = bodies.map { body in Task { for try await _ in body {} } }
            b.relays.setOpening(ScriptedProgram.opening(at: 1040))
            #expect(try await drain(a).moved == 1)
            try await eventually {
                try await b.call("GET", "/v1/tasks/auto-demo").value("viewers") == "2" ? true : nil
            }
            for viewer in viewers {
                viewer.cancel()
                _ = await viewer.result
            }
        }
    }

    /// A task that has moved counts for the quota of its new node alone, and no more once it has ended there.
    @Test func tasksCountAtTheNodeThatHasThem() async throws {
        try await withCluster(settings: ["quotas.tasks": ["1"], "rooms.outputs": []]) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            func make(_ task: String, in room: String) async throws -> Answer {
                try await a.call("POST", "/v1/tasks", TaskRouteTests.task(task, room: room, key: task))
            }
            let first = try await make("first", in: "one")
            #expect(first.status == 201, "\(first.text)")
            #expect(try await make("second", in: "one").status == 409)
            #expect(try await drain(a).moved == 1)
            try await eventually { try await b.store.holder(of: "one") != nil ? true : nil }
            #expect(try await a.call("DELETE", "/v1/node/drain").status == 204)
            let other = try await make("third", in: "two")
            #expect(other.status == 201, "\(other.text)")
        }
    }

    /// Orders that do not come from nodes are refused.
    @Test func onlyNodesGiveOrders() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let order = #"{"step":"take","room":"demo","onAir":{}}"#
            #expect(try await a.call("POST", "/v1/node/moves", order).status == 404)
            let guessed = try await a.call(
                "POST", "/v1/node/moves", order, headers: ["Mixorchestrator-Node-Key": "guessed"])
            #expect(guessed.status == 403)
            #expect(try await a.call("GET", "/v1/rooms/demo").status == 404)
        }
    }
}
