import EventSubscription
import Foundation
import HTTPInterface
import MixModel
import RoomService
import TestSupport
import Testing

/// Web Call Server's interface with a WebSocket client that was written from the documented protocol.
@Suite(.timeLimit(.minutes(5))) struct WCSTests {
    private static func target(_ user: UserID, _ stream: StreamKind = .camera) -> WebRTCPlayTarget {
        .participant(StreamNames(room: RoomID(app: .standard, name: "lobby"), user: user, stream: stream))
    }

    @Test func theTwoWayStreamingPagePublishesAndStops() async throws {
        try await WCSStage.run { stage in
            let client = try await stage.connect()
            #expect(try await client.next().name == "getUserData")
            #expect(try await client.nextWithPings().name == "ping")
            await client.send("pong", "null")
            await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
            let answer = try await client.next().data
            #expect(answer.count == 3 && answer[2] as? Bool == true)
            #expect(answer.prefix(2).map { $0 as? String } == ["id-1", "v=0 answer of session-1"])
            #expect(try await client.status() == ["id-1", "PENDING"])
            let opened = try #require(stage.door.opened["session-1"])
            #expect(opened.target == Self.target("ann"))
            opened.change(.connected)
            #expect(try await client.status() == ["id-1", "PUBLISHING"])
            // The name is taken, for this client and for others.
            let other = try await stage.connect()
            _ = try await other.next()
            await other.send("publishStream", WCSStage.stream("id-2", "ann#lobby", WCSStage.offer))
            #expect(try await other.status() == ["id-2", "FAILED", "Stream name is already in use"])
            await client.send("unPublishStream", WCSStage.stream("id-1", "ann#lobby"))
            #expect(try await client.status() == ["id-1", "UNPUBLISHED", "Stopped by user"])
            #expect(stage.door.closed == ["session-1"])
            // The name is free again.
            await other.send("publishStream", WCSStage.stream("id-3", "ann#lobby#desktop", WCSStage.offer))
            #expect(try await other.next().name == "setRemoteSDP")
            #expect(stage.door.opened["session-2"]?.target == Self.target("ann", .screen))
        }
    }

    @Test func aSocketThatClosesEndsItsStreams() async throws {
        try await WCSStage.run { stage in
            let client = try await stage.connect()
            _ = try await client.next()
            await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
            _ = try await client.next()
            await client.socket.disconnect()
            try await eventually { stage.door.closed == ["session-1"] ? true : nil }
        }
    }

    @Test func aStreamThatEndsIsReported() async throws {
        try await WCSStage.run { stage in
            let client = try await stage.connect()
            _ = try await client.next()
            let ends: [(cause: WebRTCEndCause?, info: String)] = [
                (nil, "Failed by RTP activity"), (.streamReplaced, "Stream name is already in use"),
                (.streamRefused, "Restricted access"),
            ]
            for (index, end) in ends.enumerated() {
                await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
                _ = try await client.next()
                #expect(try await client.status() == ["id-1", "PENDING"])
                stage.door.opened["session-\(index + 1)"]?.change(.ended(reason: "any words", cause: end.cause))
                #expect(try await client.status() == ["id-1", "FAILED", end.info])
            }
            await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", #","sdp":"nothing""#))
            #expect(try await client.status() == ["id-1", "FAILED", "No common codecs"])
            await client.send("publishStream", WCSStage.stream("id-1", "nameless", WCSStage.offer))
            #expect(try await client.status() == ["id-1", "FAILED", "Restricted access"])
        }
    }

    @Test func streamsOfRoomsAreAvailable() async throws {
        try await WCSStage.run { stage in
            let client = try await stage.connect()
            _ = try await client.next()
            _ = try await stage.rest(
                "/v1/rooms/lobby/events", #"{"type":"stream.published","user":"bob","url":"rtmp://127.0.0.1/live/bob"}"#
            )
            await client.send("availableStream", WCSStage.stream("q", "bob#lobby"))
            #expect(try await client.next().text("status") == "true")
            await client.send("availableStream", WCSStage.stream("q", "carol#lobby"))
            #expect(try await client.next().text("status") == "false")
            await client.send("playStream", WCSStage.stream("p", "carol#lobby", WCSStage.offer))
            #expect(try await client.status() == ["p", "FAILED", "Stream not found"])
        }
    }

    @Test func oneClientWatchesAnother() async throws {
        try await WCSStage.run { stage in
            let publisher = try await stage.enter()
            await publisher.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
            #expect(try await publisher.next().name == "setRemoteSDP")
            #expect(try await publisher.status() == ["id-1", "PENDING"])
            _ = try await stage.rest(
                "/v1/rooms/lobby/events", #"{"type":"stream.published","user":"ann","url":"rtmp://127.0.0.1/live/ann"}"#
            )
            // Two players on one connection: one of the stream, and one of the room's program.
            let viewer = try await stage.enter()
            await viewer.send("playStream", WCSStage.stream("p-1", "ann#lobby", WCSStage.offer))
            let answer = try await viewer.next()
            #expect(answer.name == "setRemoteSDP" && answer.data.first as? String == "p-1")
            #expect(try await viewer.status() == ["p-1", "PENDING"])
            await viewer.send("playStream", WCSStage.stream("p-2", "lobby", WCSStage.offer))
            #expect(try await viewer.next().name == "setRemoteSDP")
            #expect(try await viewer.status() == ["p-2", "PENDING"])
            #expect(stage.door.opened["view-2"]?.target == Self.target("ann"))
            #expect(
                stage.door.opened["view-3"]?.target == .program(RoomID(app: .standard, name: "lobby")))
            stage.door.opened["view-2"]?.change(.connected)
            #expect(try await viewer.status() == ["p-1", "PLAYING"])
            // A player receives the messages that its stream's publisher sends.
            await publisher.send("sendStreamEvent", #"{"mediaSessionId":"id-1","type":"data","payload":{"count":23}}"#)
            let event = try await viewer.next()
            #expect(event.name == "notifyStreamEvent" && event.text("mediaSessionId") == "p-1")
            #expect(event.text("type") == "data")
            await publisher.send("sendStreamEvent", #"{"mediaSessionId":"id-1","type":"audioMuted"}"#)
            #expect(try await viewer.next().text("type") == "audioMuted")
            await publisher.send("unPublishStream", WCSStage.stream("id-1", "ann#lobby"))
            #expect(try await viewer.status() == ["p-1", "FAILED", "Stopped by publisher stop"])
            // Two connections close them.
            try await eventually { stage.door.closed.sorted() == ["session-1", "view-2"] ? true : nil }
            await viewer.send("stopStream", WCSStage.stream("p-2", "lobby"))
            #expect(try await viewer.status() == ["p-2", "STOPPED", "Stopped by user"])
            #expect(stage.door.closed.contains("view-3"))
        }
    }

    @Test func aSocketThatClosesEndsItsPlayers() async throws {
        try await WCSStage.run { stage in
            _ = try await stage.rest(
                "/v1/rooms/lobby/events", #"{"type":"stream.published","user":"ann","url":"rtmp://127.0.0.1/live/ann"}"#
            )
            let viewer = try await stage.enter()
            for name in ["carol#lobby", "nowhere", "", "a#b#c#d"] {
                await viewer.send("playStream", WCSStage.stream("p-1", name, WCSStage.offer))
                #expect(try await viewer.status() == ["p-1", "FAILED", "Stream not found"], "\(name)")
            }
            await viewer.send("playStream", WCSStage.stream("p-1", "ann#lobby", #","sdp":"nothing""#))
            #expect(try await viewer.status() == ["p-1", "FAILED", "No common codecs"])
            await viewer.send("playStream", WCSStage.stream("p-1", "ann#lobby", WCSStage.offer))
            #expect(try await viewer.next().name == "setRemoteSDP")
            #expect(try await viewer.status() == ["p-1", "PENDING"])
            await viewer.socket.disconnect()
            try await eventually { stage.door.closed == ["view-1"] ? true : nil }
        }
    }

    @Test func withTokensAClientShowsOne() async throws {
        let token = "0123456789abcdef-publish"
        try await WCSStage.run([
            "apps.0.id": ["default"], "apps.0.tokens.0.token": [token],
            "apps.0.tokens.0.scopes": ["publish", "read", "tasks"],
            "apps.0.tokens.1.token": ["0123456789abcdef-read"], "apps.0.tokens.1.scopes": ["read"],
        ]) { stage in
            let stranger = try await stage.connect(token: "x")
            #expect(try await stranger.next().text("info") == "a token with the scope publish or read is required")
            #expect(await stranger.socket.rest().compactMap(\.code) == [1008])
            // The scope `read` allows playing and nothing else.
            let viewer = try await stage.connect(token: "0123456789abcdef-read")
            #expect(try await viewer.next().name == "getUserData")
            await viewer.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
            #expect(try await viewer.status() == ["id-1", "FAILED", "Restricted access"])
            let client = try await stage.connect(token: token)
            #expect(try await client.next().name == "getUserData")
        }
    }

    @Test func webPagesAreKeptOutWithoutTokens() async throws {
        try await WCSStage.run { stage in
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
        try await WCSStage.run(["wcs.enabled": ["false"]]) { stage in
            let client = try await WebSocketClient.open(port: stage.service.port)
            #expect(!client.head.contains("101"))
            #expect(try await stage.rest("/rest-api/stream/find_all", "{}").contains("wcs-call-not-found"))
        }
    }

    // MARK: REST

    @Test func streamsAreListedAndEnded() async throws {
        try await WCSStage.run { stage in
            #expect(try await stage.rest("/rest-api/stream/find_all", "").hasSuffix("404"))
            let client = try await stage.connect()
            _ = try await client.next()
            await client.send("publishStream", WCSStage.stream("id-1", "ann#lobby", WCSStage.offer))
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

    @Test func connectionsAreListedAndEnded() async throws {
        try await WCSStage.run { stage in
            #expect(try await stage.rest("/rest-api/connection/find_all", "").hasSuffix("404"))
            let client = try await stage.enter()
            let list = try await stage.rest("/rest-api/connection/find_all", "")
            let id = try #require(list.firstMatch(of: /"sessionId":"([^"]+)"/)?.1)
            #expect(id.hasPrefix("/127.0.0.1:") && list.contains(#""appKey":"defaultApp""#) && list.hasSuffix("200"))
            #expect(!list.contains("authToken"))
            #expect(try await stage.rest("/rest-api/connection/terminate", #"{"sessionId":"/1"}"#).hasSuffix("404"))
            #expect(try await stage.rest("/rest-api/connection/terminate", #"{"sessionId":"\#(id)"}"#) == "200")
            #expect(await client.socket.rest().compactMap(\.code) == [1000])
            try await eventually {
                try await stage.rest("/rest-api/connection/find_all", "").hasSuffix("404") ? true : nil
            }
        }
    }

    @Test func aMixerIsATaskWithPushes() async throws {
        try await WCSStage.run(["outputs.allow": ["rtmp://127.0.0.1"]]) { stage in
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
            // The plan has two panes, a canvas of 640x360, and the push.
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

    /// Only the URLs of the service's own ingest are no pulls; others may have the same application.
    @Test func aPullMayHaveAnyApplication() async throws {
        try await WCSStage.run(["sources.allow": ["rtmp://127.0.0.1"]]) { stage in
            let uri = "rtmp://127.0.0.1/relay/alice"
            let answer = try await stage.rest(
                "/rest-api/pull/pull", #"{"uri":"\#(uri)","localStreamName":"bob#lobby"}"#)
            #expect(answer == "200")
            #expect(try await stage.rest("/rest-api/pull/find_all", "").contains("bob#lobby"))
            #expect(try await stage.rest("/rest-api/pull/terminate", #"{"uri":"\#(uri)"}"#) == "200")
            #expect(try await stage.rest("/rest-api/pull/find_all", "").hasSuffix("404"))
        }
    }

    /// Answers have at most 1000 streams, but a call that names one finds it among any number.
    @Test func aStreamIsFoundAmongMoreThanAThousand() async throws {
        try await WCSStage.run(["sources.allow": ["rtmp://127.0.0.1"]]) { stage in
            let streams = (0..<251).map { #"{"user":"u\#($0)","url":"rtmp://127.0.0.1/live/u\#($0)"}"# }
            let body = #"{"streams":[\#(streams.joined(separator: ","))]}"#
            for room in ["a", "b", "c", "d"] {
                let answer = try await outputOfShell(
                    "curl -sS -m 60 -X PUT -w '%{http_code}' "
                        + "http://127.0.0.1:\(stage.service.port)/v1/rooms/\(room)/streams -d '\(body)' 2>&1")
                #expect(answer.hasSuffix("202"), "\(answer)")
            }
            let uri = "rtmp://127.0.0.1/live/pulled"
            let pull = #"{"uri":"\#(uri)","localStreamName":"zoe#lobby"}"#
            #expect(try await stage.rest("/rest-api/pull/pull", pull) == "200")
            let found = try await stage.rest("/rest-api/stream/find", #"{"name":"zoe#lobby"}"#)
            #expect(found.contains(#""name":"zoe#lobby""#) && found.hasSuffix("200"), "\(found)")
            #expect(try await stage.rest("/rest-api/pull/terminate", #"{"uri":"\#(uri)"}"#) == "200")
            #expect(try await stage.rest("/rest-api/stream/find", #"{"name":"zoe#lobby"}"#).hasSuffix("404"))
        }
    }

    @Test func aStreamIsPulledAndPushed() async throws {
        try await WCSStage.run(["outputs.allow": ["rtmp://127.0.0.1"], "sources.allow": ["rtmp://127.0.0.1"]]) {
            stage in
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
