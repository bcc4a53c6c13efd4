import Crypto
import EventSubscription
import Foundation
import MixModel
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// The way from a request to a receiver, through a real store and real connections.
@Suite(.timeLimit(.minutes(5))) struct WebhookTests {
    private typealias Quick = DeliveryPolicy

    @Test func whatHappensIsToldAndSigned() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory, policy: Quick.quick) { bench in
                    let (_, secret) = try await bench.subscribe(receiver.url + "?key=1")
                    try await bench.publish("alice")
                    try await bench.plan { $0.mode == .bypass("alice/camera") }
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("data.to")) == "bypass" } ? true : nil
                    }
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("data.state")) == "live" } ? true : nil
                    }
                    try await bench.unpublish("alice")
                    #expect(try await bench.call(.delete, "/v1/rooms/demo").status == 204)
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("data.endReason")) == "roomClosed" } ? true : nil
                    }
                    try await eventually {
                        receiver.taken.contains { (try? $0.value("data.state")) == "removed" } ? true : nil
                    }
                    // The services end with their outputs, which gives the last message.
                    let types = try await eventually {
                        let types = try receiver.taken.compactMap { try $0.value("type") }
                        return types.count { $0 == "room.servicesChanged" } == 2 ? types : nil
                    }
                    #expect(
                        types.filter { !$0.hasPrefix("task") && !$0.hasPrefix("output") } == [
                            "room.opened", "participant.joined", "stream.published", "room.servicesChanged",
                            "stream.unpublished", "participant.left", "room.closed", "room.servicesChanged",
                        ])
                    let states = try receiver.taken.compactMap { message in
                        try message.value("type") == "task.stateChanged" ? try message.value("data.state") : nil
                    }
                    #expect(states == ["starting", "running", "stopped"])
                    for message in receiver.taken {
                        #expect(message.path == "/hook?key=1")
                        #expect(message.header("content-type") == "application/cloudevents+json")
                        #expect(try message.value("id") == message.id)
                        #expect(!message.body.contains("live/alice"))
                        #expect(isSigned(message, with: secret))
                        #expect(!isSigned(message, with: WebhookSignature.newSecret()))
                    }
                    #expect(!bench.log.text.contains("key=1") && !bench.log.text.contains(secret))
                    // An attempt is counted when its answer is read, a moment after the receiver has the message.
                    let metrics = try await eventually {
                        let text = try await bench.call(.get, "/metrics").text
                        let delivered = "\nwebhook_attempts_total{result=\"delivered\"} \(receiver.taken.count)\n"
                        return text.contains(delivered) && text.contains("\nwebhook_messages_waiting 0\n") ? text : nil
                    }
                    #expect(metrics.contains("\nsubscriptions{kind=\"own\"} 1\n"))
                }
            }
        }
    }

    /// Verifies a signature as the specification tells receivers to.
    private func isSigned(_ message: WebhookReceiver.Message, with secret: String) -> Bool {
        guard let key = Data(base64Encoded: String(secret.dropFirst("whsec_".count))),
            let time = message.header("webhook-timestamp"), abs((Double(time) ?? 0) - wallClock()) < 60
        else { return false }
        let signed = Data("\(message.id).\(time).\(message.body)".utf8)
        return (message.header("webhook-signature") ?? "").split(separator: " ").contains { part in
            guard part.hasPrefix("v1,"), let code = Data(base64Encoded: String(part.dropFirst(3))) else { return false }
            return HMAC<SHA256>.isValidAuthenticationCode(
                code, authenticating: signed, using: SymmetricKey(data: key))
        }
    }

    @Test func aReceiverThatFailsHangsRedirectsAndComesBackLosesNothing() async throws {
        var random = SeededGenerator(announcedFor: "aReceiverThatFailsHangsRedirectsAndComesBackLosesNothing")
        let seed = UInt64.random(in: 0 ... .max, using: &random)
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory, policy: Quick.hasty) { bench in
                    let elsewhere = LockedFlag()
                    let dice = LockedBox(SeededGenerator(seed: seed))
                    receiver.answer { message in
                        if message.path == "/elsewhere" { elsewhere.value = true }
                        var generator = dice.value
                        defer { dice.value = generator }
                        switch Int.random(in: 0..<20, using: &generator) {
                        case 0..<4: return .status(500)
                        case 4: return .hangs
                        case 5: return .redirect(receiver.url.replacing("/hook", with: "/elsewhere"))
                        case 6: return .status(404)
                        default: return .status(200)
                        }
                    }
                    _ = try await bench.subscribe(receiver.url, #","events":["participant.joined"]"#)
                    let rooms = (0..<4).map { "room\($0)" }
                    let perRoom = 12
                    for number in 0..<perRoom {
                        for room in rooms { try await bench.join("u\(number)", room: room) }
                    }
                    try await eventually {
                        Set(receiver.taken.map(\.id)).count == rooms.count * perRoom ? true : nil
                    }
                    for room in rooms {
                        var seen: Set<String> = []
                        let users = try receiver.taken.filter { try $0.value("subject") == room }
                            .filter { seen.insert($0.id).inserted }.map { try $0.value("data.user") }
                        #expect(users == (0..<perRoom).map { "u\($0)" }, "\(room)")
                    }
                    #expect(!elsewhere.value, "redirects are not followed")
                    #expect(receiver.messages.contains { $0.status == 307 || $0.status == 500 })
                }
            }
        }
    }

    @Test func whatWasNotDeliveredBeforeARestartIsDeliveredAfterIt() async throws {
        try await withDirectory { directory in
            let receiver = try WebhookReceiver.absent()
            try await withOrchestrator(directory: directory, policy: Quick.quick) { bench in
                _ = try await bench.subscribe(receiver.url, #","events":["participant.joined"]"#)
                for number in 0..<5 { try await bench.join("u\(number)") }
                try await eventually {
                    try await bench.call(.get, "/metrics").text.contains(
                        "webhook_attempts_total{result=\"unreachable\"}")
                        ? true : nil
                }
            }
            #expect(receiver.messages.isEmpty)
            try await withOrchestrator(directory: directory, policy: Quick.quick) { bench in
                try await bench.join("u5")
                try await receiver.comeBack {
                    _ = try await eventually { receiver.taken.count >= 6 ? true : nil }
                }
                #expect(try receiver.taken.map { try $0.value("data.user") } == (0..<6).map { "u\($0)" })
            }
        }
    }

    /// A message was on its way when the earlier service was killed, so that its lease must run out first.
    @Test func whatADeadServiceHadTakenIsDelivered() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                let store = try SQLiteTaskStore(path: directory + "/store.sqlite")
                let subscription = Subscription(
                    id: "sub-1", app: .standard, kind: .own, url: receiver.url, createdAt: 1)
                let messages = ["a", "b"].map { id in
                    OutboxMessage(
                        id: id, subscription: subscription.id, lane: "demo", topic: .roomOpened, body: Array("{}".utf8))
                }
                _ = try await store.commit(
                    StoreChange(subscription: .put(subscription, expected: 0), outbox: messages))
                let taken = try await store.takeMessages(of: subscription.id, limit: 9, lease: .seconds(1))
                #expect(taken.items.map(\.message.id) == ["a"])
                try await withOrchestrator(directory: directory, store: store, policy: Quick.quick) { bench in
                    try await eventually { receiver.taken.count == 2 ? true : nil }
                    #expect(receiver.taken.map(\.id) == ["a", "b"])
                    try await eventually {
                        try await store.delivery("b", of: subscription.id)?.state == .delivered ? true : nil
                    }
                    #expect(try await store.delivery("a", of: subscription.id)?.attempts == 2)
                }
                await store.close()
            }
        }
    }

    /// Both secrets sign during a replacement.
    @Test func aReplacedSecretSignsUntilItsEnd() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory, policy: Quick.quick) { bench in
                    let (id, old) = try await bench.subscribe(receiver.url, #","events":["room.closed"]"#)
                    let answer = try await bench.call(
                        .post, "/v1/subscriptions/\(id)/secret", #"{"overlapSeconds":600}"#)
                    let new = try #require(try answer.value("secret"))
                    #expect(try await bench.call(.post, "/v1/subscriptions/\(id)/test").status == 202)
                    try await eventually { receiver.taken.isEmpty ? nil : true }
                    let message = try #require(receiver.taken.first)
                    #expect(isSigned(message, with: old) && isSigned(message, with: new))
                    // Without an overlap, the old secret stops signing at once.
                    _ = try await bench.call(.post, "/v1/subscriptions/\(id)/secret", #"{"overlapSeconds":0}"#)
                    #expect(try await bench.call(.post, "/v1/subscriptions/\(id)/test").status == 202)
                    try await eventually { receiver.taken.count == 2 ? true : nil }
                    let last = try #require(receiver.taken.last)
                    #expect(!isSigned(last, with: old) && !isSigned(last, with: new))
                }
            }
        }
    }

    @Test func aDeadEndpointDelaysNoOther() async throws {
        try await WebhookReceiver.run { good in
            try await WebhookReceiver.run { bad in
                bad.answer { _ in .hangs }
                try await withDirectory { directory in
                    try await withOrchestrator(directory: directory, policy: Quick.hasty) { bench in
                        let dead = try await bench.subscribe(bad.url, #","events":["participant.joined"]"#)
                        let nobody = try await bench.subscribe(
                            "http://127.0.0.1:9/", #","events":["participant.joined"]"#)
                        _ = try await bench.subscribe(good.url, #","events":["participant.joined"]"#)
                        for number in 0..<40 { try await bench.join("u", room: "r\(number)") }
                        try await eventually { Set(good.taken.map(\.id)).count == 40 ? true : nil }
                        for id in [dead.id, nobody.id] {
                            try await eventually {
                                let answer = try await bench.call(.get, "/v1/subscriptions/\(id)")
                                return try answer.value("delivery.state") == "failing" ? true : nil
                            }
                        }
                        let waiting = try await bench.call(.get, "/v1/subscriptions/\(dead.id)").value(
                            "delivery.waiting")
                        #expect(waiting == "40")
                        // The delivery is paused before all messages have been tried.
                        #expect(Set(bad.messages.map(\.id)).count < 40)
                        #expect(bench.log.text.contains("an endpoint fails, delivery to it is paused"))
                        // The remaining messages are delivered once the endpoint works again.
                        bad.answer { _ in .status(200) }
                        try await eventually { Set(bad.taken.map(\.id)).count == 40 ? true : nil }
                        try await eventually {
                            let answer = try await bench.call(.get, "/v1/subscriptions/\(dead.id)")
                            return try answer.value("delivery.state") == "active" ? true : nil
                        }
                    }
                }
            }
        }
    }

    @Test func deadLettersAreShownAndSentAgain() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory, policy: Quick.impatient) { bench in
                    receiver.answer { _ in .status(503) }
                    let (id, _) = try await bench.subscribe(
                        receiver.url + "?key=1", #","events":["participant.joined"]"#)
                    for number in 0..<3 { try await bench.join("u\(number)") }
                    let path = "/v1/subscriptions/\(id)/deliveries"
                    let dead = try await eventually {
                        let answer = try await bench.call(.get, path + "?state=dead")
                        return try answer.value("deliveries.2.id") == nil ? nil : answer
                    }
                    #expect(try dead.value("deliveries.0.event") == "participant.joined")
                    #expect(try dead.value("deliveries.0.room") == "demo")
                    #expect(try dead.value("deliveries.0.lastAttempt.code") == "503")
                    #expect(try dead.value("deliveries.0.lastAttempt.error") == "answered 503")
                    #expect(!dead.text.contains("key=1"))
                    let page = try await bench.call(.get, path + "?state=dead&limit=2")
                    let next = try #require(try page.value("next"))
                    let rest = try await bench.call(.get, path + "?state=dead&limit=2&before=\(next)")
                    #expect(try rest.value("deliveries.0.id") == (try dead.value("deliveries.2.id")))
                    #expect(try rest.value("next") == nil)

                    let first = try #require(try dead.value("deliveries.2.id"))
                    let one = try await bench.call(.get, "\(path)/\(first)")
                    #expect(try one.value("log.0.code") == "503")
                    #expect(try one.value("body")?.contains("participant.joined") == true)
                    #expect(try await bench.call(.get, "\(path)/nothing").status == 404)

                    receiver.answer { _ in .status(200) }
                    #expect(try await bench.call(.post, "\(path)/\(first)/redeliver").status == 202)
                    try await eventually { receiver.taken.map(\.id) == [first] ? true : nil }
                    let all = try await bench.call(.post, "/v1/subscriptions/\(id)/redeliver")
                    #expect(all.text == #"{"redelivered":2}"#)
                    try await eventually { receiver.taken.count == 3 ? true : nil }
                    #expect(try receiver.taken.map { try $0.value("data.user") } == ["u0", "u1", "u2"])
                    try await eventually {
                        try await bench.call(.get, "\(path)/\(first)").value("state") == "delivered" ? true : nil
                    }
                    #expect(try await bench.call(.get, "\(path)/\(first)").value("log.1.code") == "200")
                }
            }
        }
    }

    @Test func aTestMessageIsSent() async throws {
        try await WebhookReceiver.run { receiver in
            try await withDirectory { directory in
                try await withOrchestrator(directory: directory, policy: Quick.quick) { bench in
                    let (id, _) = try await bench.subscribe(receiver.url, #","events":["room.closed"]"#)
                    let answer = try await bench.call(.post, "/v1/subscriptions/\(id)/test")
                    #expect(answer.status == 202)
                    try await eventually { receiver.taken.isEmpty ? nil : true }
                    #expect(receiver.taken.first?.id == (try answer.value("message")))
                    #expect(try receiver.taken.first?.value("type") == "subscription.test")
                    let place = try #require(answer.headers[.location])
                    try await eventually {
                        try await bench.call(.get, place).value("state") == "delivered" ? true : nil
                    }
                }
            }
        }
    }
}
