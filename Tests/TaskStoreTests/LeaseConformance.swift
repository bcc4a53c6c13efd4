import MixModel
import Testing

@testable import TaskStore

/// Leases: the right of a node to run and to write a task.
@Suite struct LeaseConformance {
    private func task(_ id: TaskID) -> StoreChange.TaskChange {
        .init(id: id, write: .put(TaskMachine(id: id, room: "demo"), expected: 0))
    }

    @Test(arguments: StoreUnderTest.all)
    func everyLifeIsAnotherNode(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let first = try await store.register("here", for: .seconds(10))
            let second = try await store.register("here", for: .seconds(10))
            #expect(first != second)
            #expect(
                try await store.nodes() == [Node(id: first, name: "here"), Node(id: second, name: "here")])
            try await store.expel(first)
            #expect(try await store.nodes().map(\.id) == [second])
            let third = try await store.register("here", for: .seconds(10))
            #expect(![first, second].contains(third))
            await #expect(throws: StoreError.expelled(first)) { try await store.renew(first, for: .seconds(1)) }
            await #expect(throws: StoreError.expelled(first)) {
                try await store.claim(["a"], by: first, for: .seconds(1))
            }
            await #expect(throws: StoreError.expelled("no node")) { try await store.renew("no node", for: .seconds(1)) }
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aTaskIsOneNodesOnly(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let one = try await store.register("one", for: .seconds(10))
            let two = try await store.register("two", for: .seconds(10))
            let lease = try #require(try await store.claim(["a"], by: one, for: .seconds(10)).first)
            #expect(lease == Lease(task: "a", fence: Fence(owner: one, epoch: 1)))
            #expect(try await store.claim(["a", "b"], by: two, for: .seconds(10)).map(\.task) == ["b"])
            // A repeated claim gives the same lease, since an answer may have been lost.
            #expect(try await store.claim(["a"], by: one, for: .seconds(10)) == [lease])
            #expect(try await store.leases(of: one) == [lease])
            try await store.release(lease)
            #expect(try await store.leases(of: one).isEmpty)
            let taken = try await store.claim(["a"], by: two, for: .seconds(10))
            #expect(taken == [Lease(task: "a", fence: Fence(owner: two, epoch: 2))])
            // Releasing a lease that another node holds by now does nothing.
            try await store.release(lease)
            #expect(try await store.leases(of: two).map(\.task) == ["a", "b"])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func leasesRunOutByTheStoresClock(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            _ = try await store.commit(StoreChange(tasks: [task("a"), task("b"), task("c")]))
            let one = try await store.register("one", for: .seconds(10))
            #expect(try await store.claimAvailable(by: one, limit: 2, for: .seconds(10)).map(\.task) == ["a", "b"])
            time.advance(6)
            #expect(try await store.renew(one, for: .seconds(10)) == .kept)
            time.advance(6)
            let two = try await store.register("two", for: .seconds(10))
            #expect(try await store.claimAvailable(by: two, limit: 9, for: .seconds(10)).map(\.task) == ["c"])
            time.advance(5)
            #expect(try await store.claimAvailable(by: two, limit: 9, for: .seconds(10)).map(\.task) == ["a", "b"])
            #expect(try await store.renew(one, for: .seconds(10)) == .lapsed)
            #expect(try await store.leases(of: one).isEmpty)
            #expect(try await store.owned(by: two).map(\.document.id) == ["a", "b", "c"])
            #expect(try await store.owned(by: one).isEmpty)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aTaskIsTakenWithItsFirstChange(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let one = try await store.register("one", for: .seconds(10))
            let two = try await store.register("two", for: .seconds(10))
            let change = StoreChange(tasks: [task("auto-demo")])
            let (result, leases) = try await store.commit(change, claiming: ["auto-demo"], by: one, for: .seconds(10))
            #expect(result == .committed)
            #expect(leases == [Lease(task: "auto-demo", fence: Fence(owner: one, epoch: 1))])
            #expect(try await store.leases(of: one) == leases)
            #expect(try await store.task("auto-demo")?.version == 1)

            var second = StoreChange(event: event("e"), tasks: [task("b")])
            await #expect(throws: StoreError.fenced("task auto-demo")) {
                try await store.commit(second, claiming: ["b", "auto-demo"], by: two, for: .seconds(10))
            }
            #expect(try await store.task("b") == nil)
            #expect(try await store.events(of: "demo", limit: 9).isEmpty)
            // The change is refused for another reason: nothing is stored, and the next attempt has the same lease.
            second.room = .put(Room(id: "demo"), expected: 7)
            await #expect(throws: StoreError.conflict(document: "demo")) {
                try await store.commit(second, claiming: ["b"], by: two, for: .seconds(10))
            }
            second.room = nil
            #expect(try await store.commit(second, claiming: ["b"], by: two, for: .seconds(10)).0 == .committed)
            #expect(try await store.leases(of: two).map(\.fence.epoch) == [1])
            await #expect(throws: StoreError.expelled("no node")) {
                try await store.commit(change, claiming: ["c"], by: "no node", for: .seconds(10))
            }
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func whoLostATaskStoresNothing(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            let one = try await store.register("one", for: .seconds(10))
            let old = try #require(try await store.claim(["auto-demo"], by: one, for: .seconds(10)).first)
            var change = StoreChange(
                tasks: [task("auto-demo")], require: [.init(task: "auto-demo", fence: old.fence)])
            #expect(try await store.commit(change) == .committed)
            // The lease has expired, but no other node took the task.
            time.advance(60)
            change.tasks[0].write = .put(TaskMachine(id: "auto-demo", room: "demo"), expected: 1)
            #expect(try await store.commit(change) == .committed)

            let two = try await store.register("two", for: .seconds(10))
            let new = try #require(try await store.claim(["auto-demo"], by: two, for: .seconds(10)).first)
            #expect(new.fence.epoch == 2)
            change.tasks[0].write = .put(TaskMachine(id: "auto-demo", room: "demo"), expected: 2)
            change.event = event("late")
            change.room = .put(Room(id: "demo"), expected: 0)
            await #expect(throws: StoreError.fenced("task auto-demo")) { try await store.commit(change) }
            #expect(try await store.room("demo") == nil)
            #expect(try await store.task("auto-demo")?.version == 2)
            #expect(try await store.events(of: "demo", limit: 9).isEmpty)
            change.require[0].fence = new.fence
            #expect(try await store.commit(change) == .committed)
            // The first node is back with a new epoch, and its old fence stays invalid.
            try await store.release(new)
            let again = try await store.claim(["auto-demo"], by: one, for: .seconds(10))
            #expect(again.map(\.fence.epoch) == [3])
            change.require[0].fence = old.fence
            change.event = event("later")
            change.room = nil
            await #expect(throws: StoreError.fenced("task auto-demo")) { try await store.commit(change) }
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func theTasksOfADeadNodeAreFreeAtOnce(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            _ = try await store.commit(StoreChange(tasks: [task("a"), task("b")]))
            let one = try await store.register("here", for: .seconds(1000))
            let leases = try await store.claimAvailable(by: one, limit: 9, for: .seconds(1000))
            #expect(leases.count == 2)
            let two = try await store.register("here", for: .seconds(1000))
            #expect(try await store.claimAvailable(by: two, limit: 9, for: .seconds(1000)).isEmpty)
            try await store.expel(one)
            #expect(
                try await store.claimAvailable(by: two, limit: 9, for: .seconds(1000)).map(\.fence.epoch) == [2, 2])
            let late = StoreChange(event: event("1"), require: [.init(task: "a", fence: leases[0].fence)])
            await #expect(throws: StoreError.fenced("task a")) { try await store.commit(late) }
            await store.close()
        }
    }
}
