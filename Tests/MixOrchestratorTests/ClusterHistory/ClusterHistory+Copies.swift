import EncodedMedia
import MixModel
import Synchronization
import TaskStore
import TestSupport

@testable import RoomService

/// Copies of nodes' machines: second processes of the same name at another site, on the same store.
extension ClusterHistory {
    /// The decisions about copies in one history.
    struct CopyNotes: Sendable {
        /// The decisions that contradict the rules; empty if there are none.
        var untrue: [String] = []
        /// Number of decisions of each kind, by name.
        var happened: [String: Int] = [:]
    }

    /// The state of a node while a copy of its machine starts.
    private enum Original: String, CaseIterable {
        case atWork = "at work"
        case frozen, dead, expelled
    }

    private enum Departure: CaseIterable { case stop, kill, expulsion }

    /// Time within which a copy must be let in after the original has stopped renewing its leases. Much longer than a
    /// lease, because the machine may be busy.
    private static let patience: Duration = .seconds(60)

    /// Starts a copy of a node's machine, lets it run if the store lets it in, and takes it away.
    func copy(_ original: HistoryNode, _ random: inout SeededGenerator) async throws {
        guard let copy = copies.first(where: { $0.name == original.name }) else { return }
        // Drawn before the store decides, so that a seed draws the same whatever the decision is.
        let state = Original.allCases.randomElement(using: &random) ?? .atWork
        let attempts = Duration.milliseconds(Int.random(in: 0...1000, using: &random))
        let stay = Duration.milliseconds(Int.random(in: 0...1500, using: &random))
        let resumesEarly = Bool.random(using: &random)
        let departure = Departure.allCases.randomElement(using: &random) ?? .kill

        let lastSeen = await bring(original, into: state)
        let limit = state == .atWork ? attempts : Self.patience
        let runs: Bool? = try await poll(within: limit, every: .milliseconds(50)) {
            try await self.starts(copy, beside: original, lastSeen: lastSeen) ? true : nil
        }
        note("copy \(runs == nil ? "refused" : "let in") (original \(state.rawValue))")
        if runs == nil, state != .atWork {
            blame("\(copy.site) is kept out although \(original.site) is \(state.rawValue)")
        }
        if runs != nil {
            if resumesEarly { original.freeze(false) }
            try await Task.sleep(for: stay)
            // The original's service is started again while its copy is at work.
            if original.life == nil {
                let isBack = try await starts(original, beside: copy, lastSeen: nil)
                note("original \(isBack ? "let in" : "refused") beside its copy")
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        await end(copy, departure, original)
        original.freeze(false)
        try await original.start()
    }

    /// Brings a node into a state.
    ///
    /// - Returns: What a dead node had, which its copy must wait for; `nil` for other states.
    private func bring(_ node: HistoryNode, into state: Original) async -> HistoryNode.Possession? {
        switch state {
        case .atWork: return nil
        case .frozen:
            node.freeze(true)
            return nil
        case .dead:
            let had = node.possession
            await node.kill()
            return had
        case .expelled:
            let dead = node.life?.cluster.id
            await node.kill()
            if let dead { await expel(dead, not: node) }
            return nil
        }
    }

    private func end(_ copy: HistoryNode, _ departure: Departure, _ original: HistoryNode) async {
        switch departure {
        case .stop: await copy.stop()
        case .kill: await copy.kill()
        case .expulsion:
            let dead = copy.life?.cluster.id
            await copy.kill()
            if let dead { await expel(dead, not: original) }
        }
    }

    /// Tries once to start a machine's service, and compares the store's decision with what the same node has at another
    /// site.
    ///
    /// - Parameter lastSeen: What the other one had when it was killed; `nil` if it lives, or its leases need not end.
    /// - Returns: Whether the service runs.
    private func starts(
        _ node: HistoryNode, beside other: HistoryNode, lastSeen: HistoryNode.Possession?
    ) async throws -> Bool {
        let before = other.possession ?? lastSeen
        let isLetIn: Bool
        do {
            isLetIn = try await node.attempt()
        } catch {
            // The store does not answer.
            try Task.checkCancellation()
            return false
        }
        let now = BootClock.now()
        let after = other.possession
        // Leases that end in the meantime may end before the decision or after it.
        let had = before?.lasting(at: now) ?? [:]
        if isLetIn {
            // The other one's life has ended, so it has renewed nothing since. A later life of it is another node.
            let has = after?.node == before?.node ? after?.lasting(at: now) ?? [:] : [:]
            let taken = Set(had.keys).union(has.keys).sorted()
            if !taken.isEmpty { blame("\(node.site) starts although \(other.site) has \(taken)") }
        } else if let after {
            // An idle room may have been given back.
            let lost = had.filter { room, holding in
                after.rooms[room] == nil && now - holding.usedAt <= OwnershipMachine.leisure
            }
            if !lost.isEmpty { blame("\(other.site) loses \(lost.keys.sorted()) to \(node.site), which was refused") }
        }
        return isLetIn
    }

    private func note(_ decision: String) { notes.withLock { $0.happened[decision, default: 0] += 1 } }

    private func blame(_ decision: String) { notes.withLock { $0.untrue.append(decision) } }

    private struct Holder: Hashable {
        let site: String
        let fence: Fence
    }

    /// Returns the sites of the machines that have a room at the same time; empty if there is at most one.
    static func holders(of room: RoomID, among nodes: [HistoryNode]) -> [String] {
        let first = look(for: room, at: nodes)
        guard first.count > 1 else { return [] }
        // A node that has given up the room since then did not necessarily have it together with those seen after it.
        let both = first.intersection(look(for: room, at: nodes))
        return both.count > 1 ? both.map(\.site).sorted() : []
    }

    private static func look(for room: RoomID, at nodes: [HistoryNode]) -> Set<Holder> {
        let now = BootClock.now()
        var found: Set<Holder> = []
        for node in nodes {
            guard let holding = node.possession?.lasting(at: now)[room] else { continue }
            found.insert(Holder(site: node.site, fence: holding.fence))
        }
        return found
    }
}
