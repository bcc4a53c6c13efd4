import MixModel
import TaskStore
import TestSupport
import Testing

@testable import RoomService

/// The rooms that a node holds, with answers of the store that come late, get lost or cross each other.
@Suite struct OwnershipMachineTests {
    private static let second: Int64 = 1_000_000_000

    private func lease(_ room: RoomID, _ owner: NodeID, _ epoch: Int64) -> Lease {
        Lease(task: .lease(of: room), fence: Fence(owner: owner, epoch: epoch))
    }

    private func machine(capacity: Int? = nil) -> OwnershipMachine {
        OwnershipMachine(node: "a#1", lease: 8 * Self.second, capacity: capacity)
    }

    @Test func leasesAreCountedFromBeforeTheCall() {
        var machine = machine()
        machine.took([lease("r", "a#1", 1)], askedAt: 2 * Self.second)
        #expect(machine.deadline(of: "r") == 9 * Self.second)
        let held = [lease("r", "a#1", 1)]
        #expect(machine.renewed(held, among: machine.holdings, askedAt: 4 * Self.second) == [])
        #expect(machine.deadline(of: "r") == 11 * Self.second)
        // An answer that was delayed for long does not take anything back.
        #expect(machine.renewed(held, among: machine.holdings, askedAt: Self.second) == [])
        #expect(machine.deadline(of: "r") == 11 * Self.second && machine.deadline(of: "other") == 0)
        #expect(machine.use("r", at: 0) && !machine.use("other", at: 0))
    }

    @Test func onlyWhatIsFoundIsRenewed() {
        var machine = machine()
        machine.took([lease("kept", "a#1", 1), lease("lost", "a#1", 1), lease("again", "a#1", 1)], askedAt: 0)
        let before = machine.holdings
        // Leases were taken, and taken again, while the store was asked.
        machine.took([lease("new", "a#1", 4), lease("again", "a#1", 3)], askedAt: 1)
        #expect(machine.renewed([lease("kept", "a#1", 1)], among: before, askedAt: Self.second) == ["lost"])
        #expect(Set(machine.holdings.keys) == ["kept", "again", "new"])
        #expect(machine.deadline(of: "kept") == 8 * Self.second)
        #expect(machine.deadline(of: "new") == 7 * Self.second + 1)
        #expect(machine.fenced("again", Fence(owner: "a#1", epoch: 1)) == false)
        #expect(machine.fenced("again", Fence(owner: "a#1", epoch: 3)) == true)
        #expect(machine.use("again", at: 0) == false)
    }

    @Test func aFullOrDrainingNodeTakesNothing() {
        var machine = machine(capacity: 1)
        #expect(machine.share(among: []) == 1)
        machine.took([lease("r", "a#1", 1)], askedAt: 0)
        #expect(!machine.takesRooms && machine.share(among: []) == 0)
        var other = self.machine()
        #expect(other.share(among: []) == OwnershipMachine.mostAtOnce)
        other.took([lease("r", "a#1", 1)], askedAt: 0)
        func peer(_ rooms: Int, isDraining: Bool = false, isAtWork: Bool = true) -> NodeEntry {
            NodeEntry(
                node: Node(id: "b#2", name: "b"),
                profile: NodeProfile(name: "b", url: "", key: "", isDraining: isDraining, rooms: rooms),
                isAtWork: isAtWork)
        }
        #expect(other.share(among: [peer(0)]) == OwnershipMachine.fewAtOnce)
        for useless in [peer(1), peer(0, isDraining: true), peer(0, isAtWork: false)] {
            #expect(other.share(among: [useless]) == OwnershipMachine.mostAtOnce)
        }
        other.drain(true)
        #expect(other.share(among: []) == 0)
        other.drain(false)
        #expect(other.takesRooms)
    }

    /// Many requests for rooms may come before the store has answered the first one.
    @Test func aNodeAsksForNoMoreRoomsThanItHasPlacesFor() {
        var machine = machine(capacity: 2)
        machine.took([lease("r", "a#1", 1)], askedAt: 0)
        #expect(machine.beginRequest(for: "s") && machine.beginRequest(for: "s"))
        #expect(!machine.beginRequest(for: "t") && !machine.takesRooms && machine.share(among: []) == 0)
        machine.endRequest(for: "s")
        #expect(machine.beginRequest(for: "t") == false)
        // Another node was faster.
        machine.endRequest(for: "s")
        #expect(machine.beginRequest(for: "t") == true)
        machine.took([lease("t", "a#1", 1)], askedAt: 1)
        machine.endRequest(for: "t")
        #expect(!machine.beginRequest(for: "s") && machine.holdings.count == 2)
    }

