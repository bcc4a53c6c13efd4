import EventSubscription
import Foundation
import MixModel
import Testing

@testable import RoomService

/// `ingest.onPublish` over real HTTP.
@Suite(.timeLimit(.minutes(5))) struct PublishHookTests {
    private static let names = StreamNames(
        room: RoomID(app: .standard, name: "lobby"), user: "alice", stream: .camera)

    private static func request(_ number: Int, name: String = "lobby__alice") -> IngestRequest {
        IngestRequest(
            request: number, isPublish: true, application: "live", name: name, query: "token=s3cret",
            address: "10.0.0.1", session: "r-\(number)")
    }

    private static func caller(
        _ url: String, timeout: Double = 5, secret: String? = nil, allowed: [String] = []
    ) throws -> PublishHookCaller {
        PublishHookCaller(
            PublishHook(url: try StreamURL(url), timeout: timeout, secret: secret), allowed: try AllowList(allowed))
    }

    private static func ask(_ caller: PublishHookCaller, _ number: Int, name: String = "lobby__alice") async
        -> PublishHookDecision
    {
        await caller.ask(request(number, name: name), app: .standard, names: names, mismatch: "")
    }

    @Test func theQuestionIsSignedLikeEveryWebhook() async throws {
        let secret = WebhookSignature.newSecret()
        try await WebhookReceiver.run { receiver in
            receiver.answer { _ in .text(#"{"user": "carol"}"#) }
            let caller = try Self.caller(receiver.url, secret: secret)
            var renamed = Self.names
            renamed.user = "carol"
            #expect(await Self.ask(caller, 1) == .allowed(renamed))
            let message = try #require(receiver.messages.first)
            #expect(message.header("webhook-id") == "pub_r-1" && message.header("content-type") == "application/json")
            #expect(try message.value("name") == "lobby__alice" && !message.body.contains("s3cret"))
            let time = try #require(message.header("webhook-timestamp").flatMap { Int($0) })
            let expected = WebhookSignature.standard(
                id: "pub_r-1", time: time, body: Array(message.body.utf8), secrets: [.init(text: secret)])
            #expect(message.header("webhook-signature") == expected.last?.value)
            await caller.close()
        }
    }

    /// More at once than a client of HTTP has connections to one host by default.
    @Test func aSlowAnswerDelaysNobodyElse() async throws {
        try await WebhookReceiver.run { receiver in
            receiver.answer { $0.body.contains("slow") ? .hangs : .text("{}") }
            let caller = try Self.caller(receiver.url, timeout: 120)
            try await withThrowingTaskGroup(of: PublishHookDecision.self) { group in
                for number in 0..<40 { group.addTask { await Self.ask(caller, number, name: "slow") } }
                try await eventually { receiver.messages.count == 40 ? true : nil }
                let start = ContinuousClock.now
                #expect(await Self.ask(caller, 100) == .allowed(Self.names))
                #expect(ContinuousClock.now - start < .seconds(60), "it waited for the others")
                group.cancelAll()
            }
            await caller.close()
            let hasty = try Self.caller(receiver.url, timeout: 0.5)
            #expect(
                await Self.ask(hasty, 200, name: "slow")
                    == .refused(
                        isName: false, reason: PublishHookReader.fault,
                        log: "ingest.onPublish did not answer within 0.5 s"))
            await hasty.close()
        }
    }

    @Test func onlyAllowedAddressesAreAsked() async throws {
        try await WebhookReceiver.run { receiver in
            let caller = try Self.caller(receiver.url, allowed: ["https://app.example"])
            guard case .refused(_, PublishHookReader.fault, let log) = await Self.ask(caller, 1) else {
                Issue.record("it was asked")
                return
            }
            #expect(log.contains("callbacks.allow") && receiver.messages.isEmpty)
            await caller.close()
        }
    }
}
