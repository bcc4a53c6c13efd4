import Foundation
import TestSupport
import Testing

/// The cases of Engine.IO's public conformance suite, protocol 4. Messages are Socket.IO packets.
@Suite(.timeLimit(.minutes(5))) struct EngineIOSuiteTests {
    // MARK: Handshake

    @Test func pollingOpens() async throws {
        try await SocketIOStage.run { stage in
            let answer = try await stage.call("GET", SocketIOStage.four)
            #expect(answer.status == 200)
            #expect(answer.headers["content-type"] == "text/plain; charset=UTF-8")
            #expect(answer.headers["cache-control"] == "no-store")
            #expect(answer.text.hasPrefix("0"))
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(answer.body.dropFirst())) as? [String: Any])
            #expect(Set(object.keys) == ["sid", "upgrades", "pingInterval", "pingTimeout", "maxPayload"])
            #expect((object["sid"] as? String)?.count == 20)
            #expect(object["upgrades"] as? [String] == ["websocket"])
            #expect(object["pingInterval"] as? Int == 300)
            #expect(object["pingTimeout"] as? Int == 60_000)
            #expect(object["maxPayload"] as? Int == 1_000_000)
        }
    }

    @Test func pollingIsRefused() async throws {
        try await SocketIOStage.run { stage in
            for (method, query, body) in [
                ("GET", "transport=polling", #"{"code":5,"message":"Unsupported protocol version"}"#),
                ("GET", "EIO=abc&transport=polling", #"{"code":5,"message":"Unsupported protocol version"}"#),
                ("GET", "EIO=4", #"{"code":0,"message":"Transport unknown"}"#),
                ("GET", "EIO=4&transport=abc", #"{"code":0,"message":"Transport unknown"}"#),
                ("POST", SocketIOStage.four, #"{"code":2,"message":"Bad handshake method"}"#),
                ("PUT", SocketIOStage.four, #"{"code":2,"message":"Bad handshake method"}"#),
                ("GET", "EIO=4&transport=websocket", #"{"code":3,"message":"Bad request"}"#),
                ("GET", SocketIOStage.four + "&j=1", #"{"code":3,"message":"Bad request"}"#),
                ("GET", SocketIOStage.four + "&sid=abc", #"{"code":1,"message":"Session ID unknown"}"#),
            ] {
                let answer = try await stage.call(method, query)
                #expect(answer.status == 400, "\(query)")
                #expect(answer.text == body, "\(query)")
                #expect(answer.headers["content-type"] == "application/json")
            }
            #expect(try await stage.call("HEAD", SocketIOStage.four).status == 400)
            #expect(stage.server.counts == ["polling": 0, "websocket": 0])
        }
    }

    @Test func webSocketOpens() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.webSocket("EIO=4&transport=websocket")
            let open = try #require(await socket.text())
            #expect(open.hasPrefix("0{") && open.contains(#""upgrades":[]"#), "\(open)")
        }
    }

    @Test func webSocketIsRefused() async throws {
        try await SocketIOStage.run { stage in
            for query in [
                "transport=websocket", "EIO=abc&transport=websocket", "EIO=4", "EIO=4&transport=abc",
                "EIO=4&transport=polling", "EIO=4&transport=websocket&sid=abc",
            ] {
                let socket = try await stage.webSocket(query)
                #expect(socket.head.hasPrefix("HTTP/1.1 400 "), "\(query)")
                #expect(socket.head.lowercased().contains("content-type: application/json"))
            }
        }
    }

    // MARK: Message

    @Test func pollingCarriesMessages() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.connect()
            for (sent, received) in [
                (#"42["message","hello"]"#, #"42["message-back","hello"]"#),
                (
                    "42[\"message\",1]\u{1E}42[\"message\",2]\u{1E}42[\"message\",\"€😀\"]",
                    "42[\"message-back\",1]\u{1E}42[\"message-back\",2]\u{1E}42[\"message-back\",\"€😀\"]"
                ),
                (
                    "451-[\"message\",{\"_placeholder\":true,\"num\":0}]\u{1E}bAQIDBA==",
                    "451-[\"message-back\",{\"_placeholder\":true,\"num\":0}]\u{1E}bAQIDBA=="
                ),
            ] {
                let posted = try await stage.call("POST", query, sent)
                #expect(posted.status == 200 && posted.text == "ok")
                #expect(posted.headers["content-type"] == "text/html")
                #expect(try await stage.call("GET", query).text == received)
            }
        }
    }

    @Test func aPayloadThatIsNoneClosesTheConnection() async throws {
        try await SocketIOStage.run { stage in
            let query = try await stage.open()
            #expect(try await stage.call("POST", query, "abc").status == 400)
            #expect(try await stage.call("GET", query).status == 400)
            let binary = try await stage.open()
            let answer = try await stage.call(
                "POST", binary, "4a", headers: ["Content-Type": "application/octet-stream"])
            #expect(answer.status == 400)
            #expect(try await stage.call("GET", binary).status == 400)
        }
    }

    @Test func ofTwoGetsTheSecondIsRefused() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.open()
            let requests = [try stage.begin("GET", query), try stage.begin("GET", query)]
            let (first, second) = await (requests[0].answer(), requests[1].answer())
            // The order of the two requests is not determined.
            let answers = [first, second].compactMap(\.self).sorted { $0.status < $1.status }
            #expect(answers.map(\.status) == [200, 400])
            #expect(answers.first?.text == "1")
            #expect(try await stage.call("GET", query).status == 400)
        }
    }

    @Test func ofTwoPostsTheSecondIsRefused() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.open()
            let slow = try HTTPExchange(
                port: stage.port, "POST", "/socket.io/?\(query)", body: Array("4".utf8), length: 2)
            // The refusal shows that the first request has arrived.
            #expect(
                try await poll(within: .seconds(60), every: .milliseconds(5)) {
                    try await stage.call("POST", query, "6").status == 400 ? true : nil
                } == true)
            slow.send(Array("0".utf8))
            #expect(await slow.answer()?.status == 400)
            #expect(try await stage.call("GET", query).status == 400)
        }
    }

    @Test func aBodyThatIsTooLargeIsRefused() async throws {
        try await SocketIOStage.run {
            $0.engine.limits.payload = 10_000
        } _: { stage in
            let query = try await stage.open()
            let large = String(repeating: "x", count: 10_001)
            #expect(try await stage.call("POST", query, large).status == 413)
            let chunked = try HTTPExchange(
                port: stage.port, "POST", "/socket.io/?\(query)", headers: ["Transfer-Encoding": "chunked"])
            chunked.send(Array("2711\r\n\(large)\r\n0\r\n\r\n".utf8))
            #expect(await chunked.answer()?.status == 413)
            #expect(try await stage.call("POST", query, "40").status == 200)
            let socket = try await stage.connectSocket()
            await socket.send(text: large)
            #expect(await socket.rest().last?.code == 1009)
        }
    }

    @Test func webSocketCarriesMessages() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            await socket.send(text: #"42["message","hello"]"#)
            #expect(await socket.message() == #"42["message-back","hello"]"#)
            await socket.send(text: #"451-["message",{"_placeholder":true,"num":0}]"#)
            await socket.send(0x82, [1, 2, 3, 4])
            #expect(await socket.message() == #"451-["message-back",{"_placeholder":true,"num":0}]"#)
            #expect(await socket.next() == WebSocketClient.Frame(first: 0x82, payload: [1, 2, 3, 4]))
            await socket.send(text: "abc")
            #expect(await socket.isClosed())
        }
    }

    // MARK: Heartbeat

    @Test func pollingHasAHeartbeat() async throws {
        try await SocketIOStage.run { stage in
            let query = try await stage.open()
            for _ in 0..<3 {
                #expect(try await stage.call("GET", query).text == "2")
                #expect(try await stage.call("POST", query, "3").status == 200)
            }
        }
    }

    @Test func aMissedPongClosesPolling() async throws {
        try await SocketIOStage.run {
            $0.engine.pingTimeout = 200
        } _: { stage in
            let query = try await stage.open()
            // Repeated requests do not count as a pong.
            #expect(
                try await poll(within: .seconds(60), every: .milliseconds(5)) {
                    try await stage.call("GET", query).status == 400 ? true : nil
                } == true)
            // The same holds without any request.
            _ = try await stage.open()
            try await stage.eventually { stage.server.counts["polling"] == 0 }
        }
    }

    @Test func webSocketHasAHeartbeat() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            for _ in 0..<3 {
                #expect(await socket.text() == "2")
                await socket.send(text: "3")
            }
        }
    }

    @Test func aMissedPongClosesTheWebSocket() async throws {
        try await SocketIOStage.run {
            $0.engine.pingTimeout = 200
        } _: { stage in
            let socket = try await stage.webSocket("EIO=4&transport=websocket")
            let before = ContinuousClock.now
            #expect(await socket.rest().dropFirst().first?.text == "2")
            #expect(ContinuousClock.now - before < .seconds(30))
        }
    }

    @Test func aHeartbeatInTheWrongDirectionClosesTheConnection() async throws {
        try await SocketIOStage.run { stage in
            let query = try await stage.open()
            #expect(try await stage.call("POST", query, "2").status == 400)
            #expect(try await stage.call("GET", query).status == 400)
            let socket = try await stage.connectSocket()
            await socket.send(text: "2")
            #expect(await socket.isClosed())
        }
    }

    // MARK: Close

    @Test func aClientThatPollsCloses() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.connect()
            let get = try stage.begin("GET", query)
            #expect(try await stage.call("POST", query, "1").status == 200)
            // The order of the two requests is not determined.
            let answer = await get.answer()
            #expect(answer?.status == 400 || answer?.text == "6")
            #expect(try await stage.call("GET", query).status == 400)
            #expect(try await stage.call("POST", query, "40").status == 400)
            try await stage.eventually { stage.app.lines.last == "disconnected" }
        }
    }

    @Test func aClientOfAWebSocketCloses() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            await socket.send(text: "1")
            #expect(await socket.isClosed())
            try await stage.eventually { stage.app.lines.last == "disconnected" }
        }
    }

    /// A closed page sends nothing: the connection of its `GET` ends.
    @Test func aGetThatIsAbandonedClosesTheConnection() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.connect()
            let get = try stage.begin("GET", query)
            try await stage.eventuallyWaits(query)
            get.abandon()
            try await stage.eventually { stage.app.lines.last == "disconnected" }
            #expect(stage.server.counts == ["polling": 0, "websocket": 0])
        }
    }

    // MARK: Upgrade

    @Test func pollingBecomesAWebSocket() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.connect()
            let id = try #require(query.split(separator: "sid=").last)
            let get = try stage.begin("GET", query)
            let socket = try await stage.webSocket("EIO=4&transport=websocket&sid=\(id)")
            await socket.send(text: "2probe")
            #expect(await socket.text() == "3probe")
            #expect(await get.answer()?.text == "6")
            // A second `GET` is released too.
            #expect(try await stage.call("GET", query).text == "6")
            // Packets that are sent meanwhile are kept.
            #expect(try await stage.call("POST", query, #"42["message","between"]"#).status == 200)
            await socket.send(text: "5")
            #expect(await socket.text() == #"42["message-back","between"]"#)
            #expect(stage.server.counts == ["polling": 0, "websocket": 1])
            for _ in 0..<2 {
                #expect(try await stage.call("GET", query).status == 400)
                #expect(try await stage.call("POST", query, "40").status == 400)
            }
            let second = try await stage.webSocket("EIO=4&transport=websocket&sid=\(id)")
            #expect(await second.isClosed())
            await socket.send(text: #"42["message","hello"]"#)
            #expect(await socket.text() == #"42["message-back","hello"]"#)
        }
    }

    @Test func aProbeThatStopsLeavesPolling() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
            $0.engine.upgradeTimeout = 200
        } _: { stage in
            let query = try await stage.connect()
            let id = try #require(query.split(separator: "sid=").last)
            let idle = try await stage.webSocket("EIO=4&transport=websocket&sid=\(id)")
            #expect(await idle.isClosed())
            let wrong = try await stage.webSocket("EIO=4&transport=websocket&sid=\(id)")
            await wrong.send(text: "5")
            #expect(await wrong.isClosed())
            #expect(try await stage.call("POST", query, #"42["message",1]"#).status == 200)
            #expect(try await stage.call("GET", query).text == #"42["message-back",1]"#)
        }
    }
}
