import SocketIO
import TestSupport
import Testing

/// The cases of Socket.IO's public conformance suite, protocol 5, over WebSockets.
@Suite(.timeLimit(.minutes(5))) struct SocketIOSuiteTests {
    private static func open(_ stage: SocketIOStage) async throws -> WebSocketClient {
        let socket = try await stage.webSocket("EIO=4&transport=websocket")
        #expect(await socket.text()?.hasPrefix("0") == true)
        return socket
    }

    // MARK: Connect

    @Test(arguments: [
        ("40", "40{\"sid\":\"", #"42["auth",{}]"#),
        (#"40{"token":"123"}"#, "40{\"sid\":\"", #"42["auth",{"token":"123"}]"#),
        ("40/custom,", "40/custom,{\"sid\":\"", #"42/custom,["auth",{}]"#),
        (#"40/custom,{"token":"abc"}"#, "40/custom,{\"sid\":\"", #"42/custom,["auth",{"token":"abc"}]"#),
    ])
    func clientsConnect(request: String, answer: String, event: String) async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.webSocket("EIO=4&transport=websocket")
            let open = try #require(await socket.text())
            await socket.send(text: request)
            let text = try #require(await socket.message())
            #expect(text.hasPrefix(answer))
            #expect(SocketIOStage.field("sid", text) != SocketIOStage.field("sid", open))
            #expect(await socket.message() == event)
        }
    }

    @Test func unknownNamespacesAreRefused() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await Self.open(stage)
            await socket.send(text: "40/random")
            #expect(await socket.message() == #"44/random,{"message":"Invalid namespace"}"#)
        }
    }

    @Test(arguments: ["4abc", "42[\"message\",1]", "41", "40[]", "44{}"])
    func aWrongBeginningClosesTheConnection(packet: String) async throws {
        try await SocketIOStage.run { stage in
            let socket = try await Self.open(stage)
            await socket.send(text: packet)
            #expect(await socket.isClosed())
        }
    }

    @Test func aClientThatDoesNotConnectIsClosed() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 600_000
            $0.connectTimeout = 1000
        } _: { stage in
            let before = ContinuousClock.now
            let socket = try await Self.open(stage)
            #expect(await socket.isClosed())
            #expect(ContinuousClock.now - before > .milliseconds(990))
        }
    }

    // MARK: Disconnect

    @Test func clientsDisconnect() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            await socket.send(text: "41")
            // The connection stays open.
            #expect(await socket.text() == "2")
            await socket.send(text: "3")
            try await stage.eventually { stage.app.lines.last == "disconnected" }
            await socket.send(text: "40")
            #expect(await socket.message()?.hasPrefix("40{") == true)
        }
    }

    @Test func clientsDisconnectFromANamespace() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            await socket.send(text: "40/custom")
            #expect(await socket.message()?.hasPrefix("40/custom,{") == true)
            #expect(await socket.message() == #"42/custom,["auth",{}]"#)
            await socket.send(text: "41/custom")
            await socket.send(text: #"42["message","message to main namespace"]"#)
            #expect(await socket.message() == #"42["message-back","message to main namespace"]"#)
        }
    }

    @Test func theServerDisconnects() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            await socket.send(text: #"42["kick"]"#)
            #expect(await socket.message() == "41")
            try await stage.eventually { stage.app.lines.last == "disconnected" }
        }
    }

    // MARK: Message

    @Test func eventsComeBack() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            await socket.send(text: #"42["message",1,"2",{"3":[true]}]"#)
            #expect(await socket.message() == #"42["message-back",1,"2",{"3":[true]}]"#)
            await socket.send(text: #"42456["message-with-ack",1,"2",{"3":[false]}]"#)
            #expect(await socket.message() == #"43456[1,"2",{"3":[false]}]"#)
            // Unknown events are acknowledged too, so that no client waits forever.
            await socket.send(text: #"427["nobody knows this"]"#)
            #expect(await socket.message() == "437[]")
        }
    }

    @Test func attachmentsComeBack() async throws {
        try await SocketIOStage.run { stage in
            let socket = try await stage.connectSocket()
            let placeholders = #"{"_placeholder":true,"num":0},{"_placeholder":true,"num":1}"#
            for (sent, received) in [
                ("452-[\"message\",\(placeholders)]", "452-[\"message-back\",\(placeholders)]"),
                ("452-789[\"message-with-ack\",\(placeholders)]", "462-789[\(placeholders)]"),
            ] {
                await socket.send(text: sent)
                await socket.send(0x82, [1, 2, 3])
                await socket.send(0x82, [4, 5, 6])
                #expect(await socket.message() == received)
                #expect(await socket.next()?.payload == [1, 2, 3])
                #expect(await socket.next()?.payload == [4, 5, 6])
            }
        }
    }

    @Test(arguments: [
        "4abc", "42{}", "42abc[\"message-with-ack\",1,\"2\",{\"3\":[false]}]", "42[]", "42[1]", "42", "42[\"connect\"]",
        "42[\"disconnecting\"]", "47[]", "451[\"a\"]", "4511-[\"a\"]", "43[]", "42/nowhere,[\"a\"]",
        "451-[\"a\",{\"_placeholder\":true,\"num\":1}]",
    ])
    func brokenPacketsCloseTheConnection(packet: String) async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 600_000
        } _: { stage in
            let socket = try await stage.connectSocket()
            await socket.send(text: packet)
            #expect(await socket.isClosed())
            try await stage.eventually { stage.app.lines == ["connected default", "disconnected"] }
        }
    }

    // MARK: Protocol 4

    @Test func versionThreeConnectsByItself() async throws {
        try await SocketIOStage.run {
            $0.missingVersionIsThree = true
        } _: { stage in
            // The Swift client of version 8 sends this request.
            let answer = try await stage.call("GET", "transport=polling&b64=1")
            let id = try #require(SocketIOStage.field("sid", answer.text))
            #expect(answer.text.contains(#","pingInterval":300,"pingTimeout":60000}"#))
            #expect(answer.text.hasSuffix(#"}2:4013:42["auth",{}]"#), "\(answer.text)")
            let query = "transport=polling&b64=1&sid=\(id)"
            let message = #"421["message-with-ack","é😀"]"#
            #expect(try await stage.call("POST", query, "\(message.utf16.count):\(message)").text == "ok")
            // The answer is ASCII, so that the unit of the client's lengths does not matter.
            let back = ##"431["\u00e9\ud83d\ude00"]"##
            #expect(try await stage.call("GET", query).text == "\(back.utf8.count):\(back)")
            // In version 3, clients send the heartbeats.
            #expect(try await stage.call("POST", query, "7:2hello!").text == "ok")
            #expect(try await stage.call("GET", query).text == "7:3hello!")
            #expect(try await stage.call("POST", query, "1:3").status == 400)
            // Clients that know only this form send bytes in base64.
            let other = try await stage.open("EIO=3&transport=polling&b64=1")
            let event = #"451-["message",{"_placeholder":true,"num":0}]"#
            #expect(try await stage.call("POST", other, "\(event.count):\(event)6:b4AQID").text == "ok")
            #expect(
                try await stage.call("GET", other).text.hasSuffix(
                    #"["message-back",{"_placeholder":true,"num":0}]6:b4AQID"#))
        }
    }

    @Test func versionThreeHasBinaryPayloads() async throws {
        try await SocketIOStage.run { stage in
            let query = try await stage.open(SocketIOStage.three)
            let event = #"451-["message",{"_placeholder":true,"num":0}]"#
            let length = Array("\(event.count)".utf8).map { $0 - 48 }
            let body: [UInt8] = [0] + length + [255] + Array(event.utf8) + [1, 4, 255, 4, 1, 2, 3]
            let post = try HTTPExchange(
                port: stage.port, "POST", "/socket.io/?\(query)", headers: ["Content-Type": "application/octet-stream"],
                body: body)
            #expect(await post.answer()?.text == "ok")
            let answer = try await stage.call("GET", query)
            #expect(answer.headers["content-type"] == "application/octet-stream")
            #expect(answer.body.suffix(7) == [1, 4, 255, 4, 1, 2, 3])
        }
    }

    @Test func versionThreeHasWebSocketsAndNamespaces() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let socket = try await stage.webSocket("EIO=3&transport=websocket")
            #expect(await socket.text()?.hasPrefix("0{") == true)
            #expect(await socket.text() == "40")
            #expect(await socket.text() == #"42["auth",{}]"#)
            await socket.send(text: "2")
            #expect(await socket.text() == "3")
            await socket.send(text: "40/custom?token=abc")
            #expect(await socket.text() == "40/custom,")
            #expect(await socket.text() == #"42/custom,["auth",{}]"#)
            await socket.send(text: "40/x")
            #expect(await socket.text() == #"44/x,"Invalid namespace""#)
            await socket.send(text: #"451-["message",{"_placeholder":true,"num":0}]"#)
            await socket.send(0x82, [4, 9, 8])
            #expect(await socket.text() == #"451-["message-back",{"_placeholder":true,"num":0}]"#)
            #expect(await socket.next() == WebSocketClient.Frame(first: 0x82, payload: [4, 9, 8]))
            // A frame without the type's byte is not a packet.
            await socket.send(0x82, [9, 8])
            #expect(await socket.isClosed())
        }
    }

    @Test func aClientOfVersionThreeThatIsSilentIsClosed() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 50
            $0.engine.pingTimeoutOfThree = 100
        } _: { stage in
            _ = try await stage.open(SocketIOStage.three)
            try await stage.eventually { stage.server.counts["polling"] == 0 && stage.app.lines.last == "disconnected" }
        }
    }
}
