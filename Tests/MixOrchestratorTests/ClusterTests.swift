import Foundation
import HTTPTypes
import MixModel
import NIOCore
import NIOPosix
import StoreSupport
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Several services on one store, in one process, with scripted relays.
@Suite(.timeLimit(.minutes(3))) struct ClusterTests {
    /// On the store in memory, and on PostgreSQL where it is installed.
    private static let places = [false] + (PostgreSQLServer.isInstalled ? [true] : [])

    @Test(arguments: places) func anyNodeAnswersAnyCall(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            try await eventually { a.running("auto-demo").first?.plan }
            // Events, settings and reads at the other node reach the room.
            try await b.publish("bob", room: "demo")
            try await eventually { a.running("auto-demo").first?.plan?.sources.count == 2 ? true : nil }
            let room = try await b.call("GET", "/v1/rooms/demo")
            #expect(room.status == 200 && room.text.contains("alice") && room.text.contains("bob"), "\(room.text)")
            let task = try await eventually {
                let answer = try await b.call("GET", "/v1/tasks/auto-demo")
                return try answer.value("onAir") == "mix" ? answer : nil
            }
            #expect(task.status == 200)
            let made = try await a.call(
                "POST", "/v1/tasks", #"{"id":"mine","room":"demo","outputs":[{"id":"x","url":"rtmp://127.0.0.1/x"}]}"#)
            #expect(made.status == 201, "\(made.text)")
            #expect(try await b.call("GET", "/v1/tasks/mine").status == 200)
            #expect(try await b.call("GET", "/v1/tasks/nothing").status == 404)
            // Viewers at the other node get the program.
            let opening = ScriptedProgram.opening()
            let seen = try await b.beginning(of: "/live/demo.flv", bytes: 13)
            #expect(seen.status == 200 && seen.bytes.starts(with: opening.prefix(13)))
            #expect(b.relays.started.isEmpty)
            let list = try await b.call("GET", "/v1/rooms")
            #expect(list.text.contains(#""demo""#), "\(list.text)")
            let nodes = try await b.call("GET", "/v1/nodes")
            #expect(nodes.text.contains(a.url) && nodes.text.contains(b.url), "\(nodes.text)")
        }
    }

    /// Tasks in rooms of other nodes are listed as stored.
    @Test func tasksOfAllNodesAreListed() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "one")
            try await b.publish("bob", room: "two")
            try await eventually { a.running("auto-one").first?.plan }
            try await eventually { b.running("auto-two").first?.plan }
            for node in [a, b] {
                let list = try await node.call("GET", "/v1/tasks")
                #expect(
                    list.status == 200 && list.text.contains("auto-one") && list.text.contains("auto-two"),
                    "\(list.text)")
                let one = try await node.call("GET", "/v1/tasks?room=two")
                #expect(
                    one.status == 200 && one.text.contains("auto-two") && !one.text.contains("auto-one"), "\(one.text)")
            }
        }
    }

    /// Playlists and segments come from the node that has the room, whichever node a player reaches.
    @Test func viewersOfHLSReachAnyNode() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            #expect(try await a.call("PUT", "/v1/rooms/demo/hls").status == 200)
            try await eventually { a.running("auto-demo").first { $0.plan?.outputs.hls != nil } }
            try KeptFiles.makeSession(a.data)
            let base = "/live/demo/hls/1700000000000"
            let playlist = try await b.call("GET", "\(base)/video.m3u8")
            #expect(playlist.status == 200 && playlist.text.contains("\nvideo-1.ts\n"), "\(playlist.text)")
            let segment = try await b.beginning(of: "\(base)/video-1.ts", bytes: KeptFiles.segment.count)
            #expect(segment.status == 200 && segment.bytes == KeptFiles.segment)
            #expect(try await b.call("GET", "\(base)/video-9.ts").status == 404)
            // An earlier stay of the room has left files.
            try KeptFiles.makeSession(b.data, name: "1600000000000", isEnded: true)
            let master = try await b.call("GET", "/live/demo/index.m3u8")
            #expect(master.text.contains("\nhls/1700000000000/video.m3u8\n"), "\(master.text)")
        }
    }

    /// A batch about rooms of several nodes is split between them, and each node recognises it when it is sent again.
    @Test func aBatchGoesToAllNodes() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "one")
            try await b.publish("alice", room: "two")
            let events = ["one", "two", "three"].map { room in
                """
                {"specversion":"1.0","type":"stream.published","source":"app","id":"e-\(room)","subject":"\(room)",
                 "data":{"user":"bob","url":"rtmp://127.0.0.1/live/bob"}}
                """
            }
            let body = "[\(events.joined(separator: ","))]"
            let type = ["Content-Type": "application/cloudevents-batch+json"]
            let first = try await a.call("POST", "/v1/events", body, headers: type)
            #expect(first.status == 202, "\(first.text)")
            #expect(try first.value("accepted") == "3", "\(first.text)")
            let again = try await b.call("POST", "/v1/events", body, headers: type)
            #expect(try again.value("duplicate") == "3", "\(again.text)")
            for room in ["one", "two", "three"] {
                let answer = try await b.call("GET", "/v1/rooms/\(room)")
                #expect(answer.text.contains("bob"), "\(room): \(answer.text)")
            }
        }
    }

    /// A node takes no events of a room that has just left it. The batch is not acknowledged then.
    @Test func aBatchIsAcknowledgedOnlyAsAWhole() async throws {
        let other = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NothingTaken())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { other.close(promise: nil) }
        let port = try #require(other.localAddress?.port)
        try await withCluster { start in
            let a = try await start("a", nil)
            let left = try await a.store.register("left", for: .seconds(600))
            try await a.store.announce(
                left, NodeProfile(name: "left", url: "http://127.0.0.1:\(port)", key: "key of left"))
            _ = try await a.store.claim([.lease(of: "two")], by: left, for: .seconds(600))
            let events = ["one", "two"].map { room in
                """
                {"specversion":"1.0","type":"stream.published","source":"app","id":"e-\(room)","subject":"\(room)",
                 "data":{"user":"bob","url":"rtmp://127.0.0.1/live/bob"}}
                """
            }
            let answer = try await a.call(
                "POST", "/v1/events", "[\(events.joined(separator: ","))]",
                headers: ["Content-Type": "application/cloudevents-batch+json"])
            #expect(answer.status == 503 && answer.text.contains("send the batch again"), "\(answer.text)")
        }
    }

    /// Calls of ApsaraVideo Live's interface name a task, and may sign the host to which they were sent.
    @Test(arguments: WireCaller.Signature.allCases)
    func signedCallsReachATaskThroughAnyNode(_ signature: WireCaller.Signature) async throws {
        try await withCluster(settings: WireCaller.settings) { start in
            let a = try await start("a", nil)
            // Before there is a task.
            let b = try await start("b", nil)
            func call(_ node: ClusterMember, _ action: String, _ parameters: [String: String]) async throws -> Answer {
                let (uri, fields) = WireCaller.signed(
                    action, parameters.merging(["AppId": "shop"]) { $1 }, method: .post, signature,
                    host: "127.0.0.1:\(node.port)")
                let headers = Dictionary(fields.map { ($0.name.rawName, $0.value) }) { $1 }
                return try await node.call("POST", uri, headers: headers)
            }
            let started = try await call(a, "StartLiveMPUTask", WireRouteTests.single)
            #expect(started.status == 200, "\(started.text)")
            let stopped = try await call(b, "StopLiveMPUTask", ["ChannelId": "room1", "TaskId": "task-1"])
            #expect(stopped.status == 200, "\(stopped.text)")
        }
    }

    /// Headers of nodes are ignored without the node's key, and a request is passed on only once.
    @Test func nobodyElseSpeaksAsANode() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            for key in ["", "guessed"] {
                let answer = try await b.call(
                    "GET", "/v1/rooms/demo",
                    headers: ["Mixorchestrator-Node-Key": key, "Mixorchestrator-Client": "8.8.8.8"])
                #expect(answer.status == 200)
            }
        }
    }

    /// Changes of a node are refused after another node has taken its room, and its relay ends.
    @Test(arguments: places) func aLostRoomIsGivenUp(onPostgreSQL: Bool) async throws {
        try await withCluster(onPostgreSQL: onPostgreSQL) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await a.publish("alice", room: "demo")
            let relay = try await eventually { a.running("auto-demo").first { $0.plan != nil } }
            let place = ProgramPlace(wallZero: 1_700_000_000, noted: .seconds(30), ahead: .milliseconds(40))
            relay.setPlace(place)
            try await eventually {
                relay.commands.contains { if case .hold(let until) = $0 { until > 0 } else { false } } ? true : nil
            }
            try await eventually("the place is not stored before the node is lost") {
                let document = try await a.store.task("auto-demo")?.document
                return try String(decoding: JSONEncoder().encode(document), as: UTF8.self).contains("\"wallZero\"")
                    ? true : nil
            }
            #expect(try await b.call("DELETE", "/v1/nodes/b").status == 409)
            #expect(try await b.call("DELETE", "/v1/nodes/a").status == 204)
            // The other node continues the stream where it was.
            let next = try await eventually { b.running("auto-demo").first { $0.plan != nil } }
            #expect(next.commands.contains(.resume(place)), "\(next.commands)")
            let order = next.commands.compactMap { command -> String? in
                switch command {
                case .hold: "hold"
                case .resume: "resume"
                case .apply: "apply"
                default: nil
                }
            }
            #expect(order.first == "hold" && order.firstIndex(of: "resume") ?? 9 < order.firstIndex(of: "apply") ?? 0)
            try await eventually { relay.exitDescription() }
            #expect(a.running("auto-demo").isEmpty)
            // The expelled node continues under a new identity and passes requests on.
            try await a.publish("bob", room: "demo")
            try await eventually { b.running("auto-demo").first?.plan?.sources.count == 2 ? true : nil }
            #expect(try await a.call("GET", "/v1/nodes").text.contains(a.url))
        }
    }

    @Test func aDrainedNodeMovesItsRooms() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            for room in ["one", "two"] { try await a.publish("alice", room: room) }
            try await eventually { a.relays.running.filter { $0.plan != nil }.count == 2 ? true : nil }
            let drained = try await a.call("POST", "/v1/node/drain")
            #expect(try drained.value("moved") == "2" && drained.value("left") == "0", "\(drained.text)")
            try await eventually { b.relays.running.filter { $0.plan != nil }.count == 2 ? true : nil }
            try await eventually { a.relays.running.isEmpty ? true : nil }
            // The relays ended properly.
            #expect(a.relays.started.allSatisfy { $0.commands.contains(.drain) })
            try await a.publish("bob", room: "three")
            #expect(a.relays.running.isEmpty, "a draining node takes no room")
            #expect(try await a.call("GET", "/v1/nodes").text.contains("draining"))
            #expect(try await a.call("DELETE", "/v1/node/drain").status == 204)
            #expect(try await b.call("POST", "/v1/node/drain").value("left") == "0")
            try await eventually { a.relays.running.filter { $0.plan != nil }.count == 3 ? true : nil }
        }
    }

    /// A stopping node gives its rooms away; a node without free places takes none.
    @Test func theRoomsOfANodeThatEndsGoOn() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            try await a.publish("alice", room: "demo")
            try await eventually { a.running("auto-demo").first?.plan }
            let b = try await start("b", 1)
            try await a.stop()
            try await eventually { b.running("auto-demo").first?.plan }
            let refused = try await b.call("PUT", "/v1/rooms/other", "{}")
            #expect(refused.status == 503 && refused.text.contains("no-node"), "\(refused.text)")
        }
    }

    @Test func aServiceAloneKeepsOthersOut() async throws {
        let store = MemoryTaskStore()
        _ = try await store.register("alone", for: .seconds(100))
        let settings = ClusterSettings(name: "a", url: "http://127.0.0.1:9")
        func join(_ identity: String) async throws -> ClusterNode {
            try await ClusterNode.join(
                store, settings, identity: identity, keepsRelays: false, shutdown: ShutdownNotice(),
                logger: LogRecorder().logger)
        }
        await #expect { try await join("one") } throws: { "\($0)".contains("give it a node.url") }
        for node in try await store.nodes() { try await store.expel(node.id) }
        _ = try await join("one")
        // A node keeps its name with its data directory; a second data directory needs another name.
        _ = try await join("one")
        #expect(try await store.nodes().count == 1)
        await #expect { try await join("two") } throws: { "\($0)".contains("node.id") }
    }

    /// A node that starts at the same time has registered, and describes itself a moment later.
    @Test func nodesThatStartTogetherFindEachOther() async throws {
        let store = MemoryTaskStore()
        let other = try await store.register("other", for: .seconds(100))
        async let member = ClusterNode.join(
            store, ClusterSettings(name: "a", url: "http://127.0.0.1:9"), identity: "one", keepsRelays: false,
            shutdown: ShutdownNotice(), patience: .seconds(30), logger: LogRecorder().logger)
        try await Task.sleep(for: .milliseconds(200))
        try await store.announce(other, NodeProfile(name: "b", url: "http://127.0.0.1:10", key: "k"))
        let others = try await member.others.map(\.profile?.name)
        #expect(others == ["b"])
    }

    /// A node caches where other nodes' rooms are, up to a limit.
    @Test func rememberedHoldersAreBounded() {
        let cache = HolderCache()
        for number in 0..<(HolderCache.limit * 2 + 1) { cache.note("n#1", of: RoomID("\(number)"), at: 0) }
        #expect(cache.count <= HolderCache.limit)
        cache.note(nil, of: "r", at: 5)
        #expect(cache.holder(of: "r", at: 6) == .some(nil))
        #expect(cache.holder(of: "r", at: 5 + HolderCache.lifetime) == nil)
    }
}

/// A node that has none of the rooms in a batch of events.
private final class NothingTaken: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The end of the batch.
        guard unwrapInboundIn(data).readableBytesView.last == UInt8(ascii: "]") else { return }
        let body = #"{"accepted":0,"duplicate":0,"stale":0}"#
        let answer = "HTTP/1.1 202 Accepted\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
    }
}
