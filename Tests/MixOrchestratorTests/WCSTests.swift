import EventSubscription
import Foundation
import HTTPInterface
import MixModel
import RoomService
import ServiceLifecycle
import Synchronization
import TaskStore
import TestSupport
import Testing

@testable import MixOrchestrator

/// Web Call Server's interface as its clients see it: a WebSocket client of the tests' own, written from the wire facts.
@Suite(.timeLimit(.minutes(5))) struct WCSTests {
    /// Stands for the supervisor of WebRTC workers: answers, and does what a test says.
    fileprivate final class Door: WebRTCDoor {
        struct Opened: Sendable {
            let names: StreamNames
            let change: @Sendable (WebRTCNews) -> Void
        }
        private let state = Mutex((opened: [String: Opened](), closed: [String](), count: 0))

        var opened: [String: Opened] { state.withLock { $0.opened } }
        var closed: [String] { state.withLock { $0.closed } }

        func open(
            _ names: StreamNames, offer: String, address: String,
            onChange: @escaping @Sendable (WebRTCNews) -> Void
        ) async throws(OrchestratorError) -> WebRTCDoorSession {
            guard offer.hasPrefix("v=0") else {
                throw OrchestratorError(.invalid, "offer", "No H.264", detail: "no H.264")
            }
            let id = state.withLock { state in
                state.count += 1
                let id = "session-\(state.count)"
                state.opened[id] = Opened(names: names, change: onChange)
                return id
            }
            return WebRTCDoorSession(id: id, answer: "v=0 answer of \(id)")
        }

        func close(_ session: String, of app: AppID) { state.withLock { $0.closed.append(session) } }
    }

    fileprivate struct Stage: Sendable {
        let service: LiveService
        let door: Door

        func connect(token: String? = nil, headers: [String: String] = [:]) async throws -> WCSTestClient {
            let socket = try await WebSocketClient.open(port: service.port, headers: headers)
            let client = WCSTestClient(socket: socket)
            await client.send(
                "connection", #"{"appKey":"defaultApp","authToken":"\#(token ?? "x")","mediaProviders":["WebRTC"]}"#)
            return client
        }
    }

    private func withService(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (Stage) async throws -> Void
    ) async throws {
        let door = Door()
        try await withDirectory { directory in
            try await withLiveService(
                directory: directory, settings: ["wcs.enabled": ["true"]].merging(settings) { $1 }, door: door
            ) { service in
                try await body(Stage(service: service, door: door))
            }
        }
    }

    private static func stream(_ id: String, _ name: String, _ more: String = "") -> String {
        #"{"mediaSessionId":"\#(id)","name":"\#(name)","hasVideo":true,"hasAudio":true\#(more)}"#
    }

    private static let offer = #","sdp":"v=0","mediaProvider":"WebRTC""#

    @Test func theTwoWayStreamingPagePublishesAndStops() async throws {
        try await withService { stage in
            let client = try await stage.connect()
            #expect(try await client.next().name == "getUserData")
            #expect(try await client.nextWithPings().name == "ping")
            await client.send("pong", "null")
            await client.send("publishStream", Self.stream("id-1", "ann#lobby", Self.offer))
            let answer = try await client.next().data
            #expect(answer.count == 3 && answer[2] as? Bool == true)
            #expect(answer.prefix(2).map { $0 as? String } == ["id-1", "v=0 answer of session-1"])
            #expect(try await client.status() == ["id-1", "PENDING"])
            let opened = try #require(stage.door.opened["session-1"])
            #expect(
                opened.names
                    == StreamNames(room: RoomID(app: .standard, name: "lobby"), user: UserID("ann"), stream: .camera))
            opened.change(.connected)
            #expect(try await client.status() == ["id-1", "PUBLISHING"])
            // The name is taken, for this client and for others.
            let other = try await stage.connect()
            _ = try await other.next()
            await other.send("publishStream", Self.stream("id-2", "ann#lobby", Self.offer))
            #expect(try await other.status() == ["id-2", "FAILED", "Stream name is already in use"])
            await client.send("unPublishStream", Self.stream("id-1", "ann#lobby"))
            #expect(try await client.status() == ["id-1", "UNPUBLISHED", "Stopped by user"])
            #expect(stage.door.closed == ["session-1"])
            // And free again.
            await other.send("publishStream", Self.stream("id-3", "ann#lobby#desktop", Self.offer))
            #expect(try await other.next().name == "setRemoteSDP")
            #expect(stage.door.opened["session-2"]?.names.stream == .screen)
        }
    }

    @Test func aSocketThatClosesEndsItsStreams() async throws {
        try await withService { stage in
            let client = try await stage.connect()
            _ = try await client.next()
            await client.send("publishStream", Self.stream("id-1", "ann#lobby", Self.offer))
            _ = try await client.next()
            await client.socket.disconnect()
            try await eventually { stage.door.closed == ["session-1"] ? true : nil }
        }
    }

    @Test func aStreamThatEndsIsReported() async throws {
        try await withService { stage in
            let client = try await stage.connect()
            _ = try await client.next()
            await client.send("publishStream", Self.stream("id-1", "ann#lobby", Self.offer))
            _ = try await client.next()
            #expect(try await client.status() == ["id-1", "PENDING"])
            stage.door.opened["session-1"]?.change(.ended(reason: "no media"))
            #expect(try await client.status() == ["id-1", "FAILED", "Failed by RTP activity"])
            await client.send("publishStream", Self.stream("id-1", "ann#lobby", #","sdp":"nothing""#))
            #expect(try await client.status() == ["id-1", "FAILED", "No common codecs"])
            await client.send("publishStream", Self.stream("id-1", "nameless", Self.offer))
            #expect(try await client.status() == ["id-1", "FAILED", "Restricted access"])
        }
    }

    @Test func streamsOfRoomsAreAvailable() async throws {
        try await withService { stage in
            let client = try await stage.connect()
            _ = try await client.next()
            _ = try await stage.rest(
                "/v1/rooms/lobby/events", #"{"type":"stream.published","user":"bob","url":"rtmp://127.0.0.1/live/bob"}"#
            )
            await client.send("availableStream", Self.stream("q", "bob#lobby"))
            #expect(try await client.next().text("status") == "true")
            await client.send("availableStream", Self.stream("q", "carol#lobby"))
            #expect(try await client.next().text("status") == "false")
            await client.send("playStream", Self.stream("p", "carol#lobby", Self.offer))
            #expect(try await client.status() == ["p", "FAILED", "Stream not found"])
        }
    }

    @Test func withTokensAClientShowsOne() async throws {
        let token = "0123456789abcdef-publish"
        try await withService([
            "apps.0.id": ["default"], "apps.0.tokens.0.token": [token],
            "apps.0.tokens.0.scopes": ["publish", "read", "tasks"],
            "apps.0.tokens.1.token": ["0123456789abcdef-read"], "apps.0.tokens.1.scopes": ["read"],
        ]) { stage in
            for wrong in ["x", "0123456789abcdef-read"] {
                let stranger = try await stage.connect(token: wrong)
                #expect(await stranger.socket.rest().compactMap(\.code) == [1008])
            }
            let client = try await stage.connect(token: token)
            #expect(try await client.next().name == "getUserData")
        }
    }

    @Test func webPagesAreKeptOutWithoutTokens() async throws {
        try await withService { stage in
            let page = try await WebSocketClient.open(
                port: stage.service.port, headers: ["Origin": "https://evil.example"])
            #expect(page.head.hasPrefix("HTTP/1.1 403 "))
            let rebound = try await WebSocketClient.open(port: stage.service.port, headers: ["Host": "evil.example"])
            #expect(rebound.head.hasPrefix("HTTP/1.1 421 "))
            let own = try await WebSocketClient.open(
                port: stage.service.port, headers: ["Origin": "http://localhost:8000"])
            #expect(own.head.hasPrefix("HTTP/1.1 101 "))
        }
    }

    @Test func offByDefault() async throws {
        try await withService(["wcs.enabled": ["false"]]) { stage in
            let client = try await WebSocketClient.open(port: stage.service.port)
            #expect(!client.head.contains("101"))
            #expect(try await stage.rest("/rest-api/stream/find_all", "{}").contains("wcs-call-not-found"))
        }
    }

    // MARK: REST

    @Test func streamsAreListedAndEnded() async throws {
        try await withService { stage in
            #expect(try await stage.rest("/rest-api/stream/find_all", "").hasSuffix("404"))
            let client = try await stage.connect()
            _ = try await client.next()
            await client.send("publishStream", Self.stream("id-1", "ann#lobby", Self.offer))
            _ = try await client.next()
            #expect(try await client.status() == ["id-1", "PENDING"])
            let list = try await stage.rest("/rest-api/stream/find_all", "")
            #expect(list.contains(#""mediaSessionId":"id-1""#) && list.contains(#""name":"ann#lobby""#), "\(list)")
            #expect(try await stage.rest("/rest-api/stream/find", #"{"name":"bob#lobby"}"#).hasSuffix("404"))
            #expect(try await stage.rest("/rest-api/stream/terminate", #"{"mediaSessionId":"id-9"}"#).hasSuffix("404"))
            #expect(try await stage.rest("/rest-api/stream/terminate", #"{"mediaSessionId":"id-1"}"#) == "200")
            #expect(try await client.status() == ["id-1", "UNPUBLISHED", "Stopped by rest /terminate"])
            #expect(stage.door.closed == ["session-1"])
        }
    }

    @Test func aMixerIsATaskWithPushes() async throws {
        try await withService(["outputs.allow": ["rtmp://127.0.0.1"]]) { stage in
            let startup =
                #"{"uri":"mixer://m1","localStreamName":"mixed","hasVideo":"true","hasAudio":"true","mixerVideoWidth":"640","mixerVideoHeight":360,"mixerVideoFps":25}"#
            #expect(try await stage.rest("/rest-api/mixer/startup", startup) == "200")
            #expect(try await stage.rest("/rest-api/mixer/startup", startup).hasSuffix("409"))
            for user in ["bob", "carol"] {
                _ = try await stage.rest(
                    "/v1/rooms/lobby/events",
                    #"{"type":"stream.published","user":"\#(user)","url":"rtmp://127.0.0.1/live/\#(user)"}"#)
            }
            #expect(
                try await stage.rest("/rest-api/mixer/add", #"{"uri":"mixer://m1","remoteStreamName":"dave#lobby"}"#)
                    .hasSuffix("404"))
            #expect(
                try await stage.rest("/rest-api/mixer/add", #"{"uri":"mixer://m2","remoteStreamName":"bob#lobby"}"#)
                    .hasSuffix("404"))
            #expect(
                try await stage.rest(
                    "/rest-api/mixer/add", #"{"uri":"mixer://m1","streams":["bob#lobby","carol#lobby"]}"#) == "200")
            let list = try await stage.rest("/rest-api/mixer/find_all", "")
            #expect(
                list.contains(#""remoteStreamName":"bob#lobby""#)
                    && list.contains(#""remoteStreamName":"carol#lobby""#), "\(list)")
            let push = try await stage.rest(
                "/rest-api/push/startup", #"{"streamName":"mixed","rtmpUrl":"rtmp://127.0.0.1/cdn"}"#)
            #expect(
                push.hasSuffix("200")
                    && !push.contains(
                        "rtmp_mixed\",\"soundEnabled\":false,\"rtmpUrl\":\"rtmp://127.0.0.1/cdn/rtmp_mixed"),
                "\(push)")
            // The program is planned: two panes, 640x360, and the push.
            let plan = try await eventually {
                stage.service.relays.started.compactMap(\.plan).last {
                    $0.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/cdn/rtmp_mixed"]
                }
            }
            #expect(plan.sources.count == 2)
            #expect(plan.scene.panes.count == 2)
            let id = try #require(push.firstMatch(of: /"mediaSessionId":"([^"]+)"/)?.1)
            #expect(try await stage.rest("/rest-api/push/find_all", "").contains(id))
            #expect(try await stage.rest("/rest-api/push/terminate", #"{"mediaSessionId":"\#(id)"}"#) == "200")
            #expect(try await stage.rest("/rest-api/push/find_all", "").hasSuffix("404"))
            #expect(
                try await stage.rest("/rest-api/mixer/remove", #"{"uri":"mixer://m1","remoteStreamName":"bob#lobby"}"#)
                    == "200")
            #expect(
                try await stage.rest("/rest-api/mixer/remove", #"{"uri":"mixer://m1","remoteStreamName":"bob#lobby"}"#)
                    .hasSuffix("404"))
            #expect(try await stage.rest("/rest-api/mixer/terminate", #"{"uri":"mixer://m1"}"#) == "200")
            #expect(try await stage.rest("/rest-api/mixer/find_all", "").hasSuffix("404"))
            #expect(try await stage.rest("/rest-api/mixer/terminate", #"{"uri":"mixer://m1"}"#).hasSuffix("404"))
        }
    }

    @Test func aStreamIsPulledAndPushed() async throws {
        try await withService(["outputs.allow": ["rtmp://127.0.0.1"], "sources.allow": ["rtmp://127.0.0.1"]]) { stage in
            let pull = #"{"uri":"rtmp://127.0.0.1/live/secret-key","localStreamName":"bob#lobby"}"#
            #expect(try await stage.rest("/rest-api/pull/pull", pull) == "200")
            let list = try await stage.rest("/rest-api/pull/find_all", "")
            #expect(list.contains("bob#lobby") && !list.contains("secret-key"), "\(list)")
            #expect(
                try await stage.rest(
                    "/rest-api/pull/pull", #"{"uri":"rtmp://10.0.0.1/live/x","localStreamName":"bob#lobby"}"#
                ).hasSuffix("422"))
            let push = try await stage.rest(
                "/rest-api/push/startup",
                #"{"streamName":"bob#lobby","rtmpUrl":"rtmp://127.0.0.1/cdn/whole","rtmpTransponderFullUrl":true}"#)
            #expect(push.hasSuffix("200"), "\(push)")
            try await eventually {
                stage.service.relays.started.contains {
                    $0.plan?.outputs.destinations.map(\.url) == ["rtmp://127.0.0.1/cdn/whole"]
                } ? true : nil
            }
            let id = try #require(push.firstMatch(of: /"mediaSessionId":"([^"]+)"/)?.1)
            #expect(try await stage.rest("/rest-api/push/terminate", #"{"mediaSessionId":"\#(id)"}"#) == "200")
            #expect(try await stage.rest("/rest-api/push/terminate", #"{"mediaSessionId":"\#(id)"}"#).hasSuffix("404"))
            #expect(
                try await stage.rest("/rest-api/pull/terminate", #"{"uri":"rtmp://127.0.0.1/live/secret-key"}"#)
                    == "200")
            #expect(try await stage.rest("/rest-api/pull/find_all", "").hasSuffix("404"))
        }
    }
}

extension WCSTests.Stage {
    /// Returns body and status of a call, one after the other.
    fileprivate func rest(_ path: String, _ body: String) async throws -> String {
        try await outputOfShell(
            "curl -sS -m 60 -X POST -w '%{http_code}' http://127.0.0.1:\(service.port)\(path) -d '\(body)' 2>&1")
    }
}

/// A client of Web Call Server's protocol.
private struct WCSTestClient: Sendable {
    struct Message: @unchecked Sendable {
        let name: String
        let data: [Any]

        func text(_ key: String) -> String? { (data.first as? [String: Any])?[key] as? String }
    }

    let socket: WebSocketClient

    func send(_ name: String, _ data: String) async {
        await socket.send(text: #"{"message":"\#(name)","data":[\#(data)]}"#)
    }

    func nextWithPings() async throws -> Message {
        let text = try #require(await socket.text())
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        return Message(
            name: try #require(object["message"] as? String), data: try #require(object["data"] as? [Any]))
    }

    func next() async throws -> Message {
        while true {
            let message = try await nextWithPings()
            if message.name != "ping" { return message }
        }
    }

    /// Identifier, status and info of the next status.
    func status() async throws -> [String] {
        let message = try await next()
        #expect(message.name == "notifyStreamStatusEvent")
        return ["mediaSessionId", "status", "info"].compactMap { message.text($0) }
    }
}
