import Foundation
import MixModel
import SocketIO
import TestSupport
import Testing
import TextFormats

@testable import HTTPInterface

/// Topics that no conformance suite covers: limits, tokens, web pages, rooms, and the end of the service.
@Suite(.timeLimit(.minutes(5))) struct SocketIOServerTests {
    @Test func connectionsAreLimited() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
            $0.maxSessions = 3
            $0.maxSessionsPerAddress = 2
        } _: { stage in
            let first = try await stage.open()
            _ = try await stage.open()
            let refused = try await stage.call("GET", SocketIOStage.four)
            #expect(refused.status == 503 && refused.text.contains("socketio.maxSessionsPerAddress"))
            #expect(refused.headers["retry-after"] == "5")
            #expect(try await stage.call("POST", first, "1").status == 200)
            _ = try await stage.open()
        }
    }

    @Test func aClientThatDoesNotPollIsDropped() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
            $0.engine.limits.bufferedBytes = 100_000
        } _: { stage in
            let query = try await stage.connect()
            #expect(try await stage.call("POST", query, #"42["flood",5]"#).status == 200)
            #expect(try await stage.call("GET", query).body.count > 50_000)
            #expect(try await stage.call("POST", query, #"42["flood",11]"#).status == 200)
            try await stage.eventually { stage.app.lines.last == "disconnected" }
            #expect(try await stage.call("GET", query).status == 400)
            try await stage.eventually {
                stage.metrics.registry.text().contains(#"socketio_ends_total{reason="overflow"} 1"#)
            }
        }
    }

    /// The handler hears of it although the requests' connections stay open, as those of proxies do.
    @Test func twoPollsAtOnceEndTheConnection() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.connect()
            let first = try stage.begin("GET", query, headers: ["Connection": "keep-alive"])
            try await stage.eventuallyWaits(query)
            let second = try stage.begin("GET", query, headers: ["Connection": "keep-alive"])
            // The server closes idle connections after 60 s.
            let isTold = try await poll(within: .seconds(30), every: .milliseconds(5)) {
                stage.app.lines.last == "disconnected" ? true : nil
            }
            #expect(isTold == true)
            for get in [first, second] { get.abandon() }
        }
    }

    @Test func rooms() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let (one, two) = (try await stage.connectSocket(), try await stage.connectSocket())
            let polling = try await stage.connect()
            for socket in [one, two] {
                await socket.send(text: #"421["join","a"]"#)
                #expect(await socket.message() == "431[true]")
            }
            #expect(try await stage.call("POST", polling, #"42["join","a"]"#).status == 200)
            await one.send(text: #"42["say","a",1]"#)
            for socket in [one, two] { #expect(await socket.message() == #"42["said",1]"#) }
            #expect(try await stage.call("GET", polling).text == #"42["said",1]"#)
            await two.send(text: #"42["leave","a"]"#)
            await two.send(text: #"421["say","a",2]"#)
            #expect(await two.message() == "431[]")
            #expect(await one.message() == #"42["said",2]"#)
            for number in 0...100 {
                await two.send(text: #"421["join","\#(number)"]"#)
                #expect(await two.message() == "431[\(number < 100)]")
            }
            await two.send(text: "1")
            #expect(await two.isClosed())
            try await stage.eventually { stage.server.rooms.count == 1 }
        }
    }

    @Test func pagesOfOthersReadNothing() async throws {
        try await SocketIOStage.run {
            $0.origins = .only(["https://app.example"])
        } _: { stage in
            let own = ["Origin": "https://app.example"], other = ["Origin": "https://evil.example"]
            let answer = try await stage.call("GET", SocketIOStage.four, headers: own)
            #expect(answer.status == 200)
            #expect(answer.headers["access-control-allow-origin"] == "https://app.example")
            let foreign = try await stage.call("GET", SocketIOStage.four, headers: other)
            #expect(foreign.headers["access-control-allow-origin"] == nil)
            let preflight = try await stage.call("OPTIONS", SocketIOStage.four, headers: own)
            #expect(preflight.status == 204)
            #expect(preflight.headers["access-control-allow-methods"] == "GET, POST, OPTIONS")
            let query = try await stage.open()
            #expect(try await stage.call("POST", query, "40", headers: other).status == 403)
            #expect(try await stage.call("POST", query, "40", headers: own).status == 200)
            let socket = try await stage.webSocket("EIO=4&transport=websocket", headers: other)
            #expect(socket.head.hasPrefix("HTTP/1.1 403 "))
            #expect(
                try await stage.webSocket("EIO=4&transport=websocket", headers: own).head.hasPrefix("HTTP/1.1 101 "))
            let rebound = ["Origin": "https://app.example", "Host": "evil.example"]
            #expect(try await stage.call("GET", SocketIOStage.four, headers: rebound).status == 421)
        }
    }

    @Test func tokensDecideAboutTheApp() async throws {
        let shop = AppSettings.TestToken(app: "shop", scopes: [.chat])
        let tokens = [
            ("token-of-the-shop", shop), ("token-of-another", AppSettings.TestToken(app: "other", scopes: [.read])),
            ("token-that-may-not", AppSettings.TestToken(app: "other", scopes: [.layouts])),
        ]
        try await SocketIOStage.run(tokens: tokens) {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            // The token may be in the packet that connects to the namespace.
            let socket = try await stage.webSocket("EIO=4&transport=websocket")
            #expect(await socket.text()?.hasPrefix("0") == true)
            await socket.send(text: "40")
            let refusal = try #require(await socket.message())
            #expect(refusal.hasPrefix(#"44{"data":{"code":"unauthorized"},"message":"a token with the scope chat"#))
            await socket.send(text: #"40{"token":"wrong"}"#)
            #expect(await socket.message()?.hasPrefix(#"44{"data":{"code":"unauthorized"}"#) == true)
            await socket.send(text: #"40{"token":"token-that-may-not"}"#)
            #expect(await socket.message()?.hasPrefix(#"44{"data":{"code":"scope-missing"}"#) == true)
            await socket.send(text: #"40{"token":"token-of-the-shop","app":"other"}"#)
            #expect(await socket.message()?.hasPrefix(#"44{"data":{"code":"app-forbidden"}"#) == true)
            await socket.send(text: #"40{"token":"token-of-the-shop"}"#)
            #expect(await socket.message()?.hasPrefix("40{") == true)
            try await stage.eventually { stage.app.lines == ["connected shop"] }
            // The token may be in the URL or in a header; the connection then belongs to that token.
            let query = try await stage.open(SocketIOStage.four + "&token=token-of-the-shop")
            let bare = query.replacing("&token=token-of-the-shop", with: "")
            #expect(try await stage.call("POST", bare + "&token=token-of-another", "40").status == 403)
            let header = ["Authorization": "Bearer token-of-the-shop"]
            #expect(try await stage.call("POST", bare, "40", headers: header).status == 200)
            #expect(try await stage.call("GET", bare).text.hasPrefix("40{"))
            #expect(try await stage.call("GET", SocketIOStage.four + "&token=wrong").status == 401)
            // Version 3 allows the URL only.
            let three = try await stage.call("GET", SocketIOStage.three)
            #expect(three.text.contains(#":44{"code":"unauthorized"}"#), "\(three.text)")
            #expect(try await stage.call("GET", SocketIOStage.three + "&token=token-of-another").text.contains("2:40"))
        }
    }

    /// A client of version 3 that is refused cannot present a token later, and would keep its place by its pings.
    @Test func aRefusedClientOfVersionThreeIsDisconnected() async throws {
        let shop = AppSettings.TestToken(app: "shop", scopes: [.chat])
        try await SocketIOStage.run(tokens: [("token-of-the-shop", shop)]) {
            $0.connectTimeout = 200
        } _: { stage in
            let socket = try await stage.webSocket("EIO=3&transport=websocket")
            #expect(await socket.text()?.hasPrefix("0") == true)
            #expect(await socket.text() == #"44{"code":"unauthorized"}"#)
            #expect(await socket.isClosed())
        }
    }

    /// Half of the places are kept for the apps, and for clients that have yet to name theirs, the same number for each.
    @Test func anAppLeavesOthersTheirPlaces() async throws {
        let tokens = [
            ("token-of-the-shop", AppSettings.TestToken(app: "shop", scopes: [.chat])),
            ("token-of-another", AppSettings.TestToken(app: "other", scopes: [.read])),
        ]
        try await SocketIOStage.run(tokens: tokens) {
            $0.engine.pingInterval = 60_000
            $0.maxSessions = 8
        } _: { stage in
            let shop = SocketIOStage.four + "&token=token-of-the-shop"
            let first = try await stage.open(shop)
            for _ in 0..<5 { _ = try await stage.open(shop) }
            let refused = try await stage.call("GET", shop)
            #expect(refused.status == 503)
            #expect(refused.text.contains("the app shop has 6 of the 8 places"), "\(refused.text)")

            func connect() async throws -> (WebSocketClient, answer: String) {
                let socket = try await stage.webSocket("EIO=4&transport=websocket")
                #expect(await socket.text()?.hasPrefix("0") == true)
                await socket.send(text: #"40{"token":"token-of-another"}"#)
                return (socket, try #require(await socket.message()))
            }
            let (other, welcome) = try await connect()
            #expect(welcome.hasPrefix("40{"), "\(welcome)")
            let (late, refusal) = try await connect()
            #expect(refusal.hasPrefix(#"44{"data":{"code":"too-many-sessions"},"message":"the app other has 1 of"#))
            #expect(await late.isClosed())
            try await stage.eventually {
                stage.metrics.registry.text().contains(#"socketio_ends_total{reason="full"} 1"#)
            }
            // A client that polls gets the reason with its next request.
            let polling = try await stage.open()
            #expect(try await stage.call("POST", polling, #"40{"token":"token-of-another"}"#).status == 200)
            let reason = try await stage.call("GET", polling).text
            #expect(reason.hasPrefix(#"44{"data":{"code":"too-many-sessions"}"#), "\(reason)")
            #expect(reason.hasSuffix("\u{1E}1"), "\(reason)")
            // A connection of the first app leaves its place when it ends.
            #expect(try await stage.call("POST", first, "1").status == 200)
            let (next, answer) = try await connect()
            #expect(answer.hasPrefix("40{"), "\(answer)")
            for socket in [other, next] { await socket.disconnect() }
        }
    }

    /// An app's own fields of a gift do not pass for those of the service.
    @Test func aGiftNamesNoSender() throws {
        let gift = try #require(ChannelGift(["giftId": .number(7), "user": .text("alice"), "name": .text("Alice")]))
        var message = ChannelMessage(id: 5, kind: .gift, count: 1, gift: gift, sentAt: 3)
        var shown: [String: JSONValue] = [
            "giftId": .number(7), "id": .number(5), "sentAt": .number(3), "count": .number(1),
        ]
        #expect(SocketIORoomNotice.fields(message) == shown)
        message.user = "bob"
        message.name = "Bob"
        shown["user"] = .string("bob")
        shown["name"] = .string("Bob")
        #expect(SocketIORoomNotice.fields(message) == shown)
    }

    @Test func aStopTellsEveryClient() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            let query = try await stage.connect()
            _ = try await stage.connect()
            let socket = try await stage.connectSocket()
            let get = try stage.begin("GET", query)
            try await stage.eventuallyWaits(query)
            let before = ContinuousClock.now
            await stage.group.triggerGracefulShutdown()
            // The client is not told to disconnect, so that it connects again.
            #expect(await get.answer()?.text == "1")
            #expect(await socket.next()?.code == 1001)
            await socket.send(0x88, [3, 233])
            try await stage.eventually { stage.app.lines.filter { $0 == "disconnected" }.count == 3 }
            #expect(ContinuousClock.now - before < .seconds(45), "nobody waits for the next ping")
        }
    }

    /// Arbitrary bytes of one client do not affect the others.
    @Test func arbitraryMessagesHarmNobody() async throws {
        try await SocketIOStage.run {
            $0.engine.pingInterval = 60_000
        } _: { stage in
            var random = SeededGenerator(announcedFor: "SocketIOServerTests")
            let good = try await stage.connectSocket()
            for _ in 0..<TestLength.of(short: 100, long: 10_000) {
                let socket = try await stage.webSocket(
                    "EIO=\(Int.random(in: 3...4, using: &random))&transport=websocket")
                for _ in 0..<Int.random(in: 1...5, using: &random) {
                    let text = String(
                        (0..<Int.random(in: 0...12, using: &random)).map { _ in
                            "0123456b-/,[]{}\"a:é".randomElement(using: &random) ?? "0"
                        })
                    await socket.send(text: text)
                    await socket.send(0x82, [UInt8.random(in: 0...5, using: &random)])
                }
                await socket.disconnect()
            }
            await good.send(text: #"42["message",1]"#)
            #expect(await good.message() == #"42["message-back",1]"#)
            try await stage.eventually { stage.server.counts == ["polling": 0, "websocket": 1] }
        }
    }
}
