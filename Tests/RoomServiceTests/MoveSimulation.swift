import MixModel
import TaskStore
import TestSupport
import Testing

@testable import RoomService

/// A simulation of three nodes with services and relays, one room, a store in memory, and one clock for all.
final class MoveSimulation {
    struct Relay {
        var isSilent: Bool
        /// Time from which the relay sends nothing.
        var hold: Int64
        /// Number that identifies the relay.
        var number: Int
    }

    struct Service {
        var machine: OwnershipMachine
        /// Number of the service's current life. Events of earlier lives are lost.
        var life = 0
        var isAlive = true
        var frozenUntil: Int64 = 0
        var relay: Relay?
        var relayFrozenUntil: Int64 = 0
        /// Whether the room's owner runs on this node.
        var hasOwner = false
        var move: MoveMachine?
        var arrival: ArrivalMachine?
    }

    struct Event {
        var at: Int64
        /// Sequence number, which orders events of the same time.
        var number: Int
        var node: Int
        var life: Int
        var isOfRelay = false
        var run: () async throws -> Void
    }

    static let ms: Int64 = 1_000_000
    static let lease = Duration.seconds(8)
    let room: RoomID = "r"
    let store: MemoryTaskStore
    let clock = StepClock()
    var random: SeededGenerator
    var nodes: [Service] = []
    var events: [Event] = []
    var scheduled = 0
    var relays = 0
    var isCalm = false
    var name = ""
    /// Answers that giving nodes wait for, by receiver.
    var answers: [Int: (String?) -> Void] = [:]
    var moved = 0

