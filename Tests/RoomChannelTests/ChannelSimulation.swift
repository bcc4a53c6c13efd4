import Foundation
import MixModel
import TestSupport
import Testing

@testable import RoomChannel

/// Three nodes, one room that moves among them, and a follower of its channel at each node.
struct ChannelSimulation {
    /// The state that a follower has been told.
    struct Follower {
        /// Messages on the screen.
        var screen: [Int64] = []
        var last: Int64 = 0
        var deleted: Set<Int64> = []
        var likes: Int64
        var state: ChannelState
    }

    struct Node {
        /// The node's mirror; `nil` at the room's node.
        var mirror: ChannelMirror?
        /// The mirror's next action.
        var action: ChannelMirror.Action?
        /// An answer that is on its way.
        var answer: ChannelMirror.Event?
        var follower: Follower
        /// Offset of the node's clock, in µs.
        var skew: Int64 = 0
    }

    private static let limit = 12
    private static let rules = ChannelRules(userRate: 1e6, userBurst: 1_000_000, roomRate: 1e6, roomBurst: 1_000_000)
    let name: String
    private var random: SeededGenerator
    private var time: Int64 = 1_000_000_000
    private var machine: ChannelMachine
    private var log: ChannelLog
    private var home = 0
    private var nodes: [Node] = []
    private var runs: Int64 = 1
    private var hasParticipants = false
    /// Accepted messages that were not lost with a node.
    private var answered: Set<Int64> = []
    private var removed: Set<Int64> = []
    private(set) var moves = 0
    private(set) var losses = 0

    init(seed: UInt64, name: String) {
        self.name = name
        random = SeededGenerator(seed: seed)
        machine = ChannelMachine(rules: Self.rules, history: Self.history, now: time)
        log = ChannelLog(run: 1)
        let snapshot = machine.snapshot
        for number in 0..<3 {
            var node = Node(follower: Self.follower(snapshot))
            if number != home { Self.begin(&node, ChannelMirror(of: snapshot, history: Self.history)) }
            nodes.append(node)
        }
    }

    private static var history: ChannelHistory { ChannelHistory(mostMessages: limit) }
    private var wallClock: Int64 { 1_700_000_000_000_000 + time / 1000 + nodes[home].skew }

    private static func follower(_ snapshot: ChannelSnapshot) -> Follower {
        Follower(
            screen: snapshot.messages.map(\.id), last: snapshot.messages.last?.id ?? 0, likes: snapshot.state.likes,
            state: snapshot.state)
    }

    private static func begin(_ node: inout Node, _ mirror: ChannelMirror) {
        (node.mirror, node.action, node.answer) = (mirror, mirror.beginning, nil)
    }

    // MARK: Play

