import MixModel
import TestSupport
import Testing

@testable import RoomChannel

private let second: Int64 = 1_000_000_000

extension ChannelMachine {
    /// Sends a message at a time in seconds.
    fileprivate mutating func send(
        _ draft: ChannelDraft, by user: UserID?, at seconds: Double = 0, name: String? = nil
    ) throws(ChannelRefusal) -> (message: ChannelMessage, actions: [Action]) {
        try send(
            draft, from: ChannelSender(user: user, name: name, address: "192.0.2.1"),
            now: Int64(seconds * Double(second)), wallClock: Int64(seconds * 1e6) + 1_000_000)
    }
}

extension ChannelDraft {
    fileprivate static func comment(_ text: String) -> ChannelDraft { ChannelDraft(kind: .comment, text: text) }
    fileprivate static func likes(_ count: Int) -> ChannelDraft { ChannelDraft(kind: .like, count: count) }
}

@Suite struct ChannelMachineTests {
    private var machine = ChannelMachine(rules: ChannelRules(), now: 0)

    @Test mutating func commentsAreNumberedKeptAndTold() throws {
        let first = try machine.send(.comment("  hello\n"), by: "alice", name: "Alice")
        #expect(first.message.text == "hello" && first.message.name == "Alice" && first.message.count == nil)
        #expect(first.actions == [.tell(.message(first.message))])
        // The wall clock went back, but the numbers grow.
        let second = try machine.send(.comment("again"), by: "alice", at: -0.5)
        #expect(second.message.id == first.message.id + 1)
        #expect(machine.history.messages == [first.message, second.message])
    }

    @Test mutating func deletedMessagesAreGone() throws {
        let sent = try machine.send(.comment("oops"), by: "alice").message
        #expect(try machine.delete(sent.id) == [.tell(.deleted(id: sent.id))])
        #expect(machine.history.messages.isEmpty)
        #expect(throws: ChannelRefusal.unknownMessage(sent.id)) { try machine.delete(sent.id) }
    }

