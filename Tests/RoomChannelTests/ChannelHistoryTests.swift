import MixModel
import Testing

@testable import RoomChannel

@Suite struct ChannelHistoryTests {
    private func message(_ id: Int64, _ text: String = "hello") -> ChannelMessage {
        ChannelMessage(id: id, kind: .comment, text: text, sentAt: id)
    }

    @Test func keepsTheLastMessages() {
        var history = ChannelHistory(mostMessages: 3)
        for id in 1...5 { history.append(message(Int64(id))) }
        #expect(history.messages.map(\.id) == [3, 4, 5])
        #expect(history.droppedUpTo == 2)
        #expect(history.reaches(2) && !history.reaches(1))
        #expect(history.after(3).map(\.id) == [4, 5])
        #expect(history.after(9).isEmpty)
    }

    @Test func remembersWhatWasDeletedLast() {
        var history = ChannelHistory(mostMessages: 3)
        for id in 1...8 {
            history.append(message(Int64(id)))
            guard id.isMultiple(of: 2) else { continue }
            let isRemoved = history.remove(Int64(id))
            #expect(isRemoved)
        }
        #expect(history.deleted == [4, 6, 8])
        #expect(!history.remove(8) && history.deleted == [4, 6, 8])
    }

    @Test func isLimitedByBytes() {
        let one = message(1, String(repeating: "é", count: 500))
        var history = ChannelHistory(mostMessages: 100, mostBytes: one.weight * 4)
        for id in 1...20 {
            var next = one
            next.id = Int64(id)
            history.append(next)
            #expect(history.messages.count == min(id, 4))
        }
        #expect(history.remove(18) && !history.remove(18) && !history.remove(1))
        history.append(message(21))
        #expect(history.messages.map(\.id) == [17, 19, 20, 21])
    }

    @Test func aMessageThatIsTooLargeIsNotKept() {
        var history = ChannelHistory(mostMessages: 100, mostBytes: 200)
        history.append(message(1))
        history.append(message(2, String(repeating: "x", count: 500)))
        #expect(history.messages.isEmpty && history.droppedUpTo == 2)
    }
}
