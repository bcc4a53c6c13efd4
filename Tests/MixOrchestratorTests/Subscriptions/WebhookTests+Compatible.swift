import Crypto
import EventSubscription
import Foundation
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Callbacks in ApsaraVideo Live's format.
extension WebhookTests {
    @Test func theCompatibleCallbacksAreSent() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                let store = MemoryTaskStore()
                for (id, kind) in [("sub-r", Subscription.Kind.roomEvents), ("sub-t", .taskEvents)] {
                    let subscription = Subscription(
                        id: SubscriptionID(id), app: .standard, kind: kind, url: receiver.url + "/" + id, createdAt: 1)
                    _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0)))
                }
                let key = "0123456789abcdef"
                try await withOrchestrator(
                    directory: directory, store: store,
                    settings: ["apps.0.id": ["default"], "apps.0.callbackKey": [key]], policy: DeliveryPolicy.quick
                ) { bench in
                    try await bench.publish("alice")
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("Payload.EventCode")) == "1" } ? true : nil
                    }
                    #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("Payload.EventCode")) == "3" } ? true : nil
                    }
                    try await eventually {
                        receiver.taken.contains { $0.body.contains(#""EventTag":"Close""#) } ? true : nil
                    }
                    let ofRooms = receiver.taken.filter { $0.path == "/hook/sub-r" }
                    let tags = try ofRooms.map { message in
                        try message.value("Contents.0.UserEvent.EventTag")
                            ?? message.value("Contents.0.ChannelEvent.EventTag")
                    }
                    #expect(tags == ["Open", "Join", "Publish", "Unpublish", "Leave", "Close"])
                    let ofTasks = receiver.taken.filter { $0.path == "/hook/sub-t" }
                    #expect(try ofTasks.first?.value("Payload.DstUrl") == "rtmp://127.0.0.1/out/demo")
                    for message in receiver.taken {
                        #expect(message.header("content-type") == "application/json")
                        let time = try #require(message.header("ali-live-timestamp"))
                        let digest = Insecure.MD5.hash(data: Data("127.0.0.1|\(time)|\(key)".utf8))
                        let text = digest.map { String(format: "%02x", $0) }.joined()
                        #expect(message.header("ali-live-signature") == text)
                        #expect(message.header("webhook-signature") == nil)
                    }
                    // These subscriptions are shown here, but cannot be changed.
                    let list = try await bench.call(.get, "/v1/subscriptions")
                    #expect(try list.value("subscriptions.0.kind") == "roomEvents")
                    let change = try await bench.call(
                        .patch, "/v1/subscriptions/sub-r", "{}",
                        headers: [.contentType: "application/json", .ifMatch: "*"])
                    #expect(change.status == 409)
                    let registry = SubscriptionRegistry(
                        index: SubscriptionIndex(), store: bench.store, allowed: .loopbackOnly)
                    try await registry.restore()
                    // A delivery is in the log once its answer has arrived.
                    let rest = try await eventually {
                        let page = try await registry.attempts(
                            of: .standard, [.roomEvents], subscription: "sub-r", in: 0...9e9, page: 2, size: 4)
                        return page.attempts.count == 2 ? page : nil
                    }
                    #expect(!rest.hasMore)
                    let log = try await registry.attempts(
                        of: .standard, [.roomEvents], in: 0...9e9, page: 1, size: 4)
                    #expect(log.attempts.count == 4)
                    #expect(log.hasMore)
                    #expect(rest.attempts.last?.attempt.code == 200)
                }
            }
        }
    }
}
