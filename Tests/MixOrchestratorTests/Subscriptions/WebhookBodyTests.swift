import Crypto
import Foundation
import MixModel
import TestSupport
import Testing

@testable import MixOrchestrator
@testable import RoomService

@Suite struct WebhookBodyTests {
    private func json(_ occurrence: Occurrence, _ kind: Subscription.Kind) throws -> [String: Any]? {
        let subscription = Subscription(id: "sub-1", app: "shop", kind: kind, url: "http://127.0.0.1", createdAt: 0)
        guard let bytes = WebhookBody.bytes(of: occurrence, id: "msg_1", number: 7, for: subscription) else {
            return nil
        }
        return try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
    }

    @Test func oursAreCloudEventsWithoutSecrets() throws {
        for occurrence in SampleOccurrences.all {
            let event = try #require(try json(occurrence, .own))
            #expect(event["specversion"] as? String == "1.0")
            #expect(event["id"] as? String == "msg_1")
            #expect(event["type"] as? String == occurrence.topic.rawValue)
            #expect(event["subject"] as? String == "demo")
            #expect(event["app"] as? String == "shop")
            #expect(event["time"] as? String == "2021-01-05T13:53:06.250Z")
            #expect(event["sequence"] as? String == "7")
            let text = "\(event)"
            #expect(!text.contains("secret") && !text.contains("key?") && !text.contains("auth=1"), "\(text)")
        }
    }

    @Test func roomCallbacksHaveTheirSpelling() throws {
        let publish = try #require(SampleOccurrences.all.first { $0.topic == .streamPublished })
        let body = try #require(try json(publish, .roomEvents))
        #expect(Set(body.keys) == ["MsgId", "MsgTimestamp", "SubscribeID", "AppId", "ChannelID", "Contents"])
        #expect(body["SubscribeID"] as? String == "sub-1")
        #expect(body["ChannelID"] as? String == "demo")
        #expect(body["AppId"] as? String == "shop")
        let content = try #require((body["Contents"] as? [[String: Any]])?.first)
        #expect(content["Event"] as? String == "UserEvent")
        let user = try #require(content["UserEvent"] as? [String: Any])
        #expect(
            Set(user.keys) == ["UserId", "EventTag", "SessionId", "Timestamp", "Reason", "Role", "TerminalType"])
        #expect(user["EventTag"] as? String == "Publish")
        #expect(user["Timestamp"] as? Int == 1_609_854_786)
        #expect(user["Role"] as? Int == 1)
        var tags: [String] = []
        for occurrence in SampleOccurrences.all {
            guard let content = (try json(occurrence, .roomEvents)?["Contents"] as? [[String: Any]])?.first else {
                continue
            }
            let inner = (content["UserEvent"] ?? content["ChannelEvent"]) as? [String: Any]
            tags.append(inner?["EventTag"] as? String ?? "")
        }
        #expect(tags == ["Open", "Close", "Join", "Leave", "Roleupdate", "Publish", "Unpublish", "Test"])
    }

    @Test func taskCallbacksHaveTheirSpellingAndTheWholeURL() throws {
        var codes: [OutputChange.State: [Int]] = [:]
        for occurrence in SampleOccurrences.all {
            guard case .outputStateChanged(_, let change, _) = occurrence.kind,
                let body = try json(occurrence, .taskEvents)
            else { continue }
            #expect(
                Set(body.keys) == ["EventType", "MsgId", "AppId", "SubId", "TaskId", "CallbackTs", "Payload"])
            #expect(body["TaskId"] as? String == "auto-demo")
            let payload = try #require(body["Payload"] as? [String: Any])
            #expect(Set(payload.keys) == ["DstUrl", "EventTs", "EventCode", "ErrorCode", "ErrorMessage"])
            #expect(payload["DstUrl"] as? String == SampleOccurrences.output)
            #expect(payload["EventTs"] as? Int == 1_609_854_786_250)
            #expect((payload["ErrorMessage"] as? String)?.contains("auth=1") == false)
            codes[change.state] = [payload["EventCode"] as? Int ?? 0, payload["ErrorCode"] as? Int ?? -1]
        }
        #expect(codes == [.live: [1, 0], .recovering: [2, 1], .failed: [2, 2], .removed: [3, 0]])
    }

    // MARK: Signatures

    /// The test vector that Standard Webhooks publishes for its libraries.
    @Test func theSignatureIsThatOfStandardWebhooks() {
        let headers = WebhookSignature.standard(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330, body: Array(#"{"test": 2432232314}"#.utf8),
            secrets: [.init(text: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")])
        #expect(headers.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(headers[0].value == "msg_p5jXN8AQM9LWM0D4loKWxJek")
        #expect(headers[1].value == "1614265330")
        #expect(headers[2].value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func replacedSecretsSignUntilTheirEnd() {
        let secrets = [
            Subscription.Secret(text: WebhookSignature.newSecret()),
            Subscription.Secret(text: WebhookSignature.newSecret(), validUntil: 100),
        ]
        func count(_ time: Int) -> Int {
            WebhookSignature.standard(id: "m", time: time, body: [1], secrets: secrets).last?.value
                .split(separator: " ").count ?? 0
        }
        #expect(count(99) == 2)
        #expect(count(100) == 1)
        #expect(WebhookSignature.key(of: WebhookSignature.newSecret())?.count == 32)
        for bad in ["", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!"] {
            #expect(WebhookSignature.key(of: bad) == nil, "\(bad)")
        }
    }

    @Test func theCompatibleSignatureCoversHostTimeAndKey() {
        let headers = WebhookSignature.compatible(host: "app.example", time: 1_609_854_786, key: "0123456789abcdef")
        #expect(headers.map(\.name) == ["ALI-LIVE-TIMESTAMP", "ALI-LIVE-SIGNATURE"])
        // printf 'app.example|1609854786|0123456789abcdef' | md5sum
        #expect(headers[1].value == "5bd00479eb9ca5c226d358f3a601c012")
    }
}
