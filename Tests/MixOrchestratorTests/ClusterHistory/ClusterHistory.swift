import EncodedMedia
import Foundation
import MixModel
import Synchronization
import TaskStore
import TestSupport

@testable import MixOrchestrator
@testable import RoomService

/// Rooms that receive events while their nodes are killed, frozen, cut off, drained, restarted and copied, and while the
/// database fails over. At the end the nodes must match the rooms' histories.
final class ClusterHistory: Sendable {
    /// The outcome of one history.
    struct Outcome: Sendable {
        /// The differences from the histories at the end; empty if there are none.
        var untrue: [String] = []
        /// Number of occurrences of each trouble, by name.
        var happened: [String: Int] = [:]
        var events = 0
    }

    private enum Trouble: String, CaseIterable {
        case kill, freeze, cut, lostAnswer, promotion, stop, drain, copy
    }

    static let lease: Duration = .seconds(2)
    private static let names = ["a", "b", "c"]

    let nodes: [HistoryNode]
    /// A copy of each node's machine, which is off except during the trouble `copy`.
    let copies: [HistoryNode]
    private let histories: [RoomHistory]
    private let place: HistoryPlace
    private let acknowledged = Mutex<[RoomID: Set<String>]>([:])
    /// The decisions about copies, and those that were wrong.
    let notes = Mutex(CopyNotes())
    private let random: SeededGenerator

    /// Plays one history. The same seed plays the same events and troubles.
    static func play(
        seed: UInt64, rooms: Int = 3, troubles: Int = 5, in directory: String, _ place: HistoryPlace
    ) async throws -> Outcome {
        var random = SeededGenerator(seed: seed)
        let histories = (0..<rooms).map { RoomHistory(room: RoomID("r\($0)"), &random) }
        let nodes = try names.map { try HistoryNode($0, at: $0, in: directory, place, lease: lease) }
        let copies = try names.map { try HistoryNode($0, at: $0 + "2", in: directory, place, lease: lease) }
        let history = ClusterHistory(
            nodes: nodes, copies: copies, histories: histories, place: place, random: random)
        return try await history.run(troubles)
    }

    private init(
        nodes: [HistoryNode], copies: [HistoryNode], histories: [RoomHistory], place: HistoryPlace,
        random: SeededGenerator
    ) {
        self.nodes = nodes
        self.copies = copies
        self.histories = histories
        self.place = place
        self.random = random
    }

    /// The machines of all nodes and their copies.
    private var machines: [HistoryNode] { nodes + copies }