    @Test mutating func fieldsMustFitTheKind() throws {
        let gift = try #require(ChannelGift(["id": .text("rose")]))
        let wrong: [(ChannelDraft, ChannelRefusal)] = [
            (ChannelDraft(kind: .comment), .wrongFields(.comment)),
            (ChannelDraft(kind: .comment, text: "x", count: 1), .wrongFields(.comment)),
            (ChannelDraft(kind: .comment, text: "x", gift: gift), .wrongFields(.comment)),
            (.comment(" \u{200B}\u{2060} "), .empty),
            (.comment("a\u{1B}[31m"), .controlCharacters),
            (ChannelDraft(kind: .like, text: "x"), .wrongFields(.like)),
            (.likes(0), .badCount(most: 100)), (.likes(101), .badCount(most: 100)),
            (.likes(.min), .badCount(most: 100)),
            (ChannelDraft(kind: .gift), .wrongFields(.gift)),
            (ChannelDraft(kind: .gift, count: 10_001, gift: gift), .badCount(most: 10_000)),
        ]
        for (draft, refusal) in wrong {
            #expect(throws: refusal) { try machine.send(draft, by: "alice") }
        }
        #expect(
            try machine.send(ChannelDraft(kind: .gift, text: "for you", gift: gift), by: "alice").message.count == 1)
        #expect(machine.history.messages.count == 1)
    }

    @Test mutating func lengthIsLimitedInCharactersAndBytes() throws {
        machine = ChannelMachine(rules: ChannelRules(mostCharacters: 5, mostBytes: 12), now: 0)
        #expect(try machine.send(.comment("日本語人"), by: "alice").message.text == "日本語人")
        for text in ["123456", "日本語人間", "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}"] {
            #expect(throws: ChannelRefusal.tooLong(characters: 5, bytes: 12)) {
                try machine.send(.comment(text), by: "bob")
            }
        }
        let name = String(repeating: "n", count: 65)
        #expect(throws: ChannelRefusal.nameTooLong(characters: 64, bytes: 256)) {
            try machine.send(.comment("x"), by: "bob", name: name)
        }
    }

    @Test mutating func sendersAndTheRoomHaveRates() throws {
        machine = ChannelMachine(rules: ChannelRules(userRate: 1, userBurst: 2, roomRate: 2, roomBurst: 3), now: 0)
        for _ in 0..<2 { _ = try machine.send(.comment("x"), by: "alice") }
        #expect(throws: ChannelRefusal.tooFast(secondsLeft: 1)) { try machine.send(.comment("x"), by: "alice") }
        _ = try machine.send(.comment("x"), by: "bob")
        #expect(throws: ChannelRefusal.roomTooFast(secondsLeft: 1)) { try machine.send(.comment("x"), by: "carol") }
        // Likes do not count towards the room's rate, and a refused message does not count towards carol's.
        _ = try machine.send(.likes(3), by: "carol")
        _ = try machine.send(.comment("x"), by: "carol", at: 0.5)
    }

    @Test mutating func anonymousSendersAreToldApartByAddress() throws {
        machine = ChannelMachine(rules: ChannelRules(userRate: 1, userBurst: 1), now: 0)
        func send(from address: String) throws {
            _ = try machine.send(
                .comment("x"), from: ChannelSender(address: address), now: 0, wallClock: 0)
        }
        try send(from: "192.0.2.1")
        try send(from: "192.0.2.2")
        #expect(throws: ChannelRefusal.tooFast(secondsLeft: 1)) { try send(from: "192.0.2.1") }
    }

    @Test mutating func slowModeHoldsForCommentsAndGifts() throws {
        _ = try machine.change(slowMode: 30, words: nil)
        _ = try machine.send(.comment("x"), by: "alice")
        #expect(throws: ChannelRefusal.slowMode(secondsLeft: 21)) {
            try machine.send(.comment("x"), by: "alice", at: 9.5)
        }
        _ = try machine.send(.likes(1), by: "alice", at: 9.5)
        _ = try machine.send(.comment("x"), by: "alice", at: 30)
        #expect(throws: ChannelRefusal.badRules("Slow mode takes 0 to 3600 seconds.")) {
            try machine.change(slowMode: 3601, words: nil)
        }
    }

    @Test mutating func mutesEndByThemselves() throws {
        try machine.mute("mallory", for: 60, now: 0)
        #expect(throws: ChannelRefusal.muted(secondsLeft: 60)) { try machine.send(.likes(1), by: "mallory") }
        _ = try machine.send(.comment("x"), by: "alice")
        _ = try machine.send(.comment("x"), by: "mallory", at: 60)
        try machine.mute("mallory", for: nil, now: 0)
        #expect(throws: ChannelRefusal.muted(secondsLeft: nil)) {
            try machine.send(.comment("x"), by: "mallory", at: 1e8)
        }
        #expect(machine.unmute("mallory", now: 0) && !machine.unmute("mallory", now: 0))
        // Names are compared by their UTF-8.
        try machine.mute("caf\u{E9}", for: nil, now: 0)
        #expect(machine.muted(at: 0).map(\.user) == ["caf\u{E9}"])
        _ = try machine.send(.comment("x"), by: "cafe\u{301}")
    }

    @Test mutating func mutesAreLimited() throws {
        for number in 0..<ChannelMutes.mostUsers { try machine.mute(UserID("u\(number)"), for: 10, now: 0) }
        #expect(throws: ChannelRefusal.tooManyMuted(1000)) { try machine.mute("one more", for: 10, now: 0) }
        try machine.mute("u5", for: 20, now: 0)
        // The other mutes have ended.
        try machine.mute("one more", for: 10, now: 10 * second)
        #expect(machine.muted(at: 10 * second).map(\.user) == ["one more", "u5"])
    }

    @Test mutating func remembersALimitedNumberOfSenders() throws {
        var rates = SenderRates(ChannelRules(userBurst: 1, roomRate: 1e6, roomBurst: 1_000_000), now: 0)
        let rules = ChannelRules(userBurst: 1, roomRate: 1e6, roomBurst: 1_000_000, slowMode: 60)
        for number in 0..<(SenderRates.mostSenders * 3) {
            try rates.take(
                .comment, from: ChannelSender(user: UserID("u\(number)"), address: "a"), rules, at: 0)
            #expect(rates.count <= SenderRates.mostSenders)
        }
    }
}

