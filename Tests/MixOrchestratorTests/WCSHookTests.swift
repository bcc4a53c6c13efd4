import EventSubscription
import Foundation
import HTTPInterface
import MixModel
import TestSupport
import Testing

@testable import RoomService

/// Web Call Server's hooks: reports and questions to the app's server, over real HTTP.
@Suite(.timeLimit(.minutes(5))) struct WCSHookTests {
    /// Runs a service whose app's server is `receiver`.
    private func run(
        _ settings: [String: [String]] = [:], timeout: String = "5",
        _ body: @escaping @Sendable (WCSStage, WebhookReceiver) async throws -> Void
    ) async throws {
        try await WebhookReceiver.run { receiver in
            let base = ["wcs.hooks.url": [receiver.url], "wcs.hooks.timeout": [timeout]]
            try await WCSStage.run(base.merging(settings) { $1 }) { stage in try await body(stage, receiver) }
        }
    }

    private static func methods(_ receiver: WebhookReceiver) -> [String] {
        receiver.messages.map { String($0.path.dropFirst("/hook/".count)) }
    }

    /// All reports about one client arrive in order.
    @Test func theAppsServerHearsEverythingInOrder() async throws {
        let secret = WebhookSignature.newSecret()
        try await run(["wcs.hooks.secret": [secret]]) { stage, receiver in
            receiver.answer { _ in .text("{}") }
            let client = try await stage.connect(token: "of-the-app", more: #","custom":{"login":"ann","token":"t"}"#)
            #expect(try await client.next().name == "getUserData")
            await client.send(
                "publishStream",
                WCSStage.stream(
                    "id-1", "ann#lobby", WCSStage.offer + #","record":false,"custom":{"a":1},"rtmpUrl":"x""#))
            #expect(try await client.next().name == "setRemoteSDP")
            stage.door.opened["session-1"]?.change(.connected)
            #expect(try await client.status() == ["id-1", "PENDING"])
            #expect(try await client.status() == ["id-1", "PUBLISHING"])
            await client.socket.disconnect()
            try await eventually { receiver.messages.count == 6 ? true : nil }
            #expect(
                Self.methods(receiver) == [
                    "connect", "ConnectionStatusEvent", "publishStream", "StreamStatusEvent", "StreamStatusEvent",
                    "ConnectionStatusEvent",
                ])
            let connect = receiver.messages[0]
            // If the service has no tokens, the client's token is the app's.
            #expect(try connect.value("authToken") == "of-the-app" && connect.value("custom.login") == "ann")
            #expect(try connect.value("appKey") == "defaultApp")
            let session = try #require(try connect.value("sessionId"))
            for message in receiver.messages { #expect(try message.value("sessionId") == session) }
            #expect(try receiver.messages[1].value("status") == "ESTABLISHED")
            let publish = receiver.messages[2]
            #expect(try publish.value("name") == "ann#lobby" && publish.value("sdp") == "v=0")
            #expect(try publish.value("custom.a") == "1" && publish.value("mediaType") == "publish")
            #expect(!publish.body.contains("rtmpUrl"))
            #expect(try receiver.messages[3...4].map { try $0.value("status") } == ["PENDING", "PUBLISHING"])
            #expect(try receiver.messages[4].value("mediaSessionId") == "id-1")
            #expect(try receiver.messages[5].value("status") == "DISCONNECTED")
            // Signed as webhooks are.
            let time = try #require(connect.header("webhook-timestamp").flatMap { Int($0) })
            let signature = WebhookSignature.standard(
                id: connect.id, time: time, body: Array(connect.body.utf8), secrets: [.init(text: secret)])
            #expect(connect.header("webhook-signature") == signature.last?.value)
        }
    }

    @Test func a403KeepsTheClientOut() async throws {
        try await run { stage, receiver in
            receiver.answer { _ in .status(403) }
            let client = try await stage.connect()
            #expect(try await client.next().text("info") == "the app's server does not let this client in")
            #expect(await client.socket.rest().compactMap(\.code) == [1008])
            #expect(Self.methods(receiver) == ["connect"])
        }
    }

    /// A server that is silent or fails also keeps clients out.
    @Test func whoCannotBeAskedAboutStaysOut() async throws {
        // A server that hangs is reported differently from other faults, however slow the machine is.
        for (timeout, replies, result) in [
            ("0.3", [WebhookReceiver.Reply.hangs], #"result="timeout"} 1"#),
            ("15", [.status(500), .status(404), .redirect("http://127.0.0.1/")], #"result="refused"} 2"#),
        ] {
            try await run(timeout: timeout) { stage, receiver in
                for reply in replies {
                    receiver.answer { _ in reply }
                    let client = try await stage.connect()
                    #expect(try await client.next().text("info") == "the app's server cannot be asked", "\(reply)")
                    #expect(await client.socket.rest().compactMap(\.code) == [1008])
                }
                let metrics = try await outputOfShell("curl -sS http://127.0.0.1:\(stage.service.port)/metrics")
                #expect(metrics.contains(#"wcs_hooks_total{method="connect","# + result), "\(metrics)")
            }
        }
    }

    @Test func theAppsServerRefusesAndRenamesStreams() async throws {
        try await run { stage, receiver in
            receiver.answer { message in
                if message.path.hasSuffix("/connect") {
                    return .text(
                        #"{"restClientConfig":{"publishStream":{"restPolicy":"OVERWRITE","restOverwrite":"name"},"playStream":{"restOnError":"FAIL"},"ConnectionStatusEvent":{"restPolicy":"DISABLE"},"StreamStatusEvent":{"restExclude":"custom, name"}}}"#
                    )
                }
                if message.path.hasSuffix("/playStream") { return .status(500) }
                if message.body.contains("banned") { return .status(403) }
                return message.path.hasSuffix("/publishStream") ? .text(#"{"name":"ann#lobby"}"#) : .text("{}")
            }
            let client = try await stage.enter()
            await client.send("publishStream", WCSStage.stream("id-1", "secret-key", WCSStage.offer))
            #expect(try await client.next().name == "setRemoteSDP")
            guard case .participant(let names)? = stage.door.opened["session-1"]?.target else {
                Issue.record("it is not published")
                return
            }
            #expect(names.user == "ann" && names.room.name == "lobby")
            #expect(try await client.status() == ["id-1", "PENDING"])
            await client.send("publishStream", WCSStage.stream("id-2", "banned#lobby", WCSStage.offer))
            #expect(try await client.status() == ["id-2", "FAILED", "Restricted access"])
            await client.send("playStream", WCSStage.stream("id-3", "ann#lobby", WCSStage.offer))
            #expect(try await client.status() == ["id-3", "FAILED", "Restricted access"])
            try await eventually { receiver.messages.count == 7 ? true : nil }
            #expect(!Self.methods(receiver).contains("ConnectionStatusEvent"))
            for message in receiver.messages where message.path.hasSuffix("StreamStatusEvent") {
                #expect(try message.value("name") == nil && message.value("status") != nil)
            }
        }
    }

    /// By default an error of the app's server is logged, and the stream goes on.
    @Test func errorsAreLogged() async throws {
        try await run { stage, receiver in
            receiver.answer { $0.path.hasSuffix("/connect") ? .text("") : .status(500) }
            let client = try await stage.enter()
            await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
            #expect(try await client.next().name == "setRemoteSDP")
            #expect(stage.service.log.text.contains("WCS: the hook publishStream answered 500"))
        }
    }

    /// A server that hangs delays only the client that the question is about.
    @Test func aServerThatHangsHoldsUpNobodyElse() async throws {
        try await run(timeout: "15") { stage, receiver in
            receiver.answer { $0.body.contains("slow") ? .hangs : .text("{}") }
            let slow = try await stage.connect(token: "slow")
            try await eventually { receiver.messages.count == 1 ? true : nil }
            let start = ContinuousClock.now
            _ = try await stage.enter()
            #expect(ContinuousClock.now - start < .seconds(12), "it waited for the answer about the other client")
            await slow.socket.disconnect()
        }
    }

    /// With `wcs.access: hook`, the app's server decides about clients without a token of the service.
    @Test func theAppsServerMayDecideInsteadOfTokens() async throws {
        let token = "0123456789abcdef-publish"
        let tokens = [
            "apps.0.id": ["default"], "apps.0.tokens.0.token": [token], "apps.0.tokens.0.scopes": ["publish", "tasks"],
        ]
        try await run(tokens.merging(["wcs.access": ["hook"]]) { $1 }) { stage, receiver in
            receiver.answer { $0.body.contains("good") ? .text("{}") : .status(403) }
            let good = try await stage.connect(token: "good", headers: ["Origin": "https://app.example"])
            #expect(try await good.next().name == "getUserData")
            let bad = try await stage.connect(token: "bad")
            #expect(try await bad.next().name == "fail")
        }
        // If the service has tokens, the app's server neither sees them nor is asked about clients without one.
        try await run(tokens) { stage, receiver in
            receiver.answer { _ in .text("{}") }
            let stranger = try await stage.connect(token: "x")
            #expect(try await stranger.next().name == "fail")
            let client = try await stage.connect(token: token)
            #expect(try await client.next().name == "getUserData")
            try await eventually { receiver.messages.count == 2 ? true : nil }
            #expect(!receiver.messages.contains { $0.body.contains(token) })
        }
    }
}
