import Foundation
import MixModel
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Which node takes a room.
@Suite(.timeLimit(.minutes(2))) struct ClusterPlacementTests {
    /// A node announces its rooms now and then, so it may be full when it is asked.
    @Test func aRoomGoesToAnotherNodeIfTheFirstOneRefusesIt() async throws {
        try await withCluster(lease: .seconds(60)) { start in
            let a = try await start("a", nil)
            let b = try await start("b", 1)
            let c = try await start("c", nil)
            for number in 0..<3 { try await c.publish("alice", room: "c\(number)") }
            // The node `b` is full, and the others do not know it yet.
            try await b.publish("alice", room: "b0")
            for number in 0..<4 { try await a.publish("alice", room: "a\(number)") }
            for number in 0..<4 {
                try await eventually { a.running(TaskID("auto-a\(number)")).first { $0.plan != nil } }
            }
            let answer = try await a.call("POST", "/v1/node/drain")
            #expect(answer.text.contains(#""moved":4"#) && answer.text.contains(#""left":0"#), "\(answer.text)")
            #expect(b.relays.running.count == 1 && c.relays.running.count == 7)
        }
    }

    @Test func aNodeThatIsNotWellLeavesNewRoomsToOthers() async throws {
        let store = MemoryTaskStore()
        try await withQuietNode(store) { node, registry in
            node.attach(registry)
            node.trouble.withLock { $0 = "no disk" }
            func enter(_ room: RoomID, isForwarded: Bool) async throws -> NodeProfile? {
                let request = NodeForwarding(isForwarded: isForwarded, mayYield: !isForwarded)
                try await NodeForwarding.$current.withValue(request) { try await node.enter(room) }
                return request.target
            }
            // Nobody else is there.
            _ = try await enter("r", isForwarded: false)
            #expect(node.has("r") && node.profile.trouble == "no disk")

            let other = try await store.register("b", for: .seconds(600))
            try await store.announce(other, NodeProfile(name: "b", url: "http://b", key: "key"))
            try await node.readRoster()
            let request = NodeForwarding(isForwarded: false, mayYield: true)
            await #expect(throws: OrchestratorError.self) {
                try await NodeForwarding.$current.withValue(request) { try await node.enter("s") }
            }
            #expect(request.target?.name == "b" && !node.has("s"))
            // What it has, and what others have sent, it keeps.
            _ = try await enter("r", isForwarded: false)
            _ = try await enter("t", isForwarded: true)
            #expect(node.has("t"))

            try await store.announce(other, NodeProfile(name: "b", url: "http://b", key: "key", trouble: "its clock"))
            try await node.readRoster()
            _ = try await enter("v", isForwarded: false)
            #expect(node.has("v"), "no other node is well")
        }
    }

    /// Lets a node find that its disk takes no data: its file is a directory.
    private func spoilDisk(of node: ClusterMember) async throws {
        let path = node.data + "/node-health"
        try await eventually {
            // The node may write its file in between.
            try? FileManager.default.removeItem(atPath: path)
            return (try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)) != nil
                ? true : nil
        }
    }

    /// The stream is at the publisher's node, whose ingest the others may not reach.
    @Test(arguments: [true, false]) func aPublisherKeepsItsRoomAtItsNode(sharesIngests: Bool) async throws {
        let settings = ["ingest.rtmp.listen": ["127.0.0.1:1935"]]
        try await withCluster(settings: settings, sharesIngests: sharesIngests) { start in
            let a = try await start("a", nil)
            let b = try await start("b", nil)
            try await spoilDisk(of: a)
            try await eventually { try await b.call("GET", "/v1/nodes").text.contains("Is a directory") ? true : nil }
            try await a.publish("alice", room: "yielded")
            try await eventually { b.running("auto-yielded").first { $0.plan != nil } }
            let verdict = try await a.ingest?.publish("kept__alice")
            guard case .allowed = verdict else {
                Issue.record("\(String(describing: verdict))")
                return
            }
            try await eventually { a.running("auto-kept").first { $0.plan != nil } }
        }
    }

    @Test func aNodeThatIsNotWellTakesNoRoomsOfLostNodes() async throws {
        let store = MemoryTaskStore()
        let lost = try await store.register("lost", for: .seconds(600))
        _ = try await store.claim([.lease(of: "r")], by: lost, for: .seconds(600))
        try await store.expel(lost)
        let other = try await store.register("b", for: .seconds(600))
        try await store.announce(other, NodeProfile(name: "b", url: "http://b", key: "key"))
        try await withQuietNode(store) { node, registry in
            node.attach(registry)
            node.trouble.withLock { $0 = "no disk" }
            await node.takeRooms()
            #expect(!node.has("r"))
            node.trouble.withLock { $0 = nil }
            await node.takeRooms()
            #expect(node.has("r"))
        }
    }

    /// A store whose clock may differ from this machine's.
    private final class ForeignClockStore: ForwardingTaskStore {
        let base: any TaskStore = MemoryTaskStore()
        /// By how many seconds the store's clock is ahead.
        let lead = Mutex(0.0)

        func time() async throws(StoreError) -> Double? { wallClock() + lead.withLock { $0 } }
    }

    @Test func aNodeWhoseClockIsWrongTakesNoRoomsOfLostNodes() async throws {
        let store = ForeignClockStore()
        let lost = try await store.register("lost", for: .seconds(600))
        _ = try await store.claim([.lease(of: "r")], by: lost, for: .seconds(600))
        try await store.expel(lost)
        let other = try await store.register("b", for: .seconds(600))
        try await store.announce(other, NodeProfile(name: "b", url: "http://b", key: "key"))
        try await withDirectory { directory in
            try await withQuietNode(store) { node, registry in
                node.attach(registry)
                node.attach(NodeHealth(directory: directory) { nil })
                store.lead.withLock { $0 = 30 }
                await node.lookAtHealth()
                #expect(node.profile.trouble?.hasSuffix("s behind the database's") == true)
                await node.takeRooms()
                #expect(!node.has("r"))
                store.lead.withLock { $0 = 0 }
                await node.lookAtHealth()
                #expect(node.profile.trouble == nil)
                await node.takeRooms()
                #expect(node.has("r"))
            }
        }
    }

    /// Autoscalers read one figure for each resource that has a limit.
    @Test func aNodeSaysHowFullItIs() async throws {
        try await withCluster { start in
            let a = try await start("a", 4)
            try await a.publish("alice", room: "one")
            let rooms = #"load_ratio{resource="rooms"} 0.25"#
            try await eventually { try await a.call("GET", "/metrics").text.contains(rooms) ? true : nil }
            let text = try await a.call("GET", "/metrics").text
            #expect(text.contains(#"load_ratio{resource="memory"} "#))
            #expect(!text.contains(#"load_ratio{resource="cpu"}"#), "admission.cores: 0 is no limit")
        }
    }
}