@Suite struct ChannelLikesTests {
    @Test func likesAreToldInBurstsAndNoneIsLost() throws {
        var numbers = SeededGenerator(announcedFor: "ChannelLikesTests")
        for _ in 0..<200 {
            let perSecond = Int.random(in: 1...5, using: &numbers)
            var machine = ChannelMachine(
                rules: ChannelRules(userRate: 1e6, userBurst: 1000, likeNotices: perSecond), now: 0)
            var (now, sent, told) = (Int64(0), Int64(0), Int64(0))
            var wakes: [Int64] = []
            var toldAt: [Int64] = []
            func take(_ actions: [ChannelMachine.Action], at time: Int64) {
                for action in actions {
                    switch action {
                    case .tell(.message(let message)):
                        told += Int64(message.count ?? 0)
                        #expect(message.total == told && message.kind == .like)
                        toldAt.append(time)
                    case .wake(let time): wakes.append(time)
                    case .tell: Issue.record("only likes are told")
                    }
                }
            }
            for _ in 0..<100 {
                now += Int64.random(in: 0...400_000_000, using: &numbers)
                while let due = wakes.min(), due <= now {
                    wakes.removeAll { $0 == due }
                    take(machine.passed(due, wallClock: 0), at: due)
                }
                let count = Int.random(in: 1...100, using: &numbers)
                sent += Int64(count)
                let user: UserID? = Bool.random(using: &numbers) ? "alice" : nil
                take(try machine.send(.likes(count), by: user, at: Double(now) / 1e9).actions, at: now)
            }
            for due in wakes.sorted() {
                now = max(now, due)
                take(machine.passed(now, wallClock: 0), at: now)
            }
            #expect(told == sent && machine.likes == sent)
            for (earlier, later) in zip(toldAt, toldAt.dropFirst()) {
                // Times pass through a Double of seconds here, hence the tolerance.
                #expect(later - earlier >= second / Int64(perSecond) - 1000)
            }
            #expect(machine.history.messages.isEmpty)
        }
    }

    @Test func aBurstNamesTheSenderIfThereIsOne() throws {
        var burst = LikeBurst()
        burst.add(2, of: "alice", name: "Alice")
        burst.add(3, of: "alice", name: "Alice")
        #expect(burst.take(at: 0, perSecond: 1) == .now(.init(count: 5, total: 5, user: "alice", name: "Alice")))
        burst.add(1, of: "alice", name: "Alice")
        burst.add(1, of: "bob", name: nil)
        burst.add(1, of: "alice", name: "Alice")
        #expect(burst.take(at: 1, perSecond: 1) == .later(second))
        #expect(burst.take(at: 2, perSecond: 1) == .nothing)
        #expect(burst.take(at: second, perSecond: 1) == .now(.init(count: 3, total: 8, user: nil, name: nil)))
        #expect(burst.take(at: 9 * second, perSecond: 1) == .nothing)
    }

    @Test func theCountSaturates() {
        var burst = LikeBurst()
        burst.add(.max, of: nil, name: nil)
        burst.add(100, of: nil, name: nil)
        #expect(burst.take(at: 0, perSecond: 1) == .now(.init(count: .max, total: .max, user: nil, name: nil)))
    }
}

@Suite struct ChannelLifeTests {
    private var machine = ChannelMachine(rules: ChannelRules(), now: 0)
    private let alice = ChannelOnAir(mode: .bypass, people: ["alice"])

