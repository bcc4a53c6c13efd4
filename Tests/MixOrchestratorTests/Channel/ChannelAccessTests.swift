import Foundation
import HTTPTypes
import TaskStore
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator

/// Access to channels, for reading and for writing.
@Suite(.timeLimit(.minutes(5))) struct ChannelAccessTests {
    private static let messages = "/v1/rooms/demo/messages"
    private static let channel = "/v1/rooms/demo/channel"
    private static let key = "channel-key-0123456789"
    private static let tokens = [
        "chat": "chat-0123456789abcdef", "alice": "alice-0123456789abcdef", "read": AccessTests.token["read"] ?? "",
        "tasks": AccessTests.token["tasks"] ?? "", "events": AccessTests.token["events"] ?? "",
    ]

    private static func bearer(_ name: String) -> HTTPFields { [.authorization: "Bearer \(tokens[name] ?? name)"] }

    private func withTokens(
        _ changes: [String: [String]] = [:], _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        var settings = AccessTests.apps()
        settings["apps.0.tokens.7.token"] = [Self.tokens["chat"] ?? ""]
        settings["apps.0.tokens.7.scopes"] = ["chat"]
        settings["apps.0.tokens.8.token"] = [Self.tokens["alice"] ?? ""]
        settings["apps.0.tokens.8.scopes"] = ["chat"]
        settings["apps.0.tokens.8.user"] = ["alice"]
        let all = settings.merging(changes) { $1 }
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), settings: all) { bench in
                #expect(try await bench.call(.put, "/v1/rooms/demo", "{}", headers: Self.bearer("tasks")).status == 201)
                try await body(bench)
            }
        }
    }

    @Test func tokensNeedTheScope() async throws {
        try await withTokens(["channel.anonymousReading": ["false"]]) { (bench: Bench) async throws in
            let text = #"{"text":"x","user":"bob"}"#
            func statuses(_ headers: HTTPFields) async throws -> [Int] {
                [
                    try await bench.call(.get, Self.messages, headers: headers).status,
                    try await bench.call(.head, Self.channel, headers: headers).status,
                    try await bench.call(.post, Self.messages, text, headers: headers).status,
                    try await bench.call(.get, "/v1/rooms/demo/rules", headers: headers).status,
                ]
            }
            #expect(try await statuses(Self.bearer("chat")) == [200, 200, 201, 403])
            #expect(try await statuses(Self.bearer("read")) == [200, 200, 403, 403])
            #expect(try await statuses(Self.bearer("tasks")) == [403, 403, 403, 200])
            #expect(try await statuses(Self.bearer("events")) == [403, 403, 403, 403])
            #expect(try await statuses(Self.bearer("unknown")) == [401, 401, 401, 401])
            #expect(try await statuses([:]) == [401, 401, 401, 401])
            // Rooms of the same name in another app are different rooms.
            #expect(try await bench.call(.get, Self.messages, headers: AccessTests.bearer("other")).status == 404)
            #expect(try await bench.call(.get, Self.messages + "?app=shop", headers: Self.bearer("chat")).status == 403)
        }
    }

    @Test func aTokenWithAUserSpeaksForThatOneOnly() async throws {
        try await withTokens { bench in
            let own = try await bench.call(.post, Self.messages, #"{"text":"x"}"#, headers: Self.bearer("alice"))
            #expect(try own.value("user") == "alice")
            let same = try await bench.call(
                .post, Self.messages, #"{"text":"x","user":"alice"}"#, headers: Self.bearer("alice"))
            #expect(same.status == 201)
            let other = try await bench.call(
                .post, Self.messages, #"{"text":"x","user":"bob"}"#, headers: Self.bearer("alice"))
            #expect(other.status == 403)
            #expect(try other.value("type") == "urn:mixorchestrator:problem:user-refused")
            let any = try await bench.call(
                .post, Self.messages, #"{"text":"x","user":"bob"}"#, headers: Self.bearer("chat"))
            #expect(try any.value("user") == "bob")
        }
    }

    @Test func anonymousCallersMayDoWhatIsConfigured() async throws {
        try await withTokens { (bench: Bench) async throws in
            #expect(try await bench.call(.get, Self.messages).status == 200)
            #expect(try await bench.call(.post, Self.messages, #"{"text":"x"}"#).status == 401)
        }
        try await withTokens(["playback.key": ["playback-key-0123456789"]]) { (bench: Bench) async throws in
            #expect(try await bench.call(.get, Self.messages).status == 401)
        }
        try await withTokens(["channel.anonymousWriting": ["true"]]) { bench in
            let sent = try await bench.call(.post, Self.messages, #"{"text":"x","name":"Zoe"}"#)
            #expect(sent.status == 201)
            #expect(try sent.value("user") == nil)
            #expect(try sent.value("name") == "Zoe")
            #expect(try await bench.call(.post, Self.messages, #"{"text":"x","user":"alice"}"#).status == 403)
        }
    }

    @Test func aSignedURLNamesItsUser() async throws {
        try await withTokens(["channel.key": [Self.key], "channel.anonymousReading": ["false"]]) { bench in
            let time = Int(Date.now.timeIntervalSince1970) + 60
            func signed(_ path: String, uid: String = "alice", at time: Int = time) -> String {
                path + "?auth_key=" + PlaybackAccess.authKey(path: path, time: time, uid: uid, key: Self.key)
            }
            let sent = try await bench.call(.post, signed(Self.messages), #"{"text":"x"}"#)
            #expect(sent.status == 201)
            #expect(try sent.value("user") == "alice")
            #expect(try await bench.call(.post, signed(Self.messages), #"{"text":"x","user":"bob"}"#).status == 403)
            #expect(try await bench.call(.post, signed(Self.messages, uid: "0"), #"{"text":"x"}"#).value("user") == nil)
            #expect(try await bench.call(.get, signed(Self.messages)).status == 200)
            #expect(try await bench.call(.head, signed(Self.channel)).status == 200)
            let expired = try await bench.call(.get, signed(Self.messages, at: time - 120))
            #expect(expired.status == 403)
            #expect(try expired.value("type") == "urn:mixorchestrator:problem:channel-refused")
            let foreign = signed("/v1/rooms/other/messages").replacing("other", with: "demo")
            #expect(try await bench.call(.get, foreign).status == 403)
        }
    }

    @Test func pagesOfThePlaybackOriginsMayTakePart() async throws {
        try await withTokens(["playback.cors": ["https://app.example"]]) { bench in
            var headers = Self.bearer("alice")
            headers[.origin] = "https://app.example"
            let sent = try await bench.call(.post, Self.messages, #"{"text":"x"}"#, headers: headers)
            #expect(sent.headers[.accessControlAllowOrigin] == "https://app.example")
            let refused = try await bench.call(.post, Self.messages, #"{"text":" "}"#, headers: headers)
            #expect(refused.status == 422 && refused.headers[.accessControlAllowOrigin] == "https://app.example")
            let preflight = try await bench.call(.options, Self.messages, headers: headers)
            #expect(preflight.status == 204)
            #expect(preflight.headers[.accessControlAllowMethods] == "GET, HEAD, OPTIONS, POST")
            #expect(preflight.headers[.accessControlAllowHeaders]?.contains("Last-Event-ID") == true)
            headers[.origin] = "https://evil.example"
            let foreign = try await bench.call(.get, Self.messages, headers: headers)
            #expect(foreign.headers[.accessControlAllowOrigin] == nil)
        }
    }
}
