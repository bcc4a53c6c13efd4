import Foundation
import HTTPTypes
import MixModel
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// WebRTC clients at nodes that do not have the room, with scripted workers.
@Suite(.timeLimit(.minutes(3))) struct ClusterWebRTCTests {
    private static let sdp = ["Content-Type": "application/sdp"]
    private static let fragment = ["Content-Type": "application/trickle-ice-sdpfrag"]

    /// Runs nodes whose workers write the commands they get to one file.
    private func withWorkers(
        _ settings: [String: [String]] = [:], sharesIngests: Bool = true,
        _ body:
            @escaping (_ directory: String, _ start: (_ name: String, _ capacity: Int?) async throws -> ClusterMember)
            async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            let all = try ScriptedWHIPWorker.settings(in: directory).merging(settings) { $1 }
            try await withCluster(settings: all, sharesIngests: sharesIngests) { start in
                try await body(directory, start)
            }
        }
    }

    private func begin(_ path: String, at node: ClusterMember, direction: String = "sendonly") async throws -> String {
        let answer = try await node.call(
            "POST", path, ScriptedWHIPWorker.offer(direction: direction), headers: Self.sdp)
        #expect(answer.status == 201, "\(answer.text)")
        return try #require(answer.headers[.location])
    }

    /// Candidates and the end reach a session through every node.
    private func isReached(_ session: String, through nodes: [ClusterMember], _ directory: String) async throws {
        for node in nodes {
            let answer = try await node.call("PATCH", session, WHIPRouteTests.candidates, headers: Self.fragment)
            #expect(answer.status == 204, "\(node.name): \(answer.text)")
            #expect(try await node.call("OPTIONS", session).status == 204)
        }
        try await eventually {
            ScriptedWHIPWorker.told(in: directory).count { $0.hasPrefix("{\"candidates\"") } == nodes.count ? true : nil
        }
        let last = try #require(nodes.last)
        #expect(try await last.call("DELETE", session).status == 200)
        for node in nodes { #expect(try await node.call("DELETE", session).status == 404, "\(node.name)") }
    }

    /// The worker at the node to which the worker's socket belongs.
    private func workers(_ kind: String, of node: ClusterMember, _ directory: String) -> Int {
        ScriptedWHIPWorker.told(in: directory).count { $0.hasPrefix("argv \(kind) --socket \(node.data)/") }
    }

    @Test func aPublisherStaysWhereTheOfferCame() async throws {
        try await withWorkers { directory, start in
            let (a, b, c) = (try await start("a", nil), try await start("b", nil), try await start("c", nil))
            try await a.publish("carol", room: "demo")
            let session = try await begin("/whip/demo/alice", at: b)
            #expect(session.wholeMatch(of: #/\/whip-sessions\/[0-9a-f]{40}/#) != nil)
            #expect(workers("whip", of: b, directory) == 1 && workers("whip", of: a, directory) == 0)
            try await isReached(session, through: [b, a, c], directory)
            // Sessions whose identifier names no known node are not found.
            let id = String(session.dropLast(8))
            for text in [id + "00000000", id, id + "0"] {
                #expect(try await c.call("DELETE", text).status == 404)
            }
            for node in [a, b, c] { #expect(!node.log.text.contains(session.suffix(40)), "a log shows a session") }
        }
    }

    /// Viewers are passed on to the node that has the room.
    @Test func aViewerReachesTheRoomsNode() async throws {
        try await withWorkers { directory, start in
            let (a, b, c) = (try await start("a", nil), try await start("b", nil), try await start("c", nil))
            try await a.publish("carol", room: "demo")
            try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let session = try await begin("/whep/demo", at: b, direction: "recvonly")
            #expect(workers("whep", of: a, directory) == 1)
            try await isReached(session, through: [c, b, a], directory)
        }
    }

    /// A session is gone together with its node.
    @Test func sessionsOfANodeThatIsGoneAreGone() async throws {
        try await withWorkers { _, start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            let session = try await begin("/whip/demo/alice", at: b)
            try await b.stop()
            // The others learn of a node's end within a moment.
            try await eventually { try await a.call("DELETE", session).status == 404 ? true : nil }
        }
    }

    /// The offer goes to the room's node if other nodes cannot reach this node's ingest.
    @Test func anOfferGoesToTheRoomsNodeWhereTheIngestIsANodesOwn() async throws {
        try await withWorkers(sharesIngests: false) { directory, start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            try await a.publish("carol", room: "demo")
            let session = try await begin("/whip/demo/alice", at: b)
            #expect(workers("whip", of: a, directory) == 1 && workers("whip", of: b, directory) == 0)
            try await isReached(session, through: [a, b], directory)
            _ = try await begin("/whip/own/alice", at: b)
            #expect(workers("whip", of: b, directory) == 1)
        }
    }

    /// A client of WCS, which is let in.
    private func enter(_ node: ClusterMember) async throws -> WCSTestClient {
        let client = WCSTestClient(socket: try await WebSocketClient.open(port: node.port))
        await client.send("connection", #"{"appKey":"defaultApp","authToken":"x","mediaProviders":["WebRTC"]}"#)
        #expect(try await client.next().name == "getUserData")
        return client
    }

    /// Returns the next message of this name.
    private func next(_ name: String, of client: WCSTestClient) async throws -> WCSTestClient.Message {
        while true {
            let message = try await client.next()
            if message.name == name { return message }
        }
    }

    private func begin(_ message: String, _ id: String, _ client: WCSTestClient, direction: String) async throws {
        let offer = try JSONEncoder().encode(ScriptedWHIPWorker.offer(direction: direction))
        let more = #","sdp":\#(String(decoding: offer, as: UTF8.self)),"mediaProvider":"WebRTC""#
        await client.send(message, WCSStage.stream(id, "alice#demo", more))
        _ = try await next("setRemoteSDP", of: client)
    }

    /// What a publisher says reaches the players of its stream at any node, and nobody else.
    @Test func whatAPublisherSaysReachesPlayersAtOtherNodes() async throws {
        try await withWorkers(["wcs.enabled": ["true"]]) { _, start in
            // The last node knows both others from its beginning.
            let (b, c, a) = (try await start("b", nil), try await start("c", nil), try await start("a", nil))
            try await a.publish("carol", room: "demo")
            guard case .allowed? = try await b.ingest?.publish("demo__alice") else {
                Issue.record("alice is refused")
                return
            }
            let (publisher, player, stranger) = (try await enter(a), try await enter(b), try await enter(c))
            try await begin("playStream", "p", player, direction: "recvonly")
            try await begin("publishStream", "id-1", publisher, direction: "sendonly")
            for (number, type) in ["data", "audioMuted", "data"].enumerated() {
                let payload = type == "data" ? #","payload":{"count":\#(number),"text":"ö\"\\"}"# : ""
                await publisher.send("sendStreamEvent", #"{"mediaSessionId":"id-1","type":"\#(type)"\#(payload)}"#)
                let event = try await next("notifyStreamEvent", of: player)
                #expect(event.text("mediaSessionId") == "p" && event.text("type") == type)
                let fields = (event.data.first as? [String: Any])?["payload"] as? [String: Any]
                #expect(fields?["count"] as? Int == (type == "data" ? number : nil))
                #expect(fields?["text"] as? String == (type == "data" ? #"ö"\"# : nil))
            }
            // Nothing was said to it before the answer to its own message.
            await stranger.send("availableStream", #"{"mediaSessionId":"x","name":"nobody#demo"}"#)
            #expect(try await stranger.next().name == "availableStream")
            for client in [publisher, player, stranger] { await client.socket.disconnect() }
        }
    }

    /// WebSockets stay at their node: it plays what others have.
    @Test func clientsOfWCSPlayAtAnyNode() async throws {
        try await withWorkers(["wcs.enabled": ["true"]]) { directory, start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            try await a.publish("carol", room: "demo")
            try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            guard case .allowed? = try await a.ingest?.publish("demo__alice") else {
                Issue.record("alice is refused")
                return
            }
            let client = try await enter(b)
            let place = try #require(a.ingestPlace)
            let offer = try JSONEncoder().encode(ScriptedWHIPWorker.offer(direction: "recvonly"))
            let more = #","sdp":\#(String(decoding: offer, as: UTF8.self)),"mediaProvider":"WebRTC""#
            for (number, (id, name)) in [("p", "demo"), ("q", "alice#demo")].enumerated() {
                await client.send("playStream", WCSStage.stream(id, name, more))
                let sources = try await eventually {
                    let lines = ScriptedWHIPWorker.told(in: directory).filter { $0.hasPrefix("{\"play\"") }
                    let commands = lines.compactMap { try? JSONDecoder().decode(PlayCommand.self, from: Data($0.utf8)) }
                    return commands.count == number + 1 ? commands : nil
                }
                guard case .play(let source)? = sources.last else {
                    Issue.record("\(sources)")
                    return
                }
                switch source.origin {
                case .program(let socket, let detour):
                    #expect(id == "p" && socket == b.data + "/relays/auto-demo.sock")
                    let own = b.data + "/programs/programs.sock"
                    #expect(detour == ProgramDetour(socket: own, task: "auto-demo", room: "demo"))
                case .publisher(let url):
                    let origin = "rtmp://\(place.text)/relay/default/demo/alice/camera?relay="
                    #expect(id == "q" && url.hasPrefix(origin), "\(url)")
                case .server(let url, _): Issue.record("a stream of the cluster is pulled as another server's: \(url)")
                }
            }
            #expect(workers("whep", of: b, directory) == 2)
            await client.socket.disconnect()
        }
    }
}
