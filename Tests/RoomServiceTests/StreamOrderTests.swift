import EventSubscription
import Foundation
import MixModel
import Testing

@testable import RoomService

@Suite struct StreamOrderTests {
    @Test func ordersAndAnswersAreReadAsWritten() throws {
        let event = RoomEvent(
            room: "shop/demo", app: "shop", source: "/ingest/rtmp#x", id: "1", sequence: 7,
            kind: .streamPublished(Publication(user: "alice", url: "rtmp://10.0.0.1:1935/relay/x?relay=5")))
        let orders: [StreamOrder] = [
            .store(event, path: "/relay/x?relay=5", turn: .takes),
            .store(event, path: "/relay/x?relay=5", turn: .yields(except: nil)),
            .store(
                event, path: "/relay/x?relay=5",
                turn: .yields(except: StreamHolder(url: "rtmp://h/relay/x?relay=6", event: "7 x"))),
            .note("shop/demo", "publisher lost: ö"), .isPublished(stream: "shop/demo/alice/camera"),
            .look(stream: "shop/demo/alice/camera"), .programs(path: "/live/demo__alice"),
            .say([
                StreamSaying(
                    of: StreamNames(room: "shop/demo", user: "alice", stream: .camera), type: "data",
                    payload: #"{"text":"ö"}"#),
                StreamSaying(
                    of: StreamNames(room: "demo", user: "bob", stream: .screen), type: "audioMuted", payload: nil),
            ]),
            .requestKeyframe("shop/auto-demo"), .viewers("shop/auto-demo", node: "b", count: 7),
        ]
        for order in orders {
            #expect(try JSONDecoder().decode(StreamOrder.self, from: JSONEncoder().encode(order)) == order)
        }
        // The format of nodes of earlier releases.
        let earlier =
            #"{"store":{"_0":\#(String(decoding: try JSONEncoder().encode(event), as: UTF8.self)),"path":"/relay/x"}}"#
        let read = try JSONDecoder().decode(StreamOrder.self, from: Data(earlier.utf8))
        #expect(read == .store(event, path: "/relay/x", turn: nil))
        let faults = [
            OrchestratorError(.exhausted, "quota", "Quota exceeded", detail: "d"),
            OrchestratorError(.unavailable, "store-unavailable", "t", detail: "d"),
        ]
        for fault in faults {
            let answer = try JSONDecoder().decode(
                StreamAnswer.self, from: JSONEncoder().encode(StreamAnswer(fault)))
            #expect { try answer.receipt() } throws: { error in
                guard let told = error as? OrchestratorError else { return false }
                return told.code == fault.code && told.title == fault.title && told.isFault == fault.isFault
            }
        }
        let done = try JSONDecoder().decode(
            StreamAnswer.self, from: JSONEncoder().encode(StreamAnswer(outcome: .duplicate)))
        #expect(try done.receipt() == StreamReceipt(outcome: .duplicate))
        let other = StreamHolder(url: "rtmp://10.0.0.2:1935/relay/x?relay=6", event: nil)
        for receipt in [StreamReceipt(outcome: .accepted, former: other), StreamReceipt(former: other)] {
            let told = try JSONDecoder().decode(StreamAnswer.self, from: JSONEncoder().encode(StreamAnswer(receipt)))
            #expect(try told.receipt() == receipt)
        }
        #expect(try StreamAnswer().receipt() == StreamReceipt(outcome: .accepted))
        var activity = PublisherActivity()
        activity.isSending = true
        activity.hold = TakeoverHold(age: 4_000_000_000, left: 26_000_000_000)
        var published = StreamAnswer()
        published.isPublished = true
        published.activity = activity
        let told = try JSONDecoder().decode(StreamAnswer.self, from: JSONEncoder().encode(published))
        #expect(told == published)
        // The format of nodes of earlier releases.
        let known = try JSONDecoder().decode(StreamAnswer.self, from: Data(#"{"isPublished":true}"#.utf8))
        #expect(known.isPublished == true && known.activity == nil)
    }

    /// An order is repeated while a room moves, but not for ever, and not after an answer that will stay the same.
    @Test(arguments: [
        ("room-moving", 0.0, true), ("room-elsewhere", 5.8, true), ("node-unreachable", 2, true), ("stopping", 2, true),
        ("room-moving", 5.95, false), ("room-moving", 60, false), ("store-unavailable", 0, false),
        ("quota-exceeded", 0, false), ("node-refused", 0, false),
    ])
    func onlyWhatPassesIsTriedAgain(_ code: String, _ spent: Double, _ isTried: Bool) {
        let error = OrchestratorError(.unavailable, code, "t", detail: "d")
        #expect(StreamPatience.triesAgain(after: error, spent: .seconds(spent)) == isTried)
    }
}