    var now: Int64 {
        get { clock.now }
        set { clock.now = newValue }
    }

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        store = MemoryTaskStore(clock: StoreClock { [clock] in Double(clock.now) / 1e9 })
    }

    func play(_ name: String) async throws {
        self.name = name
        for number in 0..<3 {
            let node = try await store.register("n\(number)", for: Self.lease)
            nodes.append(Service(machine: OwnershipMachine(node: node, lease: Self.lease.nanoseconds)))
            chores(of: number)
        }
        try await claim(0) { _ in }
        schedule(0, 100 * Self.ms, -1) { self.trouble() }
        try await run(until: now + 150_000 * Self.ms)
        isCalm = true
        for number in nodes.indices where !nodes[number].isAlive { try await revive(number) }
        for number in nodes.indices {
            (nodes[number].frozenUntil, nodes[number].relayFrozenUntil) = (0, 0)
            nodes[number].machine.drain(false)
        }
        try await run(until: now + 90_000 * Self.ms)
        #expect(senders.count == 1, "in the end: \(senders), \(name)")
    }

    // MARK: Time

    func run(until end: Int64) async throws {
        func isEarlier(_ one: Int, _ other: Int) -> Bool {
            (events[one].at, events[one].number) < (events[other].at, events[other].number)
        }
        while let index = events.indices.min(by: isEarlier), events[index].at <= end {
            let event = events.remove(at: index)
            now = max(now, event.at)
            let service = nodes[event.node]
            guard event.life < 0 || service.life == event.life && service.isAlive || event.isOfRelay else { continue }
            let thaw = event.isOfRelay ? service.relayFrozenUntil : service.frozenUntil
            if event.life >= 0, thaw > now {
                events.append(event)
                events[events.count - 1].at = thaw
                continue
            }
            // The relay expires before it reads messages that arrived while it stood still.
            expireRelays()
            try await event.run()
            expireRelays()
            #expect(senders.count <= 1, "two senders at \(now): \(senders), \(name)")
        }
        now = end
    }

    /// Schedules an action of a node.
    ///
    /// - Parameters:
    ///   - life: The service's current life if `nil`; −1 for an action that happens in any case.
    ///   - isOfRelay: Whether the action is a message to the node's relay. Such messages keep their order, even while
    ///     the relay stands still.
    func schedule(
        _ node: Int, _ delay: Int64, _ life: Int? = nil, isOfRelay: Bool = false,
        _ run: @escaping () async throws -> Void
    ) {
        let earlier = isOfRelay ? events.filter { $0.isOfRelay && $0.node == node }.map(\.at).max() : nil
        scheduled += 1
        events.append(
            Event(
                at: max(now + delay, earlier ?? .min), number: scheduled, node: node, life: life ?? nodes[node].life,
                isOfRelay: isOfRelay, run: run))
    }

    func delay(_ most: Int64 = 400) -> Int64 { Int64.random(in: 0...most, using: &random) * Self.ms }
    func isLost(_ part: Int = 8) -> Bool { !isCalm && Int.random(in: 0..<part, using: &random) == 0 }

    /// Nodes whose relays may send now.
    var senders: [Int] {
        nodes.indices.filter { number in
            guard let relay = nodes[number].relay, nodes[number].relayFrozenUntil <= now else { return false }
            return !relay.isSilent && now < relay.hold
        }
    }

    /// Ends relays whose time is over. A relay that stood still ends at the latest when it continues.
    func expireRelays() {
        for number in nodes.indices where nodes[number].relayFrozenUntil <= now {
            if let relay = nodes[number].relay, now >= relay.hold { nodes[number].relay = nil }
        }
    }

    // MARK: Services

    func chores(of number: Int) {
        every(Self.lease.nanoseconds / 6, number) { try await self.renew(number) }
        every(500 * Self.ms, number) {
            self.tellDeadline(number)
            try await self.takeRooms(number)
            try await self.arrive(.tick, number)
        }
    }

    func every(_ interval: Int64, _ number: Int, _ body: @escaping () async throws -> Void) {
        schedule(number, interval) {
            try await body()
            self.every(interval, number, body)
        }
    }

    func tellDeadline(_ number: Int) {
        guard nodes[number].hasOwner else { return }
        let until = nodes[number].machine.deadline(of: room)
        // A node does not start a relay during a move.
        if nodes[number].relay == nil, nodes[number].move == nil, until > now {
            relays += 1
            nodes[number].relay = Relay(isSilent: false, hold: until, number: relays)
        }
        toRelay(number) { if $0.hold < until { $0.hold = until } }
    }

    /// Sends a message to a node's relay. If another relay has replaced it on arrival, the message is dropped.
    func toRelay(_ number: Int, _ change: @escaping (inout Relay) -> Void) {
        guard let relay = nodes[number].relay else { return }
        schedule(number, delay(20), isOfRelay: true) {
            guard self.nodes[number].relay?.number == relay.number else { return }
            if var changed = self.nodes[number].relay {
                change(&changed)
                self.nodes[number].relay = changed
            }
        }
    }

    func renew(_ number: Int) async throws {
        let (asked, node, before) = (now, nodes[number].machine.node, nodes[number].machine.holdings)
        _ = try await store.renew(node, for: Self.lease)
        let held = try await store.leases(of: node)
        guard !isLost() else { return }
        schedule(number, delay()) {
            let lost = self.nodes[number].machine.renewed(held, among: before, askedAt: asked)
            if !lost.isEmpty { self.giveUp(number) }
            let strays = self.nodes[number].machine.strays(among: held, askedAt: asked)
            try await self.store.dismiss(strays, areWanted: true)
        }
    }

    func giveUp(_ number: Int) {
        nodes[number].hasOwner = false
        nodes[number].relay = nil
    }

    func takeRooms(_ number: Int) async throws {
        guard nodes[number].machine.takesRooms else { return }
        let asked = now
        let leases = try await store.claimRooms(of: [], by: nodes[number].machine.node, limit: 8, for: Self.lease)
        guard !leases.isEmpty, !isLost() else { return }
        schedule(number, delay()) {
            self.nodes[number].machine.took(leases, askedAt: asked)
            self.adopt(number)
        }
    }

    func claim(_ number: Int, _ answer: @escaping (Bool?) async throws -> Void) async throws {
        let asked = now
        let leases = try await store.claim([.lease(of: room)], by: nodes[number].machine.node, for: Self.lease)
        let isLost = isLost()
        schedule(number, delay()) {
            guard !isLost else { return try await answer(nil) }
            self.nodes[number].machine.took(leases, askedAt: asked)
            if self.nodes[number].arrival == nil { self.adopt(number) }
            try await answer(self.nodes[number].machine.holdings[self.room] != nil)
        }
    }

    /// Continues the room: connects to its relay, or starts one.
    func adopt(_ number: Int) {
        let until = nodes[number].machine.deadline(of: room)
        guard nodes[number].machine.holdings[room] != nil, !nodes[number].hasOwner else { return }
        nodes[number].hasOwner = true
        if nodes[number].relay == nil {
            guard until > now else { return }
            relays += 1
            nodes[number].relay = Relay(isSilent: true, hold: until, number: relays)
        }
        toRelay(number) { ($0.hold, $0.isSilent) = (until, false) }
    }

    // MARK: Trouble

    func trouble() {
        schedule(0, delay(3000), -1) { [self] in
            guard !isCalm else { return }
            let number = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<13:
                guard let owner = nodes.indices.first(where: { nodes[$0].hasOwner && nodes[$0].isAlive }) else { break }
                try await move(owner, to: number)
            case 13: kill(number)
            case 14: nodes[number].relay = nil
            case 15: nodes[number].frozenUntil = now + delay(20_000)
            case 16: nodes[number].relayFrozenUntil = now + delay(20_000)
            case 17, 18:
                let until = now + delay(20_000)
                (nodes[number].frozenUntil, nodes[number].relayFrozenUntil) = (until, until)
            default:
                nodes[number].machine.drain(Bool.random(using: &random))
            }
            trouble()
        }
    }

    /// Kills the service. Its relay continues until its time is over.
    func kill(_ number: Int) {
        guard nodes[number].isAlive else { return }
        nodes[number].isAlive = false
        nodes[number].life += 1
        schedule(number, delay(12_000), -1) { if !self.nodes[number].isAlive { try await self.revive(number) } }
    }

    /// Starts a successor, which inherits the room or ends the relay that is left.
    func revive(_ number: Int) async throws {
        let dead = nodes[number].machine.node
        let node = try await store.register("n\(number)", for: Self.lease)
        let asked = now
        let leases = try await store.inherit(from: dead, by: node)
        var service = Service(machine: OwnershipMachine(node: node, lease: Self.lease.nanoseconds))
        service.machine.took(leases, askedAt: asked)
        service.life = nodes[number].life
        service.relayFrozenUntil = nodes[number].relayFrozenUntil
        service.relay = service.machine.holdings[room] == nil ? nil : nodes[number].relay
        nodes[number] = service
        answers[number] = nil
        chores(of: number)
        adopt(number)
        if isCalm { nodes[number].machine.drain(false) }
    }
}