    mutating func play(steps: Int) throws {
        for _ in 0..<steps {
            time += .random(in: 1_000_000...300_000_000, using: &random)
            try step()
        }
        // All waiting notices are told, and every mirror asks.
        time += 5_000_000_000
        perform(machine.passed(time, wallClock: wallClock))
        for _ in 0..<60 { for number in nodes.indices { advance(number, isCalm: true) } }
        for number in nodes.indices { check(number) }
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<22: try send(.comment)
        case 22..<30: try send(.like)
        case 30: for _ in 0..<300 { try send(.like, burst: true) }
        case 31..<34:
            guard let id = machine.history.messages.randomElement(using: &random)?.id else { return }
            removed.insert(id)
            perform(try machine.delete(id))
        case 34: perform(try machine.open(title: nil, by: nil))
        case 35: perform(machine.close())
        case 36..<38: perform(try machine.change(slowMode: .random(in: 0...1, using: &random), words: nil))
        case 38..<42:
            let people = [UserID("a"), "b", "c"].filter { _ in Bool.random(using: &random) }
            hasParticipants = !people.isEmpty
            let program = ChannelOnAir(mode: hasParticipants ? .mix : nil, people: people)
            perform(machine.takeProgram(program, hasParticipants: hasParticipants))
        case 42..<46:
            perform(machine.takeAudience(ChannelAudience(channel: .random(in: 0...9, using: &random)), now: time))
        case 46..<50: perform(machine.passed(time, wallClock: wallClock))
        case 50..<54: try move()
        case 54..<56: lose()
        default: advance(.random(in: 0..<3, using: &random), isCalm: false)
        }
    }

    private mutating func send(_ kind: ChannelMessage.Kind, burst: Bool = false) throws {
        let draft = ChannelDraft(kind: kind, text: kind == .comment ? "x" : nil)
        let sender = ChannelSender(user: burst ? "b" : "a", address: "", isModerator: true)
        if burst { time += 500_000_000 }
        let (message, actions) = try machine.send(draft, from: sender, now: time, wallClock: wallClock)
        if kind == .comment {
            let isNew = answered.insert(message.id).inserted
            #expect(isNew, "\(name)")
        }
        perform(actions)
    }

    private mutating func perform(_ actions: [ChannelMachine.Action]) {
        for case .tell(let notice) in actions {
            log.append(notice)
            tell(home, notice)
        }
    }

    // MARK: Moves

    private mutating func move() throws {
        let next = (home + .random(in: 1...2, using: &random)) % 3
        let handover = try JSONDecoder().decode(
            ChannelHandover.self,
            from: JSONEncoder().encode(machine.handover(at: time, wallClock: wallClock, isStored: false)))
        Self.begin(&nodes[home], ChannelMirror(of: machine.snapshot, history: Self.history))
        open(at: next, skew: .random(in: -2_000_000...2_000_000, using: &random)) { machine, now, wallClock in
            machine.takeOver(handover, now: now, wallClock: wallClock)
        }
        let known = Set(machine.history.messages.map(\.id))
        for id in answered where id > machine.history.droppedUpTo && !removed.contains(id) {
            #expect(known.contains(id), "an answered message is lost, \(name)")
        }
        moves += 1
    }

    /// Loses the room's node together with its followers. Another node continues when the lease has run out.
    private mutating func lose() {
        let lost = home
        time += 10_000_000_000
        for number in nodes.indices { nodes[number].skew = 0 }
        let next = (home + .random(in: 1...2, using: &random)) % 3
        let mirror = nodes[next].mirror
        open(at: next, skew: 0) { machine, now, wallClock in
            machine.beginAnew(after: mirror, now: now, wallClock: wallClock)
        }
        answered = []
        nodes[lost].follower = Self.follower(machine.snapshot)
        Self.begin(&nodes[lost], ChannelMirror(of: machine.snapshot, history: Self.history))
        losses += 1
    }

    private mutating func open(
        at next: Int, skew: Int64, _ restore: (inout ChannelMachine, Int64, Int64) -> Void
    ) {
        home = next
        nodes[next].skew = skew
        var opened = ChannelMachine(rules: Self.rules, history: Self.history, now: time)
        restore(&opened, time, wallClock)
        _ = opened.takeProgram(opened.onAir, hasParticipants: hasParticipants)
        machine = opened
        runs += 1
        log = ChannelLog(run: runs)
        let actions = nodes[next].mirror?.take(.home(machine.snapshot)) ?? []
        (nodes[next].mirror, nodes[next].action, nodes[next].answer) = (nil, nil, nil)
        for case .tell(let notice) in actions { tell(next, notice) }
    }

    // MARK: Mirrors

    private mutating func advance(_ number: Int, isCalm: Bool) {
        guard let action = nodes[number].action else { return }
        var event = nodes[number].answer
        nodes[number].answer = nil
        let luck = isCalm ? 9 : Int.random(in: 0..<10, using: &random)
        if event == nil {
            switch action {
            case .seek: event = luck == 0 ? .unknown : .elsewhere
            case .ask(let place): event = luck == 0 ? .silent : luck == 1 ? .moved : answer(number, place)
            case .rest: event = .rested
            case .tell, .end: Issue.record("\(action) is no last action, \(name)")
            }
            // The answer may arrive late, after another move of the room.
            if luck == 2 {
                nodes[number].answer = event
                return
            }
        }
        guard let event else { return }
        for action in nodes[number].mirror?.take(event) ?? [] {
            if case .tell(let notice) = action { tell(number, notice) } else { nodes[number].action = action }
        }
    }

    /// Returns the answer to a mirror; `nil` if the mirror waits for news.
    private mutating func answer(_ number: Int, _ place: ChannelPlace?) -> ChannelMirror.Event? {
        machine.catchUp(to: nodes[number].mirror?.known ?? 0, wallClock: wallClock)
        guard let bulletin = log.bulletin(after: place, snapshot: machine.snapshot) else { return nil }
        guard let read = try? JSONDecoder().decode(ChannelBulletin.self, from: JSONEncoder().encode(bulletin)) else {
            Issue.record("not readable: \(bulletin), \(name)")
            return nil
        }
        #expect(read == bulletin)
        return .answered(read)
    }

    // MARK: Followers

    private mutating func tell(_ number: Int, _ notice: ChannelNotice) {
        var follower = nodes[number].follower
        switch notice {
        case .message(let message) where message.kind == .like:
            follower.likes += Int64(message.count ?? 0)
            follower.state.likes = message.total ?? -1
        case .message(let message):
            #expect(message.id > follower.last, "twice, or out of order, \(name)")
            follower.last = message.id
            follower.screen.append(message.id)
        case .deleted(let id):
            // A deletion that a node does not know of may be made again.
            let isNew = follower.deleted.insert(id).inserted || losses > 0
            #expect(removed.contains(id) && isNew, "\(id) was not deleted, or twice, \(name)")
            follower.screen.removeAll { $0 == id }
        case .viewers(let audience): follower.state.audience = audience
        case .onAir(let program): follower.state.onAir = program
        case .opened(let title):
            #expect(!follower.state.isLive, "opened twice, \(name)")
            (follower.state.isLive, follower.state.title) = (true, title)
        case .ended:
            #expect(follower.state.isLive, "ended twice, \(name)")
            follower.state.isLive = false
        case .closed: break
        case .rules(let rules): follower.state.rules = rules
        }
        nodes[number].follower = follower
    }

    /// Checks that a follower finally sees the contents of the channel. Messages that the room's node no longer knows
    /// may stay.
    private func check(_ number: Int) {
        let follower = nodes[number].follower
        var seen = follower.state
        // A count of likes that only a lost node knew is shown until there are more likes.
        if losses > 0 { seen.likes = machine.likes }
        #expect(seen == machine.state, "node \(number), \(name)")
        let known = machine.history.messages.map(\.id).filter { $0 > machine.history.droppedUpTo }
        #expect(follower.screen.filter { $0 > machine.history.droppedUpTo } == known, "node \(number), \(name)")
        #expect(follower.likes >= machine.likes, "node \(number), \(name)")
        if losses == 0 { #expect(follower.likes == machine.likes, "node \(number), \(name)") }
    }
}