    /// A hint and the regular check may look for waiting rooms at the same time, while requests come in.
    @Test func searchesForRoomsReserveTheirPlaces() {
        var machine = machine(capacity: 3)
        #expect(machine.beginRequest(for: "r") && !machine.isTaking)
        #expect(machine.beginTaking(among: []) == 2)
        #expect(machine.beginTaking(among: []) == 0)
        #expect(machine.isTaking && !machine.takesRooms && !machine.beginRequest(for: "s"))
        // Only one room was waiting.
        machine.took([lease("t", "a#1", 1)], askedAt: 0)
        machine.endTaking(2)
        machine.endTaking(0)
        #expect(!machine.isTaking && machine.beginRequest(for: "s") && !machine.takesRooms)
        machine.endRequest(for: "r")
        #expect(machine.beginTaking(among: []) == 1)
    }

    @Test func aRoomLeavesOnce() {
        var machine = machine()
        machine.took([lease("r", "a#1", 1)], askedAt: 0)
        #expect(machine.leave("r") && !machine.leave("r") && !machine.leave("other"))
        #expect(machine.isLeaving("r") && !machine.use("r", at: 1))
        // A late answer does not bring the room back.
        machine.took([lease("r", "a#1", 1)], askedAt: 1)
        #expect(machine.isLeaving("r"))
        #expect(machine.dropIdle(except: [], at: .max) == [])
        #expect(machine.left("r") == lease("r", "a#1", 1))
        #expect(machine.left("r") == nil && machine.holdings.isEmpty)
    }

    @Test func roomsThatNobodyAsksForAreGivenBack() {
        var machine = machine()
        machine.took([lease("a", "a#1", 1), lease("b", "a#1", 1), lease("c", "a#1", 1)], askedAt: 0)
        let later = OwnershipMachine.leisure + 2
        #expect(machine.use("a", at: 2) == true)
        #expect(machine.dropIdle(except: ["b"], at: later) == [lease("c", "a#1", 1)])
        // A late answer does not bring the room back; the next lease does.
        machine.took([lease("c", "a#1", 1)], askedAt: 1)
        #expect(machine.holdings["c"] == nil)
        machine.took([lease("c", "a#1", 2)], askedAt: later)
        #expect(machine.left("c") == nil && machine.leave("c") && machine.left("c") == lease("c", "a#1", 2))
        #expect(Set(machine.holdings.keys) == ["a", "b"])
        #expect(machine.reborn(as: "a#9") == ["a", "b"])
        // Answers to the earlier life no longer count.
        machine.took([lease("a", "a#1", 2)], askedAt: later)
        #expect(machine.holdings.isEmpty && machine.node == "a#9")
    }

    /// A node whose copy is at work keeps no room, and begins its next life without any.
    @Test func aNodeWithoutALifeHasNoRooms() {
        var machine = machine()
        machine.took([lease("a", "a#1", 1)], askedAt: 0)
        #expect(machine.loseAll() == ["a"])
        #expect(machine.loseAll() == [])
        #expect(machine.deadline(of: "a") == 0 && machine.node == "a#1")
        #expect(machine.reborn(as: "a#9") == [])
        machine.took([lease("a", "a#1", 2)], askedAt: 0)
        #expect(machine.holdings.isEmpty)
    }

    @Test func whatAnswersDidNotTellIsGivenToOthers() {
        var machine = machine()
        let lost = lease("r", "a#1", 1)
        #expect(machine.strays(among: [lost], askedAt: 1) == [])
        #expect(machine.strays(among: [lost], askedAt: 2) == [lost])
        #expect(machine.strays(among: [lost], askedAt: 3) == [])
        // The answer arrives at a time when other nodes may have the room.
        machine.took([lost], askedAt: 0)
        #expect(machine.holdings.isEmpty)
        let next = lease("r", "a#1", 2)
        machine.took([next], askedAt: 4)
        #expect(machine.strays(among: [next], askedAt: 5) == [])
        #expect(Set(machine.holdings.keys) == ["r"])
    }

    /// Three nodes share one store. Calls get lost, answers come late, and pauses, expulsions and drains happen in
    /// random order. Two nodes never believe at once that their relays may send for a room, and in the end every room
    /// that was asked for has a node.
    @Test func noRoomIsOnAirTwice() async throws {
        var random = SeededGenerator(announcedFor: "ownership")
        for run in 0..<30 { try await ClusterRun(seed: random.next()).play("run \(run), seed \(random.seed)") }
    }
}

