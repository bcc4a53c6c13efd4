import StoreSupport
import TestSupport
import Testing

/// The loss of the database while two nodes have programs on air.
@Suite(.serialized, .enabled(if: PostgreSQLServer.isInstalled, "\(PostgreSQLServer.missing)"))
struct ClusterDatabaseTests {
    private static let lease = 10

    /// Puts a room on air at each node. Returns when a destination has both programs.
    private func putOnAir(_ stage: ClusterStage, _ receiver: RTMPReceiver) async throws {
        for (room, node) in [("one", stage.a), ("two", stage.b)] {
            try await node.client.putRoom(
                room, host: "alice", output: receiver.url(room), layout: "side-by-side", canvas: .portrait)
            try await node.client.published(room, user: "alice", url: stage.source, role: "host")
        }
        for room in ["one", "two"] { try await arrive(100, of: room, at: receiver) }
        #expect(!stage.a.relays.isEmpty && !stage.b.relays.isEmpty, "each node has a room")
    }

    /// Waits for further frames of a program.
    private func arrive(_ count: Int, of room: String, at receiver: RTMPReceiver) async throws {
        let before = frames(of: room, at: receiver)
        try await waitUntil("\(count) more frames of \(room) arrive") {
            frames(of: room, at: receiver) >= before + count
        }
    }

    private func frames(of room: String, at receiver: RTMPReceiver) -> Int {
        receiver.senders(of: room).reduce(0) { $0 + $1.frames.count }
    }

    /// The distances of a program's pictures by their timestamps, over all of its senders, in ms.
    private func steps(of room: String, at receiver: RTMPReceiver) -> [Int] {
        let times = receiver.senders(of: room).flatMap { $0.frames.filter(\.isVideo).map { Int($0.timestamp) } }
        return zip(times, times.dropFirst()).map { $1 - $0 }
    }

    /// While the database is away, programs go on, what is new is refused, and nobody has to help afterwards.
    @Test(.timeLimit(.minutes(20))) func programsOfAllNodesGoOn() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        let database = try PostgreSQLServer()
        defer { database.remove() }
        try await ClusterStage.run(lease: 120, database: database) { stage in
            try await putOnAir(stage, receiver)
            let relays = Set(stage.a.relays + stage.b.relays)
            let rooms = [("one", stage.a), ("two", stage.b)]
            for round in 1...TestLength.of(short: 1, long: 5) {
                database.crash()
                let url = "\(ControlStage.nowhere)/live/bob"
                let event = #"{"type": "stream.published", "user": "bob", "url": "\#(url)"}"#
                for (room, node) in rooms {
                    for (method, path, body) in [
                        ("POST", "/v1/rooms/\(room)/events", event), ("PUT", "/v1/rooms/new-\(room)-\(round)", "{}"),
                    ] {
                        let refused = try await node.client.request(method, path, json: body)
                        #expect(refused.status == 503, "\(refused.text)")
                        #expect(refused.text.contains("store-unavailable"), "\(refused.text)")
                        #expect(!refused.text.contains(PostgreSQLServer.password), "\(refused.text)")
                    }
                    try await waitUntil("\(node.name) says that it is not ready") {
                        try await node.client.request("GET", "/readyz").status == 503
                    }
                    try await arrive(100, of: room, at: receiver)
                }
                try database.start()
                for (room, node) in rooms {
                    try await waitUntil("\(node.name) is ready again") {
                        try await node.client.request("GET", "/readyz").status == 200
                    }
                    try await waitUntil("\(node.name) takes a room") {
                        try await node.client.request("PUT", "/v1/rooms/new-\(room)-\(round)", json: "{}").status < 300
                    }
                    // What is changed at the other node reaches the room.
                    let other = node.name == "a" ? stage.b : stage.a
                    try await waitUntil("the room \(room) is reached at \(other.name)") {
                        let answer = try await other.client.request(
                            "PATCH", "/v1/rooms/\(room)/participants/alice", json: #"{"muted": false}"#)
                        return answer.status < 300
                    }
                }
            }
            for (room, _) in rooms {
                try await arrive(60, of: room, at: receiver)
                #expect(receiver.senders(of: room).count == 1, "\(room) was reconnected")
                let steps = steps(of: room, at: receiver)
                // The publisher makes 20 pictures a second.
                let odd = steps.filter { !(40...60 ~= $0) }
                #expect(odd.isEmpty, "pictures of \(room) were lost: \(odd)")
            }
            #expect(Set(stage.a.relays + stage.b.relays) == relays, "relays were started again")
        }
    }

    /// When the leases run out meanwhile, programs go off air, and come back by themselves.
    @Test(.timeLimit(.minutes(10))) func programsComeBackAfterTheirLeases() async throws {
        let receiver = try RTMPReceiver()
        defer { receiver.stop() }
        let database = try PostgreSQLServer()
        defer { database.remove() }
        try await ClusterStage.run(lease: Self.lease, database: database) { stage in
            try await putOnAir(stage, receiver)
            database.crash()
            try await waitUntil("both nodes' relays have ended") { stage.a.relays.isEmpty && stage.b.relays.isEmpty }
            for node in [stage.a, stage.b] { #expect(node.service.isRunning) }
            let senders = ["one", "two"].map { receiver.senders(of: $0).count }
            try database.start()
            for (room, before) in zip(["one", "two"], senders) {
                try await waitUntil("\(room) is on air again") {
                    let all = receiver.senders(of: room)
                    return all.count > before && all.last.map { $0.frames.count > 100 } == true
                }
                #expect(steps(of: room, at: receiver).allSatisfy { $0 > 0 }, "timestamps of \(room) go on")
            }
        }
    }
}
