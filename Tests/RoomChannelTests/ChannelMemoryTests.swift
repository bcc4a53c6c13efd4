import Foundation
import MixModel
import Testing

@testable import RoomChannel

private let second: Int64 = 1_000_000_000

/// The state that a channel restores after a restart.
@Suite struct ChannelMemoryTests {
    private func message(_ id: Int64) -> ChannelMessage {
        ChannelMessage(id: id, kind: .comment, text: "\(id)", sentAt: id)
    }

    @Test func whatIsRememberedIsTheSameAgain() throws {
        var machine = ChannelMachine(rules: ChannelRules(), now: 100 * second)
        #expect(machine.memory(at: 0, wallClock: 0) == ChannelMemory(likes: 0, muted: []))
        let before = machine.memoryRevision
        try machine.mute("mallory", for: nil, now: 100 * second)
        try machine.mute("eve", for: 60, now: 100 * second)
        _ = try machine.change(slowMode: 7, words: nil)
        let sender = ChannelSender(user: "bob", address: "192.0.2.1")
        _ = try machine.send(ChannelDraft(kind: .like, count: 5), from: sender, now: 100 * second, wallClock: 10)
        #expect(machine.memoryRevision == before + 4)
        let wall: Int64 = 1_700_000_000_000_000
        let memory = machine.memory(at: 110 * second, wallClock: wall)
        #expect(memory.muted == [.init(user: "eve", until: wall / 1000 + 50_000), .init(user: "mallory")])
        #expect(memory.likes == 5 && memory.slowMode == 7 && memory.words == nil)
        let read = try JSONDecoder().decode(ChannelMemory.self, from: JSONEncoder().encode(memory))

        // A machine of a later start, whose monotonic clock began anew, 20 s later.
        var next = ChannelMachine(rules: ChannelRules(), now: 3 * second)
        next.restore([message(4), message(9)], read, now: 3 * second, wallClock: wall + 20_000_000)
        #expect(next.likes == 5 && next.rules.slowMode == 7 && next.memoryRevision == 0)
        #expect(next.muted(at: 3 * second).map(\.user) == ["eve", "mallory"])
        #expect(next.muted(at: 3 * second).map(\.secondsLeft) == [30, nil])
        #expect(next.history.messages == [message(4), message(9)])
        // A clock that was set back does not cause a number to be used again.
        let sent = try next.send(ChannelDraft(kind: .comment, text: "x"), from: sender, now: 3 * second, wallClock: 2)
        #expect(sent.message.id == 10)
    }

    @Test func whatHasEndedOrIsNotAllowedIsLeftOut() {
        var machine = ChannelMachine(rules: ChannelRules(slowMode: 3), now: 0)
        let many = (0..<5000).map { ChannelMemory.Mute(user: UserID("u\($0)")) }
        let ended = [ChannelMemory.Mute(user: "old", until: 999), .init(user: "older", until: .min)]
        let memory = ChannelMemory(likes: -4, slowMode: 99_999, words: [" "], muted: ended + many)
        machine.restore([message(5), message(5), message(3), message(6)], memory, now: 0, wallClock: 1_000_000)
        #expect(machine.likes == 0 && machine.rules.slowMode == 3 && machine.rules.words.words.isEmpty)
        #expect(machine.history.messages.map(\.id) == [5, 6])
        #expect(machine.muted(at: 0).count == ChannelMutes.mostUsers - ended.count)
        #expect(machine.muted(at: 0).allSatisfy { $0.user != "old" && $0.user != "older" })
    }

    /// A follower is told that messages are missing if the list may have been longer.
    @Test func aFullListHasLostWhatWasBeforeIt() {
        for (count, reaches) in [(3, true), (4, false)] {
            let history = ChannelHistory(mostMessages: 4)
            var machine = ChannelMachine(rules: ChannelRules(), history: history, now: 0)
            machine.restore((1...Int64(count)).map { message($0 * 10) }, ChannelMemory(), now: 0, wallClock: 0)
            #expect(machine.history.reaches(5) == reaches && machine.history.reaches(10))
        }
    }

    @Test func theBoundOfTheHistoryHolds() {
        var machine = ChannelMachine(rules: ChannelRules(), history: ChannelHistory(mostMessages: 2), now: 0)
        machine.restore((1...9).map(message), ChannelMemory(), now: 0, wallClock: 0)
        #expect(machine.history.messages.map(\.id) == [8, 9])
    }
}
