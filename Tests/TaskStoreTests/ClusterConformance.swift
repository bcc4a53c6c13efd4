import MixModel
import Testing

@testable import TaskStore

/// The distribution of rooms among nodes, for every store.
@Suite struct ClusterConformance {
    private func profile(_ name: String) -> NodeProfile {
        NodeProfile(name: name, url: "http://\(name)", key: "k-\(name)", rooms: 3, capacity: 9, ingest: "\(name):1935")
    }

    /// Stores a room with a publisher and an output of its own.
    private func makeLive(_ id: RoomID, in store: any TaskStore) async throws {
        var room = Room(
            id: id, settings: RoomSettings(outputs: [PushDestination(id: "o", url: "rtmp://127.0.0.1/o")]))
        _ = RoomMachine.apply(event("live", room: id), to: &room)
        #expect(room.life == .live)
        _ = try await store.commit(StoreChange(room: .put(room, expected: 0)))
    }

    @Test(arguments: StoreUnderTest.all)
    func nodesTellOfThemselves(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let one = try await store.register("one", for: .seconds(10))
            let two = try await store.register("two", for: .seconds(60))
            try await store.announce(two, profile("b"))
            time.advance(11)
            #expect(
                try await store.roster() == [
                    NodeEntry(node: Node(id: one, name: "one"), profile: nil, isAtWork: false),
                    NodeEntry(node: Node(id: two, name: "two"), profile: profile("b"), isAtWork: true),
                ])
            try await store.expel(two)
            await #expect(throws: StoreError.expelled(two)) { try await store.announce(two, profile("b")) }
            await #expect(throws: StoreError.expelled("none")) { try await store.announce("none", profile("b")) }
            #expect(try await store.roster().map(\.node.id) == [one])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aRoomHasOneNode(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let one = try await store.register("one", for: .seconds(10))
            let two = try await store.register("two", for: .seconds(100))
            #expect(try await store.holder(of: "app/demo") == nil)
            let room = TaskID.lease(of: "app/demo")
            #expect(room.leasedRoom == "app/demo" && TaskID("app/auto-demo").leasedRoom == nil)
            let lease = try #require(try await store.claim([room], by: one, for: .seconds(10)).first)
            #expect(try await store.holder(of: "app/demo") == one)
            #expect(try await store.claim([room], by: two, for: .seconds(100)).isEmpty)
            time.advance(11)
            #expect(try await store.holder(of: "app/demo") == nil)
            // The room is taken without being asked for, because its node is gone.
            let taken = try await store.claimRooms(of: [], by: two, limit: 9, for: .seconds(100))
            #expect(taken == [Lease(task: room, fence: Fence(owner: two, epoch: lease.fence.epoch + 1))])
            let late = StoreChange(room: .put(Room(id: "app/demo"), expected: 0), require: [.init(lease)])
            #expect(await outcome(of: late, in: store) == .failure(.fenced("task //app/demo")))
            // A room that is given back as not needed does not wait for a node. A lease of the past gives nothing back.
            try await store.dismiss([lease], areWanted: false)
            #expect(try await store.holder(of: "app/demo") == two)
            try await store.dismiss(taken, areWanted: false)
            #expect(try await store.holder(of: "app/demo") == nil)
            #expect(try await store.claimRooms(of: [], by: one, limit: 9, for: .seconds(10)).isEmpty)
            let again = try await store.claim([room], by: one, for: .seconds(10))
            #expect(again.first?.fence.epoch == lease.fence.epoch + 2, "no lease is like one before")
            try await store.dismiss(again, areWanted: true)
            #expect(try await store.claimRooms(of: [], by: two, limit: 9, for: .seconds(10)).count == 1)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func roomsThatNeedANodeAreTaken(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            for room: RoomID in ["c", "a", "b"] { try await makeLive(room, in: store) }
            _ = try await store.commit(StoreChange(room: .put(Room(id: "idle"), expected: 0)))
            let one = try await store.register("one", for: .seconds(100))
            let two = try await store.register("two", for: .seconds(100))
            #expect(try await store.claimRooms(of: [], by: one, limit: 9, for: .seconds(100)).isEmpty)
            let first = try await store.claimRooms(of: [.live], by: one, limit: 2, for: .seconds(100))
            #expect(first.map(\.task.leasedRoom) == ["a", "b"])
            #expect(
                try await store.claimRooms(of: [.live], by: two, limit: 9, for: .seconds(100)).map(\.task.leasedRoom)
                    == ["c"])
            // The room of an expelled node is noted, even if nothing else requires a node.
            _ = try await store.claim([.lease(of: "idle")], by: one, for: .seconds(100))
            try await store.expel(one)
            #expect(try await store.holder(of: "a") == nil)
            let orphans = try await store.claimRooms(of: [], by: two, limit: 9, for: .seconds(100))
            #expect(orphans.map(\.task.leasedRoom) == ["a", "b", "idle"])
            #expect(orphans.allSatisfy { $0.fence.epoch == 2 })
            await #expect(throws: StoreError.expelled(one)) {
                try await store.claimRooms(of: [.live], by: one, limit: 1, for: .seconds(1))
            }
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aLeaseIsPassedToOneNode(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let one = try await store.register("one", for: .seconds(10))
            let two = try await store.register("two", for: .seconds(100))
            let three = try await store.register("three", for: .seconds(5))
            let lease = try #require(
                try await store.claim([.lease(of: "a")], by: one, for: .seconds(10)).first)
            time.advance(6)
            #expect(try await store.pass(lease, to: three) == .receiverGone, "its leases have run out")
            #expect(try await store.pass(lease, to: "none") == .receiverGone)
            #expect(try await store.holder(of: "a") == one)
            // The lease has a new epoch, so that a call whose answer was lost has no effect later.
            let own = Lease(task: lease.task, fence: Fence(owner: one, epoch: lease.fence.epoch + 1))
            #expect(try await store.pass(lease, to: one) == .passed(own))
            #expect(try await store.pass(lease, to: two) == .notHeld)
            #expect(try await store.pass(lease, to: three) == .notHeld)
            let passed = Lease(task: lease.task, fence: Fence(owner: two, epoch: lease.fence.epoch + 2))
            #expect(try await store.pass(own, to: two) == .passed(passed))
            #expect(try await store.holder(of: "a") == two)
            #expect(try await store.leases(of: two) == [passed])
            #expect(try await store.leases(of: one).isEmpty)
            #expect(try await store.pass(own, to: one) == .notHeld)
            let late = StoreChange(event: event("1"), require: [.init(own)])
            #expect(await outcome(of: late, in: store) == .failure(.fenced("task //a")))
            // An expired lease belongs to its holder until another node takes it.
            time.advance(200)
            guard case .passed = try await store.pass(passed, to: two) else {
                Issue.record("a node cannot renew its own lease")
                return
            }
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func leasesOfDeletedRoomsAreForgotten(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            try await makeLive("there", in: store)
            let one = try await store.register("one", for: .seconds(100))
            let rooms: [TaskID] = ["there", "gone", "held", "wanted"].map { .lease(of: $0) }
            let first = try await store.claim(rooms, by: one, for: .seconds(100))
            try await store.dismiss([first[1]], areWanted: false)
            let again = try await store.claim([rooms[1]], by: one, for: .seconds(100))
            #expect(again.first?.fence.epoch == 2)
            try await store.dismiss([first[0], again[0]], areWanted: false)
            try await store.dismiss([first[3]], areWanted: true)
            #expect(try await store.forgetLeases(limit: 0) == 0)
            #expect(try await store.forgetLeases(limit: 9) == 1)
            #expect(try await store.forgetLeases(limit: 9) == 0)
            #expect(try await store.leases(of: one).map(\.task.leasedRoom) == ["held"])
            // A change decided under a forgotten lease is refused, even if the room has a new lease.
            let late = StoreChange(event: event("1"), require: [.init(again[0])])
            #expect(await outcome(of: late, in: store) == .failure(.fenced("task //gone")))
            let next = try await store.claim([rooms[1], .lease(of: "new")], by: one, for: .seconds(100))
            #expect(next.map(\.fence.epoch) == [3, 3], "no lease is like one before")
            #expect(await outcome(of: late, in: store) == .failure(.fenced("task //gone")))
            #expect(try await store.claim([rooms[0]], by: one, for: .seconds(100)).first?.fence.epoch == 2)
            #expect(
                try await store.claimRooms(of: [], by: one, limit: 9, for: .seconds(100)).map(\.task.leasedRoom)
                    == ["wanted"])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aSuccessorInheritsAtOnce(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let old = try await store.register("here", for: .seconds(100))
            let leases = try await store.claim(
                [.lease(of: "a"), .lease(of: "b")], by: old, for: .seconds(100))
            let new = try await store.register("here", for: .seconds(100))
            let other = try await store.register("there", for: .seconds(100))
            let inherited = try await store.inherit(from: old, by: new)
            #expect(inherited.map(\.task) == leases.map(\.task))
            #expect(inherited.allSatisfy { $0.fence.owner == new && $0.fence.epoch == 2 })
            #expect(try await store.claimRooms(of: [], by: other, limit: 9, for: .seconds(1)).isEmpty)
            #expect(try await store.nodes().map(\.id) == [new, other])
            let late = StoreChange(event: event("1"), require: [.init(leases[0])])
            #expect(await outcome(of: late, in: store) == .failure(.fenced("task //a")))
            await #expect(throws: StoreError.expelled(old)) { try await store.inherit(from: new, by: old) }
            await store.close()
        }
    }
}

