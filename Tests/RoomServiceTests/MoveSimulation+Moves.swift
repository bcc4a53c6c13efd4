import MixModel
import TaskStore

@testable import RoomService

/// The owner's and the receiver's side of a move.
extension MoveSimulation {
    func move(_ number: Int, to other: Int) async throws {
        guard nodes[number].hasOwner, nodes[number].move == nil, number != other, nodes[number].relay != nil else {
            return
        }
        nodes[number].move = MoveMachine()
        try await perform(MoveMachine.beginning, number, other)
    }

    func take(_ event: MoveMachine.Event, _ number: Int, _ other: Int) async throws {
        guard var move = nodes[number].move else { return }
        let actions = move.take(event, at: now, deadline: nodes[number].machine.deadline(of: room))
        nodes[number].move = move.outcome == nil ? move : nil
        if move.outcome == .moved { moved += 1 }
        for action in actions { try await perform(action, number, other) }
    }

    func perform(_ action: MoveMachine.Action, _ number: Int, _ other: Int) async throws {
        switch action {
        case .prepare:
            let answerer = { (reason: String?) in
                guard !self.isLost() else { return }
                self.schedule(number, self.delay()) {
                    guard self.nodes[number].move?.step == .preparing else { return }
                    try await self.take(reason.map { .refused($0) } ?? .prepared, number, other)
                }
            }
            if !isLost() { schedule(other, delay(), -1) { self.prepare(other, answerer) } }
            schedule(number, 20_000 * Self.ms) {
                guard self.nodes[number].move?.step == .preparing else { return }
                try await self.take(.refused("no answer"), number, other)
            }
        case .stop:
            guard nodes[number].machine.leave(room), nodes[number].relay != nil else {
                return try await take(.notStopped("lost"), number, other)
            }
            stop(number, other, until: now + 10_000 * Self.ms)
        case .pass: try await ask(nodes[other].machine.node, number, other)
        case .reclaim: try await ask(nodes[number].machine.node, number, other)
        case .goOn:
            if nodes[number].machine.stay(room) { toRelay(number) { $0.isSilent = false } }
        case .tell: tell(.told, other)
        case .cancel: tell(.cancelled, other)
        case .end:
            _ = nodes[number].machine.left(room)
            nodes[number].hasOwner = false
            nodes[number].relay = nil
        }
    }

    func stop(_ number: Int, _ other: Int, until limit: Int64) {
        let relay = nodes[number].relay?.number
        var hasStopped = false
        schedule(number, delay(1500), isOfRelay: true) {
            guard self.nodes[number].relay?.number == relay, self.nodes[number].move?.step == .stopping else { return }
            self.nodes[number].relay?.isSilent = true
            hasStopped = true
        }
        func look() {
            schedule(number, 100 * Self.ms) {
                guard self.nodes[number].move?.step == .stopping else { return }
                if self.nodes[number].relay?.number != relay {
                    try await self.take(.notStopped("the relay was lost"), number, other)
                } else if hasStopped {
                    try await self.take(.stopped, number, other)
                } else if self.now >= limit {
                    try await self.take(.notStopped("it hangs"), number, other)
                } else {
                    look()
                }
            }
        }
        look()
    }

    /// Asks the receiver to take the room. The answer may be lost, and the call may have its effect after the loss is
    /// noticed.
    func ask(_ receiver: NodeID, _ number: Int, _ other: Int) async throws {
        guard let lease = nodes[number].machine.lease(of: room) else {
            return try await take(.answered(.notHeld), number, other)
        }
        let isLost = isLost(3)
        let life = nodes[number].life
        schedule(number, delay(600), -1) {
            let outcome = try await self.store.pass(lease, to: receiver)
            guard !isLost else { return }
            self.schedule(number, self.delay(), life) {
                if case .passed(let passed) = outcome {
                    if receiver == self.nodes[number].machine.node {
                        self.nodes[number].machine.reclaimed(passed)
                    } else {
                        _ = self.nodes[number].machine.left(self.room)
                    }
                }
                try await self.take(.answered(outcome), number, other)
            }
        }
        if isLost { schedule(number, delay(600)) { try await self.take(.unanswered("away"), number, other) } }
    }

    func tell(_ event: ArrivalMachine.Event, _ other: Int) {
        guard !isLost() else { return }
        schedule(other, delay(), -1) {
            guard self.nodes[other].isAlive, self.nodes[other].frozenUntil <= self.now else { return }
            if self.nodes[other].arrival != nil {
                try await self.arrive(event, other)
            } else if event == .told {
                try await self.claim(other) { _ in }
            }
        }
    }

    func prepare(_ number: Int, _ answer: @escaping (String?) -> Void) {
        guard nodes[number].isAlive, nodes[number].frozenUntil <= now, nodes[number].machine.takesRooms,
            nodes[number].machine.holdings[room] == nil, nodes[number].arrival == nil
        else { return answer("takes no rooms") }
        let arrival = ArrivalMachine(tasks: ["t"], at: now)
        nodes[number].arrival = arrival
        answers[number] = answer
        relays += 1
        let relay = Relay(isSilent: true, hold: arrival.deadline + 5_000 * Self.ms, number: relays)
        nodes[number].relay = relay
        schedule(number, delay(3000)) {
            let isThere = self.nodes[number].relay?.number == relay.number
            try await self.arrive(isThere ? .relayReady("t") : .relayFailed("t", "lost"), number)
        }
    }

    func arrive(_ event: ArrivalMachine.Event, _ number: Int) async throws {
        guard let actions = nodes[number].arrival?.take(event, at: now) else { return }
        for action in actions {
            switch action {
            case .answer(let reason): answers[number]?(reason)
            case .claim:
                try await claim(number) { isOurs in
                    guard self.nodes[number].arrival != nil else { return }
                    try await self.arrive(isOurs.map { .claimed($0) } ?? .unanswered, number)
                }
            case .look:
                if try await store.holder(of: room) == nodes[number].machine.node {
                    schedule(number, delay()) { try await self.arrive(.found, number) }
                }
            case .adopt:
                nodes[number].arrival = nil
                adopt(number)
            case .end:
                if !nodes[number].hasOwner { nodes[number].relay = nil }
            }
        }
        if nodes[number].arrival?.isOver == true { nodes[number].arrival = nil }
    }
}
