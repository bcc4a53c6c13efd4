import MixModel
import Testing

@testable import TaskStore

/// The behaviour of every store with channels of rooms.
@Suite struct ChannelStoreConformance {
    private func message(_ id: Int64) -> StoredMessage { StoredMessage(id: id, document: "{\"é\\\n'\": \(id)}") }

    private func put(_ rooms: [RoomID], in store: any TaskStore) async throws {
        for room in rooms { _ = try await store.commit(StoreChange(room: .put(Room(id: room), expected: 0))) }
    }

    @Test(arguments: StoreUnderTest.all)
    func whatWasStoredIsThereAfterARestart(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            var store = try kind.open(directory)
            let foreign = RoomID(app: "shop", name: "demo")
            try await put(["demo", foreign], in: store)
            #expect(try await store.channel(of: "demo", limit: 9) == StoredChannel())
            try await store.commit(ChannelChange(of: "demo", messages: [message(7)], document: "{}", kept: 200))
            try await store.commit(ChannelChange(of: "demo", messages: [message(1 << 52)], kept: 200))
            try await store.commit(ChannelChange(of: foreign, messages: [message(8)], document: "b", kept: 200))
            // A message whose number is already stored changes nothing.
            let again = StoredMessage(id: 7, document: "other")
            try await store.commit(ChannelChange(of: "demo", messages: [again], document: "a", kept: 200))
            if kind.testDescription != "memory" {
                await store.close()
                store = try kind.open(directory)
            }
            let all = [message(7), message(1 << 52)]
            #expect(try await store.channel(of: "demo", limit: 9) == StoredChannel(messages: all, document: "a"))
            #expect(try await store.channel(of: "demo", limit: 1).messages == [message(1 << 52)])
            #expect(try await store.channel(of: foreign, limit: 9).messages == [message(8)])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func removedMessagesAreGone(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            try await put(["demo", "other"], in: store)
            for room in ["demo", "other"] as [RoomID] {
                try await store.commit(ChannelChange(of: room, messages: (1...3).map(message), kept: 200))
            }
            try await store.commit(ChannelChange(of: "demo", removed: [2, 99], kept: 200))
            #expect(try await store.channel(of: "demo", limit: 9).messages == [message(1), message(3)])
            #expect(try await store.channel(of: "other", limit: 9).messages.count == 3)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aChannelGoesWithItsRoom(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let change = ChannelChange(of: "demo", messages: [message(1)], document: "x", kept: 200)
            await #expect(throws: StoreError.conflict(document: "demo")) { try await store.commit(change) }
            try await put(["demo", "other"], in: store)
            try await store.commit(change)
            try await store.commit(ChannelChange(of: "other", messages: [message(1)], kept: 200))
            _ = try await store.commit(StoreChange(room: .delete(id: "demo", expected: 1)))
            #expect(try await store.channel(of: "demo", limit: 9) == StoredChannel())
            try await put(["demo"], in: store)
            #expect(try await store.channel(of: "demo", limit: 9) == StoredChannel())
            #expect(try await store.channel(of: "other", limit: 9).messages.count == 1)
            await store.close()
        }
    }

    /// However many messages arrive, a room keeps little more than the requested number.
    @Test(arguments: StoreUnderTest.all)
    func oldMessagesOfARoomAreCut(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            try await put(["demo"], in: store)
            for start in stride(from: Int64(1), to: 300, by: 50) {
                let messages = (start..<start + 50).map(message)
                try await store.commit(ChannelChange(of: "demo", messages: messages, kept: 20))
            }
            let left = try await store.channel(of: "demo", limit: 1000).messages.map(\.id)
            #expect((20...84).contains(left.count) && left.last == 300 && left == left.sorted(), "\(left)")
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func messagesExpire(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let clock = ManualClock()
            var retention = Retention()
            retention.messageAge = 100
            retention.messages = 4
            let store = try kind.open(directory, clock: clock.clock, retention: retention)
            try await put(["demo", "other"], in: store)
            try await store.commit(ChannelChange(of: "demo", messages: [message(1)], document: "x", kept: 9))
            clock.advance(60)
            try await store.commit(ChannelChange(of: "other", messages: [message(2)], kept: 9))
            clock.advance(60)
            while try await store.removeExpired() > 0 {}
            #expect(try await store.channel(of: "demo", limit: 9) == StoredChannel(document: "x"))
            #expect(try await store.channel(of: "other", limit: 9).messages == [message(2)])
            // The oldest messages are removed when all rooms together have too many.
            for id in Int64(3)...9 {
                let room: RoomID = id.isMultiple(of: 2) ? "demo" : "other"
                try await store.commit(ChannelChange(of: room, messages: [message(id)], kept: 9))
                clock.advance(1)
            }
            while try await store.removeExpired() > 0 {}
            var left: [Int64] = []
            for room in ["demo", "other"] as [RoomID] {
                left += try await store.channel(of: room, limit: 9).messages.map(\.id)
            }
            #expect(left.sorted() == [6, 7, 8, 9])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func messagesOfSubscriptionsAreStoredWithTheChange(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            let subscription = Subscription(id: "s", app: .standard, kind: .own, url: "http://127.0.0.1", createdAt: 0)
            _ = try await store.commit(StoreChange(subscription: .put(subscription, expected: 0)))
            let told = OutboxMessage(id: "m", subscription: "s", lane: "demo", topic: .test, body: [1])
            let change = ChannelChange(of: "demo", messages: [message(1)], kept: 9, outbox: [told])
            await #expect(throws: StoreError.conflict(document: "demo")) { try await store.commit(change) }
            #expect(try await store.takeMessages(of: "s", limit: 9, lease: .seconds(1)).items.isEmpty)
            try await put(["demo"], in: store)
            try await store.commit(change)
            #expect(try await store.takeMessages(of: "s", limit: 9, lease: .seconds(1)).items.map(\.message) == [told])
            await store.close()
        }
    }

    /// A node that has lost the room cannot change it.
    @Test(arguments: StoreUnderTest.all)
    func aFencedWriterIsRefusedWhole(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            try await put(["demo"], in: store)
            let lost = try await store.register("lost", for: .seconds(60))
            let next = try await store.register("next", for: .seconds(60))
            let lease = try #require(
                try await store.claim([.lease(of: "demo")], by: lost, for: .seconds(60)).first)
            let guarding = StoreChange.Requirement(task: lease.task, fence: lease.fence)
            let first = ChannelChange(of: "demo", messages: [message(1)], kept: 9, require: [guarding])
            try await store.commit(first)
            try await store.release(lease)
            _ = try await store.claim([.lease(of: "demo")], by: next, for: .seconds(60))
            let late = ChannelChange(of: "demo", messages: [message(2)], document: "x", kept: 9, require: [guarding])
            await #expect(throws: StoreError.fenced("task \(lease.task)")) { try await store.commit(late) }
            #expect(try await store.channel(of: "demo", limit: 9) == StoredChannel(messages: [message(1)]))
            await store.close()
        }
    }
}
