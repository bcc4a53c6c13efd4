import Foundation
import MixModel
import Testing

@testable import RoomChannel

private let second: Int64 = 1_000_000_000
private let wall: Int64 = 1_700_000_000_000_000

/// The state that a channel keeps when its room moves.
@Suite struct ChannelHandoverTests {
    private let sender = ChannelSender(user: "bob", address: "192.0.2.1")

    private func used() throws -> ChannelMachine {
        var machine = ChannelMachine(rules: ChannelRules(), now: 0)
        _ = try machine.open(title: "Show", by: "alice")
        for text in ["one", "two"] {
            _ = try machine.send(ChannelDraft(kind: .comment, text: text), from: sender, now: second, wallClock: wall)
        }
        // The first likes are told; the others wait.
        for _ in 0..<3 {
            _ = try machine.send(ChannelDraft(kind: .like, count: 2), from: sender, now: 2 * second, wallClock: wall)
        }
        try machine.mute("mallory", for: nil, now: 0)
        _ = try machine.change(slowMode: 7, words: ["darn"])
        return machine
    }

    @Test(arguments: [false, true]) func theNextNodeGoesOnAsTheLastOne(isStored: Bool) throws {
        let machine = try used()
        let handover = machine.handover(at: 3 * second, wallClock: wall, isStored: isStored)
        #expect(handover.messages.count == (isStored ? 0 : 2))
        let read = try JSONDecoder().decode(ChannelHandover.self, from: JSONEncoder().encode(handover))
        #expect(read == handover)
        // The other node's clock is a minute behind.
        let late = wall - 60_000_000
        var next = ChannelMachine(rules: ChannelRules(), now: 0)
        next.takeOver(read, stored: isStored ? machine.history.messages : nil, now: 0, wallClock: late)
        #expect(next.history.messages == machine.history.messages && next.rules == machine.rules)
        #expect(next.likes == 6 && next.snapshot.state.likes == 6 && machine.snapshot.state.likes == 2)
        #expect(next.muted(at: 0).map(\.user) == ["mallory"] && next.opener == "alice")
        #expect(next.memoryRevision > 0, "the store gets it")
        #expect(next.takeProgram(ChannelOnAir(), hasParticipants: false) == [.tell(.opened(title: "Show"))])
        let sent = try next.send(
            ChannelDraft(kind: .comment, text: "three"), from: ChannelSender(user: "carol", address: ""), now: 0,
            wallClock: late)
        #expect(sent.message.id > (machine.history.messages.last?.id ?? .max))
        #expect(next.close() == [.tell(.ended), .tell(.closed)])
    }

    /// The numbers of messages that mirrors have told are not used again, even if the clock is behind. Nonsense values
    /// change little.
    @Test func numbersGoOnBehindThoseThatMirrorsKnow() throws {
        var machine = ChannelMachine(rules: ChannelRules(), now: 0)
        machine.beginAnew(now: 0, wallClock: wall)
        #expect(machine.history.droppedUpTo == wall && !machine.history.reaches(wall - 1))
        machine.catchUp(to: wall - 5, wallClock: wall)
        #expect(machine.snapshot.lastID == wall)
        machine.catchUp(to: wall + 500, wallClock: wall)
        #expect(machine.history.droppedUpTo == wall + 500)
        let sent = try machine.send(
            ChannelDraft(kind: .comment, text: "x"), from: sender, now: 0, wallClock: wall + 1)
        #expect(sent.message.id == wall + 501)
        for id in [.max, .min] as [Int64] { machine.catchUp(to: id, wallClock: wall) }
        #expect(machine.snapshot.lastID == wall + ChannelMachine.mostAhead)
        // History from a store or another node is complete: a higher known number does not mean that messages are
        // missing.
        var stored = ChannelMachine(rules: ChannelRules(), now: 0)
        stored.catchUp(to: wall, wallClock: wall)
        #expect(stored.history.droppedUpTo == 0 && stored.snapshot.lastID == wall)
    }

    /// If the room's node is lost, a node that has followed the channel continues with the history that it has told.
    @Test func aMirrorIsBetterThanNothing() throws {
        let machine = try used()
        let mirror = ChannelMirror(of: machine.snapshot, history: ChannelHistory())
        var next = ChannelMachine(rules: ChannelRules(), now: 0)
        next.beginAnew(after: mirror, now: 0, wallClock: wall)
        #expect(next.history.messages == machine.history.messages && next.likes == 2 && next.title == "Show")
        // Followers may know messages that are missing here, however many new ones arrive.
        for _ in 0..<300 {
            let moderator = ChannelSender(user: "ann", address: "", isModerator: true)
            _ = try next.send(ChannelDraft(kind: .comment, text: "x"), from: moderator, now: 0, wallClock: wall)
            #expect(next.history.droppedUpTo >= wall)
        }
    }
}
