import Foundation
import MixModel
import TaskStore
import TestSupport
import Testing

/// The console's view of a webhook whose receiver was down for too long.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct ConsoleWebhookTests {
    private struct Made: Decodable { var id: String }

    /// An operator sends one dead letter again, and then all others.
    @Test(.timeLimit(.minutes(12))) func deadLettersAreSentAgain() async throws {
        let bodies = (1...3).map { #"{"letter":\#($0)}"# }
        let server = try PageServer(["/hook": "taken"])
        defer { server.stop() }
        try await ControlStage.run { stage in
            let url = "http://127.0.0.1:\(server.port)/hook"
            let made = try await stage.client.request(
                "POST", "/v1/subscriptions", json: #"{"url": "\#(url)", "events": ["room.closed"]}"#)
            #expect(made.status == 201, "\(made.text)")
            let id = try JSONDecoder().decode(Made.self, from: made.body).id
            // The service gives a message up after a day, so the store is told of messages that were given up.
            try await stage.kill()
            try await stage.withStore { store in
                let messages = bodies.enumerated().map { index, body in
                    OutboxMessage(
                        id: "letter-\(index)", subscription: SubscriptionID(id), lane: "room-\(index)",
                        topic: .roomClosed, body: Array(body.utf8))
                }
                _ = try await store.commit(StoreChange(outbox: messages))
                let taken = try await store.takeMessages(of: SubscriptionID(id), limit: 9, lease: .seconds(60))
                #expect(taken.items.count == messages.count)
                for item in taken.items {
                    let attempt = DeliveryAttempt(
                        number: item.attempt, at: item.queuedAt, code: 503, milliseconds: 5, error: "answered 503",
                        url: url)
                    try await store.settle(item, .givenUp, attempt: attempt)
                }
            }
            #expect(try await stage.start())

            let page = try await ConsoleTests.open("webhooks/\(id)", of: stage.client.port, in: stage.directory)
            let rows = "[...document.querySelectorAll('section[aria-labelledby=deliveries] tbody tr')]"
            func count(_ state: String, _ number: Int) -> String {
                "\(rows).filter(row => row.querySelector('.pill')?.textContent === '\(state)').length === \(number)"
            }
            try await page.wait(for: "\(count("dead", 3)) && \(rows)[0].textContent.includes('503')")
            #expect(server.posted == [])
            try await page.click("Resend")
            try await page.wait(for: "\(count("delivered", 1)) && \(count("dead", 2))")
            // Delivery is at least once.
            #expect(Set(server.posted).count == 1, "\(server.posted)")
            try await page.click("Resend 2 dead letters")
            try await page.hear("Dead letters queued.")
            try await page.wait(for: count("delivered", 3))
            #expect(Set(server.posted) == Set(bodies))
            let dead = try await stage.client.request("GET", "/v1/subscriptions/\(id)/deliveries?state=dead")
            #expect(dead.status == 200 && dead.text.contains(#""deliveries":[]"#), "\(dead.text)")
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
