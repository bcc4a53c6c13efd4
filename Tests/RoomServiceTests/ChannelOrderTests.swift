import Foundation
import MixModel
import RoomChannel
import Testing

@testable import RoomService

/// Messages between nodes about channels.
@Suite struct ChannelOrderTests {
    private let sender = ChannelSender(user: "bob", name: "Bób", address: "192.0.2.1", isModerator: true)

    @Test func ordersAreReadAsWritten() throws {
        let gift = try #require(ChannelGift(["id": .text("rose"), "price": .number(3), "new": .flag(true)]))
        let place = ChannelPlace(run: (1 << 53) - 1, number: 7)
        let orders: [ChannelOrder] = [
            .follow(
                "shop/demo", ChannelFollowing(mirror: "b", place: place, known: .max, viewers: 3, waits: true)),
            .follow("demo", ChannelFollowing(mirror: "b", place: nil, known: 0, viewers: 0, waits: false)),
            .count("demo", mirror: "b", viewers: 5),
            .call("demo", .send(ChannelDraft(kind: .gift, text: "x", count: 2, gift: gift), sender)),
            .call("demo", .delete(5)), .call("demo", .mute("eve", seconds: nil)), .call("demo", .unmute("eve")),
            .call("demo", .rules(slowMode: nil, words: ["darn"])), .call("demo", .history(after: nil)),
            .call("demo", .open(title: nil, sender)), .call("demo", .close(sender)),
        ]
        for order in orders {
            #expect(try JSONDecoder().decode(ChannelOrder.self, from: JSONEncoder().encode(order)) == order)
        }
    }

    @Test func refusalsAreThoseOfTheRoomsNode() throws {
        for refusal in [ChannelRefusal.slowMode(secondsLeft: 7), .unknownMessage(3), .muted(secondsLeft: nil)] {
            let error = OrchestratorError(refusal)
            let answer = try JSONDecoder().decode(
                ChannelAnswer.self, from: JSONEncoder().encode(ChannelAnswer(error)))
            #expect(answer.error == error)
        }
        #expect(ChannelAnswer().error == nil)
    }

    /// While a room moves, an order that was not carried out is repeated, and one that may have been carried out is
    /// not.
    @Test(arguments: [
        ("room-moving", 0.0, true), ("room-elsewhere", 5.8, true), ("stopping", 2, true), ("room-moving", 5.95, false),
        ("node-unreachable", 0, false), ("node-refused", 0, false), ("store-unavailable", 0, false),
        ("channel-muted", 0, false),
    ])
    func onlyWhatWasNotDoneIsTriedAgain(_ code: String, _ spent: Double, _ isTried: Bool) {
        let error = OrchestratorError(.unavailable, code, "t", detail: "d")
        #expect(ChannelPatience.triesAgain(after: error, spent: .seconds(spent)) == isTried)
    }

    /// The largest possible channel fits into an order.
    @Test func theLargestChannelFits() throws {
        let settings = ChannelSettings()
        let history = ChannelHistory(mostMessages: 1000, mostBytes: settings.historyBytes)
        let rules = ChannelRules(
            userRate: 1e6, userBurst: 1_000_000, roomRate: 1e6, roomBurst: 1_000_000, mostCharacters: 2000,
            mostBytes: 8000)
        func longest(_ number: Int) -> UserID { UserID(String(repeating: "ü", count: 62) + "\(1000 + number)") }
        for text in ["\"", String(repeating: "\"", count: 2000)] {
            var machine = ChannelMachine(rules: rules, history: history, now: 0)
            for number in 0..<1000 {
                try machine.mute(longest(number), for: 1000, now: 0)
                _ = try machine.send(
                    ChannelDraft(kind: .comment, text: text),
                    from: ChannelSender(user: "a", address: "", isModerator: true), now: 0, wallClock: 0)
            }
            let words = (0..<WordList.mostWords).map { String(repeating: "\"", count: 120) + "\(100 + $0)" }
            _ = try machine.change(slowMode: 3600, words: words)
            let order = ChannelOrder.take(
                "demo", machine.handover(at: 0, wallClock: 0, isStored: false), epoch: .max)
            let bytes = try JSONEncoder().encode(order).count
            #expect(bytes < 1 << 20, "\(bytes)")
            let answer = ChannelAnswer(
                bulletin: ChannelBulletin(place: ChannelPlace(run: 1, number: 1), snapshot: machine.snapshot))
            #expect(try JSONEncoder().encode(answer).count < ChannelPatience.longestAnswer)
        }
    }
}