    @Test mutating func theProgramIsToldWhenItChanges() {
        #expect(
            machine.takeProgram(alice, hasParticipants: true) == [.tell(.opened(title: nil)), .tell(.onAir(alice))])
        #expect(machine.takeProgram(alice, hasParticipants: true).isEmpty)
        let both = ChannelOnAir(mode: .mix, people: ["alice", "bob"])
        #expect(machine.takeProgram(both, hasParticipants: true) == [.tell(.onAir(both))])
        #expect(
            machine.takeProgram(ChannelOnAir(), hasParticipants: false)
                == [.tell(.onAir(ChannelOnAir())), .tell(.ended)])
        #expect(!machine.isLive)
    }

    @Test mutating func aRoomBelongsToWhoOpensIt() throws {
        #expect(try machine.open(title: "Cooking", by: "alice") == [.tell(.opened(title: "Cooking"))])
        #expect(try machine.open(title: nil, by: "alice").isEmpty)
        #expect(!machine.mayClose(ChannelSender(user: "bob", address: "")))
        #expect(!machine.mayClose(ChannelSender(user: nil, address: "")))
        #expect(machine.mayClose(ChannelSender(user: nil, address: "", isModerator: true)))
        #expect(machine.mayClose(ChannelSender(user: "alice", address: "")))
        #expect(machine.takeProgram(alice, hasParticipants: true) == [.tell(.onAir(alice))])
        // The host's connection is lost, but the room stays open.
        #expect(
            machine.takeProgram(ChannelOnAir(), hasParticipants: false) == [.tell(.onAir(ChannelOnAir()))])
        #expect(machine.close() == [.tell(.ended), .tell(.closed)])
        #expect(machine.close().isEmpty)
        #expect(throws: ChannelRefusal.nameTooLong(characters: 64, bytes: 256)) {
            try machine.open(title: String(repeating: "x", count: 65), by: "alice")
        }
    }

    @Test mutating func aRoomOfItsParticipantsIsClosedByModeratorsOnly() {
        let viewer = ChannelSender(user: "bob", address: "")
        #expect(machine.mayClose(viewer), "there is nothing to close")
        _ = machine.takeProgram(alice, hasParticipants: true)
        #expect(!machine.mayClose(viewer))
        #expect(!machine.mayClose(ChannelSender(user: nil, address: "")))
        #expect(machine.mayClose(ChannelSender(user: nil, address: "", isModerator: true)))
        #expect(machine.mayOpen(viewer), "a room that has not been opened is anyone's to open")
    }

    @Test mutating func aRoomThatIsClosedOnAirStaysClosedUntilItIsEmpty() throws {
        _ = try machine.open(title: nil, by: "alice")
        _ = machine.takeProgram(alice, hasParticipants: true)
        #expect(machine.close() == [.tell(.ended), .tell(.closed)])
        let both = ChannelOnAir(mode: .mix, people: ["alice", "bob"])
        #expect(machine.takeProgram(both, hasParticipants: true) == [.tell(.onAir(both))])
        #expect(machine.takeProgram(ChannelOnAir(), hasParticipants: false) == [.tell(.onAir(ChannelOnAir()))])
        #expect(machine.takeProgram(alice, hasParticipants: true).first == .tell(.opened(title: nil)))
        #expect(machine.end() == [.tell(.onAir(ChannelOnAir())), .tell(.ended)])
    }

    @Test mutating func viewersAreToldOnceASecond() {
        let one = ChannelAudience(channel: 1, playback: 0)
        #expect(machine.takeAudience(one, now: 0) == [.tell(.viewers(one))])
        #expect(machine.takeAudience(ChannelAudience(channel: 2), now: 1) == [.wake(at: second)])
        let three = ChannelAudience(channel: 3, playback: 5)
        #expect(machine.takeAudience(three, now: 2) == [.wake(at: second)])
        #expect(machine.passed(second, wallClock: 0) == [.tell(.viewers(three))])
        #expect(machine.passed(2 * second, wallClock: 0).isEmpty)
        #expect(three.count == 5)
    }

    @Test func namesALimitedNumberOfPeople() {
        #expect(ChannelOnAir(mode: .mix, people: (0..<100).map { UserID("\($0)") }).people.count == 64)
    }
}
