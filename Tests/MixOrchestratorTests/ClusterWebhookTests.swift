import EventSubscription
import MixModel
import StoreSupport
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Webhooks of several nodes on one store, each of which delivers messages of all of them.
@Suite(.timeLimit(.minutes(3))) struct ClusterWebhookTests {
    /// On the store in memory, and on PostgreSQL where it is installed.
    private static let places = [false] + (PostgreSQLServer.isInstalled ? [true] : [])

    @Test(arguments: places) func eachMessageComesOnceAndInOrder(onPostgreSQL: Bool) async throws {
        try await WebhookReceiver.run { receiver in
            try await withCluster(onPostgreSQL: onPostgreSQL, policy: DeliveryPolicy.quick) { start in
                let (a, b) = (try await start("a", nil), try await start("b", nil))
                let made = try await a.call(
                    "POST", "/v1/subscriptions", #"{"url":"\#(receiver.url)","events":["participant.joined"]}"#)
                #expect(made.status == 201, "\(made.text)")
                let id = try #require(try made.value("id"))
                try await eventually("the other node knows the subscription") {
                    try await b.call("GET", "/v1/subscriptions/\(id)").status == 200 ? true : nil
                }
                let (rooms, users) = ((0..<4).map { "room\($0)" }, (0..<12).map { "u\($0)" })
                // The first request decides which node has a room. The others reach it through both nodes.
                for (number, user) in users.enumerated() {
                    for (index, room) in rooms.enumerated() {
                        let node = (number + index).isMultiple(of: 2) ? a : b
                        let answer = try await node.call(
                            "POST", "/v1/rooms/\(room)/events", #"{"type":"participant.joined","user":"\#(user)"}"#)
                        #expect(answer.status == 202, "\(answer.text)")
                    }
                }
                try await eventually { receiver.taken.count >= rooms.count * users.count ? true : nil }
                try await eventually { try await b.store.waitingSubscriptions().isEmpty ? true : nil }
                let messages = receiver.messages
                #expect(messages.count == rooms.count * users.count && Set(messages.map(\.id)).count == messages.count)
                for room in rooms {
                    let found = try messages.filter { try $0.value("subject") == room }
                        .compactMap { try $0.value("data.user") }
                    #expect(found == users, "\(room)")
                }
            }
        }
    }
}
