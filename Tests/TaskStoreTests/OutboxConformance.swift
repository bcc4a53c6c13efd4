import MixModel
import Testing

@testable import TaskStore

/// Messages are delivered at least once and in order, even if the node that delivers them fails.
@Suite struct OutboxConformance {
    private func message(_ id: String, lane: String = "demo", of subscription: SubscriptionID = "s") -> OutboxMessage {
        OutboxMessage(
            id: id, subscription: subscription, lane: lane, topic: .streamPublished,
            body: Array("{\"id\":\"\(id)\"}\u{0}".utf8))
    }

    private func attempt(_ number: Int, at time: Double = 1_700_000_000, code: Int? = 500) -> DeliveryAttempt {
        DeliveryAttempt(
            number: number, at: time, code: code, milliseconds: 12, error: code == 200 ? nil : "no", url: "http://x/y")
    }

    private func take(_ store: any TaskStore, _ limit: Int = 9, of id: SubscriptionID = "s") async throws
        -> [OutboxItem]
    {
        try await store.takeMessages(of: id, limit: limit, lease: .seconds(10)).items
    }

    private func subscribe(_ store: any TaskStore, _ ids: [SubscriptionID] = ["s", "t", "u", "other"]) async throws {
        for id in ids { _ = try await store.commit(StoreChange(subscription: .put(subscription(id), expected: 0))) }
    }

    private func subscription(_ id: SubscriptionID = "s") -> Subscription {
        Subscription(id: id, app: .standard, kind: .own, url: "http://127.0.0.1/x?k=1", createdAt: 7)
    }