extension ClusterConformance {
    /// Two copies of a machine have the same name. The store lets one of them be at work at a time.
    @Test(arguments: StoreUnderTest.shared)
    func aCopyIsKeptOutWhileTheOtherIsAtWork(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let one = try await store.register("here", at: "boot 1", for: .seconds(10))
            _ = try await store.claim([.lease(of: "a")], by: one, for: .seconds(10))
            await #expect(throws: StoreError.copied("here")) {
                try await store.register("here", at: "boot 2", for: .seconds(10))
            }
            #expect(try await store.nodes().map(\.id) == [one])
            // The next life of the same directory does not wait, nor does a node of another name.
            let next = try await store.register("here", at: "boot 1", for: .seconds(10))
            _ = try await store.register("there", at: "boot 2", for: .seconds(10))
            #expect(try await store.inherit(from: one, by: next).map(\.task.leasedRoom) == ["a"])
            // A life whose leases have run out makes room, unless it was suspended and renews them.
            time.advance(11)
            let copy = try await store.register("here", at: "boot 2", for: .seconds(10))
            #expect(try await store.renew(next, for: .seconds(10)) == .lapsed)
            await #expect(throws: StoreError.copied("here")) { try await store.inherit(from: next, by: copy) }
            #expect(try await store.leases(of: next).map(\.task.leasedRoom) == ["a"])
            #expect(try await store.leases(of: copy).isEmpty)
            time.advance(11)
            #expect(try await store.renew(copy, for: .seconds(10)) == .lapsed)
            #expect(try await store.inherit(from: next, by: copy).map(\.task.leasedRoom) == ["a"])
            await #expect(throws: StoreError.expelled(next)) { try await store.renew(next, for: .seconds(10)) }
            await #expect(throws: StoreError.copied("here")) {
                try await store.register("here", at: "boot 1", for: .seconds(10))
            }
            await store.close()
        }
    }

    /// A copy that was suspended beyond its lease finds its life ended, once a life at the first site has inherited from it.
    @Test(arguments: StoreUnderTest.shared)
    func aSuspendedCopyIsNotAtWorkAgain(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let original = try await store.register("here", at: "boot 1", for: .seconds(10))
            _ = try await store.claim([.lease(of: "a")], by: original, for: .seconds(10))
            time.advance(11)
            let copy = try await store.register("here", at: "boot 2", for: .seconds(10))
            #expect(try await store.inherit(from: original, by: copy).map(\.task.leasedRoom) == ["a"])
            await #expect(throws: StoreError.expelled(original)) { try await store.renew(original, for: .seconds(10)) }
            time.advance(11)
            let next = try await store.register("here", at: "boot 1", for: .seconds(10))
            let (first, second) = (Node(id: copy, name: "here"), Node(id: next, name: "here"))
            #expect(
                try await store.roster() == [
                    NodeEntry(node: first, profile: nil, isAtWork: false, site: "boot 2"),
                    NodeEntry(node: second, profile: nil, isAtWork: true, site: "boot 1"),
                ])
            let inherited = try await store.inherit(from: copy, by: next)
            #expect(inherited.map(\.task.leasedRoom) == ["a"])
            await #expect(throws: StoreError.expelled(copy)) { try await store.renew(copy, for: .seconds(10)) }
            await #expect(throws: StoreError.expelled(copy)) {
                try await store.claimRooms(of: [], by: copy, limit: 9, for: .seconds(10))
            }
            await #expect(throws: StoreError.copied("here")) {
                try await store.register("here", at: "boot 2", for: .seconds(10))
            }
            // The rooms can be given to others at once.
            try await store.dismiss(inherited, areWanted: true)
            let other = try await store.register("there", for: .seconds(10))
            let taken = try await store.claimRooms(of: [], by: other, limit: 9, for: .seconds(10))
            #expect(taken.map(\.task.leasedRoom) == ["a"])
            #expect(try await store.nodes().map(\.id) == [next, other])
            await store.close()
        }
    }

    /// A life without a site, as one of an earlier release, is followed at once by the next one.
    @Test(arguments: StoreUnderTest.shared)
    func unknownSitesAreNotCompared(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let old = try await store.register("here", for: .seconds(100))
            _ = try await store.claim([.lease(of: "a")], by: old, for: .seconds(100))
            let new = try await store.register("here", at: "boot 1", for: .seconds(100))
            #expect(try await store.inherit(from: old, by: new).map(\.task.leasedRoom) == ["a"])
            _ = try await store.register("here", for: .seconds(100))
            await store.close()
        }
    }
}

extension StoreChange.Requirement {
    fileprivate init(_ lease: Lease) { self.init(task: lease.task, fence: lease.fence) }
}
