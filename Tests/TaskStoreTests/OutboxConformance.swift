import MixModel
import Testing

@testable import TaskStore

/// Messages are delivered at least once, whatever happens to who delivers them.
@Suite struct OutboxConformance {
    private func message(_ id: String) -> OutboxMessage {
        OutboxMessage(id: id, kind: "webhook", body: Array("{\"id\":\"\(id)\"}\u{0}".utf8))
    }

    @Test(arguments: StoreUnderTest.all)
    func messagesAreStoredWithTheirChangeOrNotAtAll(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            _ = try await store.commit(StoreChange(event: event("1"), outbox: [message("a"), message("b")]))
            _ = try await store.commit(StoreChange(event: event("1"), outbox: [message("c")]))
            _ = try await store.commit(StoreChange(outbox: [message("a")]))
            await #expect(throws: StoreError.self) {
                try await store.commit(StoreChange(room: .put(Room(id: "x"), expected: 4), outbox: [message("d")]))
            }
            let items = try await store.takeMessages(limit: 9, lease: .seconds(10))
            #expect(items == [OutboxItem(message: message("a"), attempt: 1), .init(message: message("b"), attempt: 1)])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func whatIsNotSettledComesBack(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            _ = try await store.commit(StoreChange(outbox: [message("a"), message("b"), message("c")]))
            let first = try await store.takeMessages(limit: 2, lease: .seconds(10))
            #expect(first.map(\.message.id) == ["a", "b"])
            #expect(try await store.takeMessages(limit: 9, lease: .seconds(10)).map(\.message.id) == ["c"])
            #expect(try await store.takeMessages(limit: 9, lease: .seconds(10)).isEmpty)
            try await store.settle(first[0], .done)
            try await store.settle(first[1], .retry(after: .seconds(4)))
            time.advance(5)
            let retried = try await store.takeMessages(limit: 9, lease: .seconds(10))
            #expect(retried == [OutboxItem(message: message("b"), attempt: 2)])
            time.advance(6)
            // Who took c died.
            let again = try await store.takeMessages(limit: 9, lease: .seconds(10))
            #expect(again == [OutboxItem(message: message("c"), attempt: 2)])
            time.advance(60)
            #expect(try await store.takeMessages(limit: 9, lease: .seconds(10)).count == 2)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aLateTakerCannotSettle(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            _ = try await store.commit(StoreChange(outbox: [message("a")]))
            let slow = try #require(try await store.takeMessages(limit: 1, lease: .seconds(10)).first)
            time.advance(11)
            let quick = try #require(try await store.takeMessages(limit: 1, lease: .seconds(10)).first)
            await #expect(throws: StoreError.fenced("message a")) { try await store.settle(slow, .done) }
            try await store.settle(quick, .done)
            await #expect(throws: StoreError.fenced("message a")) { try await store.settle(quick, .done) }
            time.advance(100)
            #expect(try await store.takeMessages(limit: 1, lease: .seconds(10)).isEmpty)
            await store.close()
        }
    }
}
