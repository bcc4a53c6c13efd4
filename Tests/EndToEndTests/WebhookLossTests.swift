import Foundation
import StoreSupport
import Testing

/// Webhooks of two nodes, one of which is lost while it delivers. The processes are real.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct WebhookLossTests {
    private static func join(_ user: String, _ room: String, at node: ClusterStage.Node) async throws {
        var last = ""
        // A room of the lost node is refused until the other one has it.
        try await waitUntil("\(user) joins \(room) at \(node.name): \(last)") {
            let answer = try? await node.client.request(
                "POST", "/v1/rooms/\(room)/events", json: #"{"type": "participant.joined", "user": "\#(user)"}"#,
                headers: ["Idempotency-Key": "\(room)-\(user)"])
            last = answer?.text ?? "no answer"
            return answer?.status == 202
        }
    }

    /// Every message arrives, and each room's in order. Only a message that was on its way when its sender was killed comes twice,
    /// with the same id.
    @Test(.timeLimit(.minutes(10))) func messagesSurviveTheLossOfANode() async throws {
        struct Made: Decodable { var id: String }
        let sink = try WebhookSink()
        defer { sink.stop() }
        try await ClusterStage.run(lease: 10) { stage in
            let (a, b) = (stage.a, stage.b)
            let made = try await a.client.request(
                "POST", "/v1/subscriptions", json: #"{"url": "\#(sink.url)", "events": ["participant.joined"]}"#)
            #expect(made.status == 201, "\(made.text)")
            let id = try JSONDecoder().decode(Made.self, from: made.body).id
            try await waitUntil("the other node knows the subscription") {
                try await b.client.request("GET", "/v1/subscriptions/\(id)").status == 200
            }
            let rooms = (0..<4).map { "room-\($0)" }
            var users: [String] = []
            func joinAll(_ count: Int, at nodes: [ClusterStage.Node]) async throws {
                for _ in 0..<count {
                    users.append("u\(users.count)")
                    for (index, room) in rooms.enumerated() {
                        try await Self.join(users[users.count - 1], room, at: nodes[index % nodes.count])
                    }
                }
            }
            try await joinAll(4, at: [a, b])
            try await waitUntil("all messages have arrived: \(sink.arrivals.count)") {
                Set(sink.arrivals.map(\.id)).count == rooms.count * users.count
            }
            sink.hold(true)
            try await joinAll(3, at: [a, b])
            try await waitUntil("each room has a message on its way") {
                Set(sink.arrivals.filter(\.isHeld).map(\.room)).count == rooms.count
            }
            a.destroy()
            sink.hold(false)
            try await stage.expel(a)
            try await joinAll(3, at: [b])
            try await waitUntil("all messages have arrived: \(sink.arrivals.count)") {
                Set(sink.arrivals.map(\.id)).count == rooms.count * users.count
            }
            let arrivals = sink.arrivals
            let held = Set(arrivals.filter(\.isHeld).map(\.id))
            var (seen, twice): (Set<String>, Set<String>) = ([], [])
            var order: [String: [String]] = [:]
            for arrival in arrivals {
                if seen.insert(arrival.id).inserted {
                    order[arrival.room, default: []].append(arrival.user)
                } else {
                    twice.insert(arrival.id)
                }
            }
            #expect(twice.isSubset(of: held), "\(twice.subtracting(held))")
            for room in rooms { #expect(order[room] == users, "\(room)") }
            print("\(arrivals.count) messages, \(twice.count) of them came twice")
        }
    }
}
