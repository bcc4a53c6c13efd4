import Foundation
import MixModel
import NIOCore
import RoomChannel
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Orders about channels that nodes of other releases or strangers send.
@Suite(.timeLimit(.minutes(3))) struct ClusterChannelOrderTests {
    private func order(_ order: ChannelOrder, _ node: ClusterMember, key: String) async throws -> Answer {
        let body = String(decoding: try JSONEncoder().encode(order), as: UTF8.self)
        return try await node.call("POST", "/v1/node/channels", body, headers: ["Mixorchestrator-Node-Key": key])
    }

    private func secret(of node: ClusterMember) async throws -> String {
        try #require(try await node.store.roster().compactMap(\.profile).first { $0.name == node.name }?.key)
    }

    @Test func ordersNeedTheKeyOfTheNode() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let count = ChannelOrder.count("demo", mirror: "b", viewers: 1)
            let body = String(decoding: try JSONEncoder().encode(count), as: UTF8.self)
            #expect(try await a.call("POST", "/v1/node/channels", body).status == 404)
            #expect(try await order(count, a, key: "guessed").status == 403)
            let key = try await secret(of: a)
            #expect(try await order(count, a, key: key).status == 200)
            let unreadable = try await a.call(
                "POST", "/v1/node/channels", "{}", headers: ["Mixorchestrator-Node-Key": key])
            #expect(unreadable.status == 400)
            let following = ChannelFollowing(mirror: "b", place: nil, known: 0, viewers: 0, waits: false)
            let unknown = try await order(.follow("demo", following), a, key: key)
            #expect(try unknown.value("fault.code") == "room-not-found", "\(unknown.text)")
        }
    }

    /// A node keeps a limited number of handed-over channels whose rooms have not arrived, and uses the newest handover
    /// of each.
    @Test func handoversAreBounded() async throws {
        try await withCluster { start in
            let a = try await start("a", nil)
            let key = try await secret(of: a)
            let machine = ChannelMachine(rules: ChannelRules(), now: 0)
            let handover = machine.handover(at: 0, wallClock: 0, isStored: false)
            for number in 0..<RoomChannels.mostHandovers {
                let answer = try await order(.take(RoomID("r\(number)"), handover, epoch: 1), a, key: key)
                #expect(answer.status == 200 && !answer.text.contains("fault"), "\(answer.text)")
            }
            let more = try await order(.take("more", handover, epoch: 1), a, key: key)
            #expect(try more.value("fault.code") == "channels-full", "\(more.text)")
            #expect(try await order(.take("r0", handover, epoch: 1), a, key: key).value("fault") == nil)
            // The first lease of a new room has the number 1, so that no earlier node can have handed it over.
            #expect(try await a.call("PUT", "/v1/rooms/r0", "{}").status == 201)
            #expect(try await a.call("GET", "/v1/rooms/r0/messages").status == 200)
        }
    }

    /// A node of an earlier release, which takes no orders about channels, gets the requests themselves.
    @Test func otherNodesGetRequestsThatTheyDoNotTakeAsOrders() async throws {
        try await withDirectory { directory in
            let store = MemoryTaskStore()
            let a = try await ClusterMember(
                "a", in: directory, store: store, lease: .seconds(6), settings: ["channel.enabled": ["false"]])
            let b = try await ClusterMember("b", in: directory, store: store, lease: .seconds(6))
            #expect(try await a.call("PUT", "/v1/rooms/demo", "{}").status == 201)
            for path in ["/v1/rooms/demo/messages", "/v1/rooms/demo/channel"] {
                let answer = try await b.call("GET", path)
                #expect(answer.status == 404 && !answer.text.contains("room-elsewhere"), "\(answer.text)")
            }
            #expect(try await b.say("x").status == 404)
            let client = try await SocketIORoomClient.connect(port: b.port)
            #expect(try await client.call("join_room", "\"demo\"").contains(#""code":"room-elsewhere""#))
            try await b.stop()
            try await a.stop()
        }
    }
}