    private func run(_ troubles: Int) async throws -> Outcome {
        var random = random
        var outcome = Outcome()
        for node in nodes { try await node.start() }
        let seeds = histories.map { _ in random.next() }
        let watch = Task { [machines, histories] in await Self.watch(machines, histories.map(\.room)) }
        defer { watch.cancel() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (history, seed) in zip(histories, seeds) { group.addTask { try await self.tell(history, seed) } }
            for trouble in plan(troubles, &random) {
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...250, using: &random)))
                outcome.happened[trouble.rawValue, default: 0] += 1
                try await make(trouble, &random)
            }
            for node in nodes {
                node.freeze(false)
                node.life?.link.cut(false)
                try await node.start()
                try? await node.life?.cluster.endDrain()
            }
            try await group.waitForAll()
        }
        outcome.events = histories.reduce(0) { $0 + $1.deliveries.count }
        outcome.untrue = try await judge()
        watch.cancel()
        outcome.untrue += await watch.value
        let notes = notes.withLock { $0 }
        outcome.untrue += notes.untrue
        outcome.happened.merge(notes.happened, uniquingKeysWith: +)
        if !outcome.untrue.isEmpty {
            for node in machines { print("--- node \(node.site), seed \(self.random.seed)\n\(node.lastMessages)") }
        }
        for node in machines { await node.kill() }
        return outcome
    }

    // MARK: Events

    /// Sends all events of a room, each to any node until one accepts it.
    private func tell(_ history: RoomHistory, _ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await ask(&random) { registry async throws(OrchestratorError) in
            let change = SettingsChange(summary: "test") { _, _ in history.settings }
            _ = try await registry.owner(history.room).configure(change, at: MonotonicClock.now())
        }
        for event in history.deliveries {
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...120, using: &random)))
            try await ask(&random) { registry async throws(OrchestratorError) in
                _ = try await registry.owner(event.room).receive(event, at: MonotonicClock.now())
            }
            acknowledged.withLock { _ = $0[event.room, default: []].insert(event.id) }
        }
    }

    private func ask(
        _ random: inout SeededGenerator, _ request: (RoomRegistry) async throws(OrchestratorError) -> Void
    ) async throws {
        while true {
            if let registry = machines.randomElement(using: &random)?.registry {
                do throws(OrchestratorError) {
                    return try await request(registry)
                } catch {
                    // The room is at another node or is moving, or the node cannot answer.
                }
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    // MARK: Troubles

    /// A database that can fail over does so at least once, and has a copy of a node at least once.
    private func plan(_ count: Int, _ random: inout SeededGenerator) -> [Trouble] {
        var plan = (0..<count).map { _ in Trouble.allCases.randomElement(using: &random) ?? .kill }
        if place.promote != nil {
            plan[Int.random(in: plan.indices, using: &random)] = .promotion
            let index = Int.random(in: 0...plan.count, using: &random)
            plan.insert(.copy, at: index)
        }
        return plan
    }

    private func make(_ trouble: Trouble, _ random: inout SeededGenerator) async throws {
        guard let node = nodes.randomElement(using: &random) else { return }
        func pause(_ range: ClosedRange<Int>) async throws {
            try await Task.sleep(for: .milliseconds(Int.random(in: range, using: &random)))
        }
        switch trouble {
        case .kill:
            let dead = node.life?.cluster.id
            await node.kill()
            // The test expels the node at once, or its lease runs out, or it starts again before that.
            if Bool.random(using: &random), let dead { await expel(dead, not: node) }
            try await pause(0...1500)
            try await node.start()
        case .freeze:
            node.freeze(true)
            try await pause(100...3000)
            node.freeze(false)
        case .cut:
            node.life?.link.cut(true)
            try await pause(50...2500)
            node.life?.link.cut(false)
        case .lostAnswer: node.life?.link.loseAnswer()
        case .promotion:
            if let promote = place.promote {
                try await promote()
            } else {
                for node in nodes {
                    if Bool.random(using: &random) { node.life?.link.loseAnswer() }
                    node.life?.link.cut(true)
                }
                try await pause(50...600)
                for node in nodes { node.life?.link.cut(false) }
            }
        case .stop:
            await node.stop()
            try await pause(0...300)
            try await node.start()
        case .drain:
            _ = try? await node.life?.cluster.drain()
            try await pause(0...300)
            try? await node.life?.cluster.endDrain()
        case .copy: try await copy(node, &random)
        }
    }

    /// Expels a lost node through another one.
    func expel(_ dead: NodeID, not node: HistoryNode) async {
        for other in nodes where other !== node {
            guard let life = other.life else { continue }
            if (try? await life.link.expel(dead)) != nil { return }
        }
    }

    // MARK: Verdict

    /// Waits until the nodes match the histories, or gives up.
    private func judge() async throws -> [String] {
        var untrue: [String] = []
        _ = try await poll(within: .seconds(120), every: .milliseconds(20)) {
            untrue = try await look()
            return untrue.isEmpty ? true : nil
        }
        return untrue
    }

    private func look() async throws -> [String] {
        guard let store = nodes.compactMap(\.life).first?.link else { return ["no node lives"] }
        var untrue: [String] = []
        for history in histories {
            let id = TaskID.automatic(for: history.room)
            let task = try await store.task(id)?.document
            guard let room = try await store.room(history.room)?.document else {
                untrue.append("\(history.room) is not stored")
                continue
            }
            untrue += history.faults(room, task?.plan, outputs: history.outputs).map { "\(history.room): \($0)" }
            let sending = machines.flatMap { $0.sending(id) }
            let wanted = history.people.contains { !$0.value.streams.isEmpty } ? 1 : sending.count
            if sending.count != wanted || sending.count > 1 {
                untrue.append("\(history.room): \(sending.count) relays send")
            }
            if let relay = sending.first, relay.plan?.sources != task?.plan?.sources {
                untrue.append("\(history.room): the relay has another plan")
            }
            let stored = try await store.events(of: history.room, limit: .max).map(\.id)
            let lost = acknowledged.withLock { $0[history.room] ?? [] }.subtracting(stored)
            if !lost.isEmpty { untrue.append("\(history.room): lost \(lost.sorted())") }
            if Set(stored).count != stored.count { untrue.append("\(history.room): an event is stored twice") }
        }
        return untrue
    }

    /// Looks for two relays of one task that may send at the same time, and for two nodes that have one room.
    private static func watch(_ nodes: [HistoryNode], _ rooms: [RoomID]) async -> [String] {
        var found: Set<String> = []
        while !Task.isCancelled {
            for room in rooms {
                let holders = holders(of: room, among: nodes)
                if !holders.isEmpty { found.insert("\(room): is at \(holders) at once") }
                let task = TaskID.automatic(for: room)
                // All nodes are compared at one moment, since a room may move between two looks.
                let first = nodes.map { (site: $0.site, held: $0.held(task)) }
                let now = BootClock.now()
                let able = first.flatMap(\.held).filter { $0.until > now }
                guard able.count > 1 else { continue }
                // A relay that has ended since then did not necessarily run at the same time as the ones seen after it.
                let again = nodes.flatMap { $0.held(task) }.filter { $0.until > now }
                let both = able.filter { one in again.contains { $0.relay === one.relay } }
                if both.count > 1 {
                    found.insert("\(room): two relays at \(first.filter { !$0.held.isEmpty }.map(\.site))")
                }
            }
            try? await Task.sleep(for: .milliseconds(10))
        }
        return found.sorted()
    }
}
