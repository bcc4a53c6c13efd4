import Foundation
import HTTPTypes
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

@Suite(.timeLimit(.minutes(5))) struct SubscriptionRouteTests {
    private static let url = "http://127.0.0.1:9/hook?key=hidden"

    @Test func aSubscriptionIsMadeShownChangedAndDeleted() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let made = try await bench.call(
                    .post, "/v1/subscriptions",
                    #"{"url":"\#(Self.url)","events":["stream.*","task.switched"],"rooms":["a","a","b"],"note":"n"}"#)
                #expect(made.status == 201, "\(made.text)")
                let id = try #require(try made.value("id"))
                let path = "/v1/subscriptions/\(id)"
                #expect(made.headers[.location] == path)
                let secret = try #require(try made.value("secret"))
                #expect(WebhookSignature.key(of: secret)?.count == 32)
                let shown = try await bench.call(.get, path)
                #expect(!shown.text.contains(secret) && !shown.text.contains("hidden"))
                #expect(try shown.value("url") == "http://127.0.0.1:9/hook?***")
                #expect(try shown.value("delivery.state") == "active")
                #expect(shown.text.contains(#""rooms":["a","b"]"#))
                #expect(
                    shown.text.contains(
                        #""events":["stream.published","stream.unpublished","stream.updated","task.switched"]"#))
                let tag = try #require(shown.headers[.eTag])

                func patch(_ body: String, _ match: String?) async throws -> Answer {
                    var headers: HTTPFields = [.contentType: "application/merge-patch+json"]
                    headers[.ifMatch] = match
                    return try await bench.call(.patch, path, body, headers: headers)
                }
                #expect(try await patch("{}", nil).status == 428)
                #expect(try await patch("{}", "\"zz\"").status == 412)
                let changed = try await patch(#"{"rooms":null,"note":null,"enabled":false}"#, tag)
                #expect(changed.status == 200, "\(changed.text)")
                #expect(try changed.value("rooms") == nil)
                #expect(try changed.value("delivery.state") == "disabled")
                #expect(changed.headers[.eTag] != tag)
                #expect(try await patch(#"{"note":"x"}"#, tag).status == 412)
                let redacted = try await patch(#"{"url":"http://127.0.0.1:9/hook?***"}"#, "*")
                #expect(redacted.status == 422)
                #expect(try await bench.call(.post, path + "/test").status == 409)

                let rotated = try await bench.call(.post, path + "/secret", #"{"overlapSeconds":60}"#)
                #expect(rotated.status == 200, "\(rotated.text)")
                #expect(try rotated.value("secret") != secret)
                #expect(try rotated.value("previousSecretUntil") != nil)
                #expect(try await bench.call(.post, path + "/secret").status == 200)
                #expect(try await bench.store.subscriptions().first?.document.secrets.count == 3)

                #expect(try await bench.call(.delete, path, headers: [.ifMatch: tag]).status == 412)
                #expect(try await bench.call(.delete, path).status == 204)
                #expect(try await bench.call(.get, path).status == 404)
                #expect(try await bench.call(.get, "/v1/subscriptions").text == #"{"subscriptions":[]}"#)
                #expect(!bench.log.text.contains("hidden") && !bench.log.text.contains(secret))
            }
        }
    }

    @Test func theSameKeyIsTheSameSubscription() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let key = HTTPFieldsOf("Idempotency-Key", "once")
                func make(_ url: String) async throws -> Answer {
                    try await bench.call(.post, "/v1/subscriptions", #"{"url":"\#(url)"}"#, headers: key)
                }
                let first = try await make(Self.url)
                #expect(first.status == 201)
                let again = try await make(Self.url)
                #expect(again.status == 200)
                #expect(try again.value("id") == (try first.value("id")))
                #expect(try again.value("secret") == nil)
                #expect(try await make("http://127.0.0.1:9/other").status == 409)
            }
        }
    }

    /// A secret that is answered with success is in use.
    @Test func theSameKeyWithAnotherSecretIsRefused() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let (first, second) = (WebhookSignature.newSecret(), WebhookSignature.newSecret())
                func make(_ secret: String) async throws -> Answer {
                    let body = #"{"url":"\#(Self.url)","secret":"\#(secret)"}"#
                    return try await bench.call(
                        .post, "/v1/subscriptions", body, headers: HTTPFieldsOf("Idempotency-Key", "once"))
                }
                #expect(try await make(first).status == 201)
                #expect(try await make(first).status == 200)
                let refused = try await make(second)
                #expect(refused.status == 409 && !refused.text.contains(second))
                let stored = try await bench.store.subscriptions().first
                #expect(stored?.document.secrets.map(\.text) == [first])
            }
        }
    }

    @Test(arguments: [
        (#"{}"#, "url", "missing-field"),
        (#"{"url":"http://127.0.0.1:9/","evnets":[]}"#, "evnets", "unknown-field"),
        (#"{"url":"http://app.example/"}"#, "url", "url-refused"),
        (#"{"url":"rtmp://127.0.0.1/x"}"#, "url", "url-refused"),
        (#"{"url":"http://u:p@127.0.0.1/"}"#, "url", "invalid-field"),
        (#"{"url":"http://127.0.0.1:9/","events":["stream.publishd"]}"#, "events[0]", "invalid-field"),
        (#"{"url":"http://127.0.0.1:9/","events":[]}"#, "events", "invalid-field"),
        (#"{"url":"http://127.0.0.1:9/","rooms":["a/b"]}"#, "rooms[0]", "invalid-field"),
        (#"{"url":"http://127.0.0.1:9/","secret":"whsec_AAAA"}"#, "secret", "invalid-field"),
    ])
    func whatCannotBeUsedIsNamed(body: String, field: String, code: String) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let answer = try await bench.call(.post, "/v1/subscriptions", body)
                #expect(answer.status == 422, "\(answer.text)")
                #expect(try answer.value("field") == field)
                #expect(try answer.value("type") == "urn:mixorchestrator:problem:\(code)")
                #expect(!answer.text.contains("whsec_AAAA"))
                #expect(try await bench.store.subscriptions().isEmpty)
            }
        }
    }

    @Test func appsDoNotSeeEachOthers() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, store: MemoryTaskStore(), settings: ["apps.0.id": ["shop"]]
            ) { bench in
                let made = try await bench.call(.post, "/v1/subscriptions?app=shop", #"{"url":"\#(Self.url)"}"#)
                let id = try #require(try made.value("id"))
                for path in ["", "/deliveries"] {
                    #expect(try await bench.call(.get, "/v1/subscriptions/\(id)\(path)").status == 404)
                    #expect(try await bench.call(.get, "/v1/subscriptions/\(id)\(path)?app=shop").status == 200)
                }
                #expect(try await bench.call(.delete, "/v1/subscriptions/\(id)").status == 404)
                #expect(try await bench.call(.get, "/v1/subscriptions").text == #"{"subscriptions":[]}"#)
            }
        }
    }

    @Test func limitsAreKept() async throws {
        let store = MemoryTaskStore()
        let registry = SubscriptionRegistry(index: SubscriptionIndex(), store: store, allowed: .loopbackOnly)
        func make(_ kind: Subscription.Kind, rooms: [String]?, app: AppID = "shop") async -> String? {
            do {
                let subscription = Subscription(
                    id: SubscriptionRegistry.newID(), app: app, kind: kind, url: Self.url, rooms: rooms, createdAt: 1)
                _ = try await registry.make(subscription)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await make(.roomEvents, rooms: nil) == nil)
        #expect(await make(.roomEvents, rooms: nil) == "subscription-exists")
        #expect(await make(.roomEvents, rooms: nil, app: "other") == nil)
        for number in 1..<20 { #expect(await make(.roomEvents, rooms: ["r\(number)"]) == nil) }
        #expect(await make(.roomEvents, rooms: ["x"]) == "too-many-subscriptions")
        #expect(await make(.taskEvents, rooms: nil) == nil)
        #expect(await make(.taskEvents, rooms: ["x"]) == "too-many-subscriptions")
        // The store has the same subscriptions as the registry.
        let again = SubscriptionRegistry(index: SubscriptionIndex(), store: store, allowed: .loopbackOnly)
        try await again.restore()
        #expect(again.subscriptions(of: "shop", [.roomEvents]) == registry.subscriptions(of: "shop", [.roomEvents]))
        #expect(again.subscriptions(of: "shop", [.roomEvents]).count == 20)
        let first = try #require(registry.subscriptions(of: "shop", [.taskEvents]).first)
        await #expect(throws: OrchestratorError.self) {
            try await registry.remove(first.id, of: "other", [.taskEvents])
        }
        try await registry.remove(first.id, of: "shop", [.taskEvents])
        #expect(registry.subscriptions(of: "shop", [.taskEvents]).isEmpty)
        #expect(await make(.taskEvents, rooms: ["x"]) == nil)
    }

    /// Rooms without subscriptions produce no messages.
    @Test func withoutSubscriptionsThereAreNoMessages() async throws {
        try await withDirectory { directory in
            let store = MemoryTaskStore()
            try await withOrchestrator(
                directory: directory, store: store, settings: ["apps.0.id": ["shop"]]
            ) { bench in
                #expect(
                    try await bench.call(.post, "/v1/subscriptions?app=shop", #"{"url":"\#(Self.url)"}"#).status == 201)
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                #expect(try await store.waitingMessages() == 0)
                try await bench.publish("bob", room: "other")
                #expect(try await store.waitingMessages() == 0)
            }
        }
    }
}