/// Nodes on a store in memory. The store and the nodes share one clock.
private final class ClusterRun {
    private struct Answer {
        var node: Int
        var due: Int64
        var apply: (inout OwnershipMachine) -> Void
    }
    private let clock = StepClock()
    private let store: MemoryTaskStore
    private var random: SeededGenerator
    private var machines: [OwnershipMachine] = []
    private var answers: [Answer] = []
    private var strays: [Lease] = []
    private var asked: Set<RoomID> = []
    private let rooms: [RoomID] = ["a", "b", "c", "d"]
    private let lease = Duration.seconds(8)

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        store = MemoryTaskStore(clock: StoreClock { [clock] in Double(clock.now) / 1e9 })
    }

    func play(_ name: String) async throws {
        for number in 0..<3 {
            let node = try await store.register("n\(number)", for: lease)
            machines.append(OwnershipMachine(node: node, lease: lease.nanoseconds))
        }
        for _ in 0..<400 {
            clock.now += Int64.random(in: 0..<1_500_000_000, using: &random)
            deliver()
            expectOne(name)
            try await step()
            try await store.dismiss(strays, areWanted: true)
            strays = []
        }
        // In the calm phase, all nodes renew their leases and take waiting rooms.
        answers = []
        for number in machines.indices { machines[number].drain(false) }
        for _ in 0..<40 {
            clock.now += 500_000_000
            for number in machines.indices {
                try await renew(number, isLost: false, delay: 0)
                try await take(number, isLost: false, delay: 0)
            }
            deliver()
            try await store.dismiss(strays, areWanted: true)
            strays = []
            expectOne(name)
        }
        // A room that was never asked for needs no node.
        for room in rooms where asked.contains(room) {
            #expect(machines.filter { $0.holdings[room] != nil }.count == 1, "\(room), \(name)")
        }
    }

    private func expectOne(_ name: String) {
        for room in rooms {
            let senders = machines.filter { clock.now < $0.deadline(of: room) }
            #expect(senders.count <= 1, "\(room) at \(clock.now), \(name)")
        }
    }

    private func step() async throws {
        let number = Int.random(in: 0..<3, using: &random)
        let isLost = Int.random(in: 0..<5, using: &random) == 0
        let delay = Int64.random(in: 0..<3_000_000_000, using: &random)
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: try await renew(number, isLost: isLost, delay: delay)
        case 8..<13: try await take(number, isLost: isLost, delay: delay)
        case 13..<17: try await claim(try #require(rooms.randomElement(using: &random)), number, isLost: isLost, delay)
        case 17: clock.now += Int64.random(in: 0..<20_000_000_000, using: &random)
        case 18:
            machines[number].drain(Bool.random(using: &random))
        default:
            // The node is known to be dead: its relays have ended.
            let dead = machines[number].node
            let node = try await store.register("n\(number)", for: lease)
            _ = machines[number].reborn(as: node)
            try await store.expel(dead)
        }
        deliver()
    }

    private func answer(
        _ number: Int, _ isLost: Bool, _ delay: Int64, _ apply: @escaping (inout OwnershipMachine) -> Void
    ) {
        guard !isLost else { return }
        let node = machines[number].node
        answers.append(
            Answer(node: number, due: clock.now + delay) { machine in if machine.node == node { apply(&machine) } })
    }

    private func deliver() {
        for answer in answers where answer.due <= clock.now { answer.apply(&machines[answer.node]) }
        answers.removeAll { $0.due <= clock.now }
    }

    private func renew(_ number: Int, isLost: Bool, delay: Int64) async throws {
        let (asked, node, before) = (clock.now, machines[number].node, machines[number].holdings)
        _ = try await store.renew(node, for: lease)
        let held = try await store.leases(of: node)
        answer(number, isLost, delay) { [self] machine in
            _ = machine.renewed(held, among: before, askedAt: asked)
            strays += machine.strays(among: held, askedAt: asked)
        }
    }

    private func take(_ number: Int, isLost: Bool, delay: Int64) async throws {
        let share = machines[number].share(among: try await store.roster())
        guard share > 0 else { return }
        let asked = clock.now
        let leases = try await store.claimRooms(of: [], by: machines[number].node, limit: share, for: lease)
        answer(number, isLost, delay) { $0.took(leases, askedAt: asked) }
    }

    private func claim(_ room: RoomID, _ number: Int, isLost: Bool, _ delay: Int64) async throws {
        guard machines[number].takesRooms else { return }
        self.asked.insert(room)
        let asked = clock.now
        let leases = try await store.claim([.lease(of: room)], by: machines[number].node, for: lease)
        answer(number, isLost, delay) { $0.took(leases, askedAt: asked) }
    }
}

/// A clock in ns that one task at a time moves by hand.
final class StepClock: @unchecked Sendable {
    var now: Int64 = 1_000_000_000_000
}
