import Foundation
import TestSupport
import Testing

/// The events of apps for live rooms over Socket.IO, in the channels of a service that runs as `serve` does.
@Suite(.timeLimit(.minutes(5))) struct SocketIORoomTests {
    private static func connect(
        _ service: LiveService, _ query: String = "transport=websocket"
    ) async throws -> SocketIORoomClient {
        try await SocketIORoomClient.connect(port: service.port, query)
    }

    private static func run(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (LiveService) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withLiveService(directory: directory, settings: settings, body)
        }
    }

    private static func rooms(_ service: LiveService) async throws -> String {
        try #require(await HTTPExchange(port: service.port, "GET", "/rooms").answer()).text
    }

    @Test func aRoomFromItsBeginningToItsEnd() async throws {
        try await Self.run { service in
            let host = try await Self.connect(service)
            #expect(try await host.call("create_room", #"{"title":"My show","key":"show"}"#).contains(#""ok":true"#))
            #expect(try await Self.rooms(service) == #"[{"key":"show","title":"My show"}]"#)
            let viewer = try await Self.connect(service)
            let joined = try await viewer.call("join_room", "\"show\"")
            #expect(joined.contains(#""isLive":true"#) && joined.contains(#""viewers":2"#), "\(joined)")
            #expect(try await host.next(#"42["viewers""#).contains(#""roomKey":"show""#))
            // All participants get all comments, including their own.
            #expect(try await viewer.call("comment", #"{"roomKey":"show","text":"héllo 😀"}"#).contains(#""ok":true"#))
            let comment = try await host.next(#"42["comment""#)
            #expect(comment.contains(#""roomKey":"show""#) && comment.contains(#""text":"héllo 😀""#))
            await viewer.socket.send(text: #"42["upvote","show"]"#)
            #expect(try await viewer.next(#"42["upvote""#).contains(#""count":1"#))
            let gift = #"{"roomKey":"show","senderId":7,"giftId":2,"giftCount":3}"#
            #expect(try await host.call("gift", gift).contains(#""ok":true"#))
            let got = try await viewer.next(#"42["gift""#)
            for field in [#""giftCount":3"#, #""giftId":2"#, #""senderId":7"#, #""count":3"#] {
                #expect(got.contains(field), "\(got)")
            }
            // The channel's other interface has the comment too.
            let history = try #require(
                await HTTPExchange(port: service.port, "GET", "/v1/rooms/show/messages").answer())
            #expect(history.text.contains("héllo 😀"))
            let late = try await Self.connect(service)
            #expect(try await late.call("join_room", "\"show\"").contains("héllo 😀"))
            // Only the participant that opened the room may close it.
            #expect(try await viewer.call("close_room", "\"show\"").contains(#""code":"channel-not-opener""#))
            #expect(try await host.call("close_room", "\"show\"").contains(#""ok":true"#))
            _ = try await viewer.next(#"42["ended",{"roomKey":"show"}]"#)
            _ = try await viewer.next(#"42["room_closed",{"roomKey":"show"}]"#)
            #expect(try await Self.rooms(service) == "[]")
        }
    }

    @Test func theRoomOfAHostWhoGoesIsClosed() async throws {
        try await Self.run { service in
            let host = try await Self.connect(service)
            // Older clients create a room in this form.
            #expect(try await host.call("create_room", "\"show\"").contains(#""ok":true"#))
            let viewer = try await Self.connect(service)
            #expect(try await viewer.call("join_room", "\"show\"").contains(#""ok":true"#))
            await host.socket.disconnect()
            _ = try await viewer.next(#"42["room_closed",{"roomKey":"show"}]"#)
        }
    }

    /// A lost connection ends after its client has connected again and opened the room again.
    @Test func theRoomOfAHostWhoConnectsAgainStaysOpen() async throws {
        let tokens = [
            "apps.0.id": ["shop"], "apps.0.tokens.0.token": ["token-of-the-host-0123"],
            "apps.0.tokens.0.scopes": ["chat", "publish"], "apps.0.tokens.0.user": ["alice"],
        ]
        try await Self.run(tokens) { service in
            let query = "transport=websocket&token=token-of-the-host-0123"
            let (lost, host) = (try await Self.connect(service, query), try await Self.connect(service, query))
            for room in ["show", "a", "b", "c", "d"] {
                #expect(try await lost.call("create_room", "\"\(room)\"").contains(#""ok":true"#))
                let event = room == "show" ? "create_room" : "join_room"
                #expect(try await host.call(event, "\"\(room)\"").contains(#""ok":true"#))
            }
            await lost.socket.disconnect()
            for _ in 0..<4 {
                let closed = try await host.next(#"42["room_closed""#)
                #expect(!closed.contains("show"))
            }
            let viewer = try await Self.connect(service, query)
            #expect(try await viewer.call("join_room", "\"show\"").contains(#""isLive":true"#))
            // The room closes with the last connection that has opened it.
            await host.socket.disconnect()
            _ = try await viewer.next(#"42["room_closed",{"roomKey":"show"}]"#)
        }
    }

    @Test func weakSpotsAreNot() async throws {
        try await Self.run { service in
            let host = try await Self.connect(service)
            for argument in ["null", "{}", "{\"key\":null}", "7", "\"\""] {
                #expect(try await host.call("create_room", argument).contains(#""ok":false"#), "\(argument)")
            }
            #expect(try await host.call("create_room", "\"show\"").contains(#""ok":true"#))
            let stranger = try await Self.connect(service)
            #expect(try await stranger.call("create_room", "\"show\"").contains(#""code":"channel-not-opener""#))
            for (event, argument) in [
                ("comment", #"{"roomKey":"show","text":"hi"}"#), ("upvote", "\"show\""),
                ("gift", #"{"roomKey":"show","giftId":1}"#),
            ] {
                #expect(try await stranger.call(event, argument).contains(#""code":"room-not-joined""#), "\(event)")
            }
            // Without an acknowledgement, a refusal is an event.
            await stranger.socket.send(text: #"42["comment",{"roomKey":"show","text":"hi"}]"#)
            #expect(try await stranger.next(#"42["refused""#).contains(#""event":"comment""#))
            #expect(try await stranger.call("join_room", "\"nowhere\"").contains(#""ok":false"#))
            #expect(try await stranger.call("nonsense", "1") == "431[]")
            for number in 1...4 {
                #expect(try await host.call("create_room", "\"room-\(number)\"").contains(#""ok":true"#))
            }
            #expect(try await host.call("create_room", "\"room-5\"").contains(#""code":"too-many-rooms""#))
        }
    }

    @Test func aRefusedTitleLeavesNoRoom() async throws {
        try await Self.run { service in
            let host = try await Self.connect(service)
            let title = String(repeating: "x", count: 65)
            let answer = try await host.call("create_room", #"{"key":"show","title":"\#(title)"}"#)
            #expect(answer.contains(#""code":"channel-name-too-long""#), "\(answer)")
            let isGone = try await poll(within: .seconds(30), every: .milliseconds(20)) {
                try await HTTPExchange(port: service.port, "GET", "/v1/rooms/show").answer()?.status == 404 ? true : nil
            }
            #expect(isGone == true)
            #expect(try await host.call("create_room", #"{"key":"show","title":"x"}"#).contains(#""ok":true"#))
        }
    }

    @Test func anonymousClientsMayWatchOnly() async throws {
        let tokens = [
            "apps.0.id": ["shop"], "apps.0.tokens.0.token": ["token-of-the-host-0123"],
            "apps.0.tokens.0.scopes": ["chat", "publish"], "channel.anonymousReading": ["true"],
        ]
        try await Self.run(tokens) { service in
            let host = try await Self.connect(service, "transport=websocket&token=token-of-the-host-0123")
            #expect(try await host.call("create_room", "\"show\"").contains(#""ok":true"#))
            let viewer = try await Self.connect(service, "transport=websocket&app=shop")
            #expect(try await viewer.call("join_room", "\"show\"").contains(#""ok":true"#))
            for (event, argument) in [
                ("create_room", "\"mine\""), ("comment", #"{"roomKey":"show","text":"hi"}"#),
            ] {
                #expect(try await viewer.call(event, argument).contains(#""code":"scope-missing""#))
            }
            #expect(try await host.call("comment", #"{"roomKey":"show","text":"hi"}"#).contains(#""ok":true"#))
            _ = try await viewer.next(#"42["comment""#)
            // The list of rooms says what is wrong with a request.
            for (query, status, code) in [
                ("app=shop", 200, "show"), ("app=nowhere", 422, "invalid-field"),
                ("app=default&token=token-of-the-host-0123", 403, "app-forbidden"),
                ("token=wrong", 401, "unauthorized"),
            ] {
                let path = "/rooms?\(query)"
                let answer = try #require(await HTTPExchange(port: service.port, "GET", path).answer())
                #expect(answer.status == status && answer.text.contains(code), "\(answer.text)")
            }
        }
    }

    @Test func itIsOffWithoutChannels() async throws {
        try await Self.run(["channel.enabled": ["false"]]) { service in
            for path in ["/socket.io/?EIO=4&transport=polling", "/rooms"] {
                let answer = try #require(await HTTPExchange(port: service.port, "GET", path).answer())
                #expect(answer.status == 404 && answer.text.contains("socketio-off"))
            }
        }
    }

    /// Unchanged clients of apps: both versions of the Python client, over polling, over a WebSocket, and with an
    /// upgrade.
    @Test(arguments: ["4", "3"]) func pythonClients(version: String) async throws {
        try await Self.run { service in
            let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardizedFileURL
            let output = try await outputOfShell(
                "\(root.path)/scripts/socketio-client.sh \(version) http://127.0.0.1:\(service.port) 2>&1")
            #expect(output.hasSuffix("socketio-client: all well\n"), "\(output)")
        }
    }
}
