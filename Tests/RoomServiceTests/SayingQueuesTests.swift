import EventSubscription
import Foundation
import MixModel
import TaskStore
import Testing

@testable import RoomService

/// Messages of publishers on their way to players at other nodes.
@Suite struct SayingQueuesTests {
    private static let alice = StreamNames(room: "shop/demo", user: "alice", stream: .camera)

    private func saying(_ payload: String, of names: StreamNames = SayingQueuesTests.alice) -> StreamSaying {
        StreamSaying(of: names, type: "data", payload: payload)
    }

    @Test func eachNodeIsToldInOrder() {
        var queues = SayingQueues()
        #expect(queues.add(saying("1"), for: ["a", "b"]) == ["a", "b"])
        #expect(queues.add(saying("2"), for: ["a", "b", "c"]) == ["c"], "the others are being told")
        #expect(queues.take(for: "a")?.map(\.payload) == ["1", "2"])
        #expect(queues.add(saying("3"), for: ["a"]).isEmpty)
        #expect(queues.take(for: "a")?.map(\.payload) == ["3"])
        #expect(queues.take(for: "a") == nil)
        #expect(queues.add(saying("4"), for: ["a"]) == ["a"], "it begins anew")
        #expect(queues.take(for: "b")?.map(\.payload) == ["1", "2"])
        #expect(queues.take(for: "c")?.map(\.payload) == ["2"])
        for node in ["b", "c"] as [NodeID] { #expect(queues.take(for: node) == nil) }
        #expect(queues.busy == 1)
        #expect(queues.take(for: "unknown") == nil)
        #expect(queues.add(saying("5"), for: []).isEmpty)
    }

    @Test func theOldestAreLost() {
        var queues = SayingQueues()
        for number in 0..<(SayingQueues.most + 10) { _ = queues.add(saying("\(number)"), for: ["a"]) }
        let told = queues.take(for: "a") ?? []
        #expect(told.count == SayingQueues.most)
        #expect(told.first?.payload == "10" && told.last?.payload == "\(SayingQueues.most + 9)")

        let third = String(repeating: "x", count: SayingQueues.mostBytes / 3)
        for number in 0..<5 { _ = queues.add(saying("\(number)" + third), for: ["a"]) }
        #expect(queues.take(for: "a")?.compactMap { $0.payload?.prefix(1) } == ["3", "4"])

        let much = String(repeating: "x", count: SayingQueues.mostBytes)
        #expect(queues.add(saying(much), for: ["b"]).isEmpty, "too much for any node")
        #expect(queues.take(for: "b") == nil)
    }

    @Test func whoSaysTheMostLosesItsOwn() {
        let bob = StreamNames(room: "other/demo", user: "bob", stream: .screen)
        var queues = SayingQueues()
        _ = queues.add(saying("bob", of: bob), for: ["a"])
        for number in 0..<(SayingQueues.most + 10) { _ = queues.add(saying("\(number)"), for: ["a"]) }
        let told = queues.take(for: "a") ?? []
        #expect(told.count == SayingQueues.most)
        #expect(told.prefix(2).map(\.payload) == ["bob", "11"])
        #expect(told.last?.payload == "\(SayingQueues.most + 9)")

        let third = String(repeating: "x", count: SayingQueues.mostBytes / 3)
        _ = queues.add(saying("bob", of: bob), for: ["a"])
        for number in 0..<5 { _ = queues.add(saying("\(number)" + third), for: ["a"]) }
        #expect(queues.take(for: "a")?.compactMap { $0.payload?.prefix(1) } == ["b", "3", "4"])
    }

    /// The receiver reads at most a megabyte.
    @Test func whatWaitsFitsIntoAnOrder() throws {
        var queues = SayingQueues()
        let payload = String(repeating: "\"", count: SayingQueues.mostBytes / 8)
        for _ in 0..<20 { _ = queues.add(saying(payload), for: ["a"]) }
        let order = StreamOrder.say(queues.take(for: "a") ?? [])
        let bytes = try JSONEncoder().encode(order)
        #expect(bytes.count < 1 << 20, "\(bytes.count)")
        let read = try JSONDecoder().decode(StreamOrder.self, from: bytes)
        #expect(read == order)
        guard case .say(let sayings) = read else { return }
        #expect(sayings.count == 7 && sayings.first?.names == Self.alice)

        let small = StreamNames(room: "r", user: "u", stream: .screen)
        for _ in 0..<SayingQueues.most { _ = queues.add(saying("1", of: small), for: ["b"]) }
        let all = queues.take(for: "b") ?? []
        let many = try JSONEncoder().encode(StreamOrder.say(all))
        #expect(all.count == SayingQueues.most && many.count < 1 << 20, "\(many.count)")
    }
}