    @Test(arguments: StoreUnderTest.all)
    func messagesAreStoredWithTheirChangeOrNotAtAll(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            try await subscribe(store)
            _ = try await store.commit(StoreChange(event: event("1"), outbox: [message("a"), message("b", lane: "x")]))
            _ = try await store.commit(StoreChange(event: event("1"), outbox: [message("c", lane: "y")]))
            _ = try await store.commit(StoreChange(outbox: [message("a"), message("a", of: "other")]))
            await #expect(throws: StoreError.self) {
                try await store.commit(
                    StoreChange(room: .put(Room(id: "x"), expected: 4), outbox: [message("d", lane: "z")]))
            }
            let items = try await take(store)
            #expect(items.map(\.message) == [message("a"), message("b", lane: "x")])
            #expect(items.map(\.attempt) == [1, 1])
            #expect(items.map(\.queuedAt) == [1_700_000_000, 1_700_000_000])
            #expect(try await take(store, of: "other").map(\.message) == [message("a", of: "other")])
            #expect(try await store.waitingSubscriptions() == ["other", "s"])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aLaneIsDeliveredOneAfterAnother(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            try await subscribe(store)
            for number in 1...3 {
                _ = try await store.commit(
                    StoreChange(outbox: [message("a\(number)", lane: "a"), message("b\(number)", lane: "b")]))
            }
            let first = try await take(store)
            #expect(first.map(\.message.id) == ["a1", "b1"])
            #expect(try await take(store).isEmpty)
            try await store.settle(first[1], .delivered, attempt: attempt(1, code: 200))
            let second = try await take(store)
            #expect(second.map(\.message.id) == ["b2"])
            try await store.settle(first[0], .retry(after: .seconds(4)), attempt: attempt(1))
            let none = try await store.takeMessages(of: "s", limit: 9, lease: .seconds(10))
            #expect(none.items.isEmpty)
            #expect(none.next == .seconds(4))
            time.advance(5)
            let again = try await take(store)
            #expect(again.map(\.message.id) == ["a1"])
            #expect(again.map(\.attempt) == [2])
            // A message that is given up blocks no other.
            try await store.settle(again[0], .givenUp, attempt: attempt(2))
            #expect(try await take(store).map(\.message.id) == ["a2"])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func whatIsNotSettledComesBack(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            try await subscribe(store)
            _ = try await store.commit(StoreChange(outbox: [message("a"), message("b"), message("c", lane: "c")]))
            let taken = try await store.takeMessages(of: "s", limit: 1, lease: .seconds(10))
            #expect(taken.items.map(\.message.id) == ["a"])
            #expect(taken.next == .zero)
            time.advance(9)
            #expect(try await take(store).map(\.message.id) == ["c"])
            time.advance(2)
            // The node that took a has died.
            let again = try await take(store)
            #expect(again.map(\.message.id) == ["a"])
            #expect(again.map(\.attempt) == [2])
            await #expect(throws: StoreError.fenced("message a")) {
                try await store.settle(taken.items[0], .delivered, attempt: attempt(1, code: 200))
            }
            try await store.settle(again[0], .delivered, attempt: nil)
            await #expect(throws: StoreError.fenced("message a")) {
                try await store.settle(again[0], .delivered, attempt: nil)
            }
            #expect(try await take(store).map(\.message.id) == ["b"])
            // The attempt is in the log, even if it is reported late.
            #expect(try await store.attempts(of: "a", of: "s") == [attempt(1, code: 200)])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func deadLettersAreFoundAndSentAnewBehindWhatWaits(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            try await subscribe(store)
            _ = try await store.commit(StoreChange(outbox: ["a", "b", "c"].map { message($0) }))
            let first = try await take(store)
            try await store.settle(first[0], .givenUp, attempt: attempt(1))
            #expect(try await store.deliveryCounts(of: "s") == DeliveryCounts(waiting: 2, dead: 1))
            #expect(try await store.waitingMessages() == 2)
            let dead = try await store.deliveries(of: "s", state: .dead, lane: nil, before: nil, limit: 9)
            #expect(dead.map(\.message.id) == ["a"])
            #expect(dead.first?.lastAttempt == attempt(1))
            #expect(dead.first?.settledAt == 1_700_000_000)
            #expect(dead.first?.due == nil)
            #expect(try await store.sendAgain("b", of: "s") == false, "it waits")
            #expect(try await store.sendAgain("x", of: "s") == false, "nobody knows it")
            time.advance(3)
            #expect(try await store.sendDeadLettersAgain(of: "s", limit: 9) == 1)
            var order: [String] = []
            while let item = try await take(store).first {
                order.append(item.message.id)
                if item.message.id == "a" {
                    #expect(item.attempt == 2)
                    #expect(item.earlierAttempts == 1)
                    #expect(item.queuedAt == 1_700_000_003)
                }
                try await store.settle(item, .delivered, attempt: nil)
            }
            #expect(order == ["b", "c", "a"])
            #expect(try await store.sendAgain("c", of: "s"))
            #expect(try await take(store).map(\.message.id) == ["c"])
            let page = try await store.deliveries(of: "s", state: nil, lane: "demo", before: nil, limit: 2)
            #expect(page.map(\.message.id) == ["c", "a"])
            let rest = try await store.deliveries(of: "s", state: nil, lane: nil, before: page.last?.number, limit: 9)
            #expect(rest.map(\.message.id) == ["b"])
            #expect(try await store.deliveries(of: "s", state: nil, lane: "x", before: nil, limit: 9).isEmpty)
            #expect(try await store.delivery("b", of: "s")?.state == .delivered)
            #expect(try await store.delivery("b", of: "x") == nil)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func theLogIsReadByTime(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            let store = try kind.open(directory, clock: time.clock)
            try await subscribe(store)
            for (number, id) in ["s", "t", "s", "u"].enumerated() {
                let message = message("m\(number)", of: SubscriptionID(id))
                _ = try await store.commit(StoreChange(outbox: [message]))
                let item = try #require(try await take(store, of: SubscriptionID(id)).first)
                let at = 1_700_000_000 + Double(number) * 60
                try await store.settle(item, .delivered, attempt: attempt(1, at: at, code: 200))
            }
            let all = try await store.attempts(
                of: ["s", "t"], in: 1_700_000_000...1_700_000_200, offset: 0, limit: 9)
            #expect(all.map(\.message) == ["m2", "m1", "m0"])
            #expect(all.first?.body == message("m2").body)
            let part = try await store.attempts(
                of: ["s", "t"], in: 1_700_000_000...1_700_000_119, offset: 1, limit: 9)
            #expect(part.map(\.message) == ["m0"])
            #expect(try await store.attempts(of: [], in: 0...9e9, offset: 0, limit: 9).isEmpty)
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func subscriptionsComeBackAsTheyWere(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let store = try kind.open(directory)
            var document = subscription()
            document.secrets = [.init(text: "whsec_AA=="), .init(text: "whsec_BB==", validUntil: 9)]
            document.topics = [.roomClosed]
            _ = try await store.commit(StoreChange(subscription: .put(document, expected: 0)))
            document.url = "http://127.0.0.1/z"
            _ = try await store.commit(StoreChange(subscription: .put(document, expected: 1)))
            #expect(try await store.subscriptions() == [Versioned(document, version: 2)])
            await #expect(throws: StoreError.conflict(document: "s")) {
                try await store.commit(StoreChange(subscription: .put(document, expected: 1)))
            }
            try await subscribe(store, ["t"])
            _ = try await store.commit(StoreChange(outbox: [message("a"), message("b", of: "t")]))
            _ = try await store.commit(StoreChange(subscription: .delete(id: "s", expected: 2)))
            // The message was on its way while the subscription was deleted.
            _ = try await store.commit(StoreChange(outbox: [message("c")]))
            #expect(try await store.subscriptions().map(\.document.id) == ["t"])
            #expect(try await take(store).isEmpty)
            #expect(try await store.waitingSubscriptions() == ["t"])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func aDeadEndpointDoesNotFillTheDisk(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            var retention = Retention()
            retention.waitingMessages = 10
            let store = try kind.open(directory, retention: retention)
            _ = try await store.commit(StoreChange(subscription: .put(subscription(), expected: 0)))
            for number in 0..<600 {
                _ = try await store.commit(StoreChange(outbox: [message("\(number)", lane: "\(number % 3)")]))
            }
            _ = try await store.removeExpired()
            #expect(try await store.deliveryCounts(of: "s") == DeliveryCounts(waiting: 10, dead: 590))
            // The oldest remaining message of each lane is due.
            #expect(try await take(store).map(\.message.id) == ["590", "591", "592"])
            await store.close()
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func whatWasDeliveredIsKnownForAWhile(_ kind: StoreUnderTest) async throws {
        try await withDirectory { directory in
            let time = ManualClock()
            var retention = Retention()
            retention.deliveryAge = 100
            let store = try kind.open(directory, clock: time.clock, retention: retention)
            try await subscribe(store)
            _ = try await store.commit(StoreChange(outbox: [message("a"), message("b")]))
            let item = try #require(try await take(store).first)
            try await store.settle(item, .delivered, attempt: attempt(1, code: 200))
            time.advance(99)
            #expect(try await store.removeExpired() == 0)
            time.advance(2)
            // The message and its attempt are removed; b waits.
            #expect(try await store.removeExpired() == 2)
            #expect(try await store.delivery("a", of: "s") == nil)
            #expect(try await store.delivery("b", of: "s")?.state == .waiting)
            await store.close()
        }
    }
}
