import SocketIO
import Testing

/// The decisions about one connection, with times in ms.
struct EngineSessionTests {
    private static func ms(_ time: Int) -> Int64 { Int64(time) * 1_000_000 }

    private static func session(
        _ version: EngineIOVersion = .four, socket: Int? = nil, _ change: (inout EngineIOSettings) -> Void = { _ in }
    ) -> EngineSession {
        var settings = EngineIOSettings()
        settings.pingInterval = 1000
        settings.pingTimeout = 500
        settings.pingTimeoutOfThree = 2000
        change(&settings)
        var session = EngineSession(id: "abc", version: version, socket: socket, settings: settings, now: 0)
        if socket == nil { _ = session.poll(1, now: 0) } else { _ = session.start() }
        return session
    }

    private static func text(_ text: String) -> EngineIOPacket { .message(.text(text)) }

    @Test func theHandshakeComesFirst() {
        var settings = EngineIOSettings()
        settings.limits.payload = 7
        var polling = EngineSession(id: "abc", version: .four, socket: nil, settings: settings, now: 0)
        #expect(polling.send([.text("a")]) == [])
        let open =
            #"{"sid":"abc","upgrades":["websocket"],"pingInterval":25000,"pingTimeout":20000,"maxPayload":7}"#
        #expect(polling.poll(1, now: 0) == [.answer(1, [.open(open), Self.text("a")])])
        var socket = EngineSession(id: "abc", version: .three, socket: 3, settings: settings, now: 0)
        #expect(socket.send([.text("a")]) == [])
        let open3 = #"{"sid":"abc","upgrades":[],"pingInterval":25000,"pingTimeout":60000}"#
        #expect(socket.start() == [.write(3, [.open(open3), Self.text("a")])])
        #expect(socket.send([.text("b")]) == [.write(3, [Self.text("b")])])
    }

    @Test func whatWaitsIsLimited() {
        var session = Self.session { $0.limits.bufferedBytes = 10 }
        #expect(session.send([.text("12345678")]) == [])
        #expect(session.send([.text("1")]) == [.end(.overflow)])
        #expect(session.poll(2, now: 0) == [.refuse(2, .unknownSession)])
        var many = Self.session { $0.limits.bufferedPackets = 2 }
        #expect(many.send([.text(""), .text("")]) == [])
        #expect(many.send([.text("")]) == [.end(.overflow)])
    }

    /// A client that polls has yet to fetch the reason of the end.
    @Test func theLastPacketsAreSentBeforeTheEnd() {
        var waiting = Self.session()
        #expect(waiting.poll(2, now: 0) == [])
        #expect(waiting.send([.text("no")]) == [.answer(2, [Self.text("no")])])
        #expect(waiting.finish(.noPlace, now: 0) == [.end(.noPlace)])
        var polling = Self.session()
        #expect(polling.send([.text("no")]) == [])
        #expect(polling.finish(.noPlace, now: 0) == [])
        #expect(polling.deadline == Self.ms(5000))
        #expect(polling.beginPost(2, now: 0) == [])
        #expect(polling.endPost(2, [.pong(""), Self.text("a")], now: 0) == [.accept(2)])
        var silent = polling
        #expect(silent.tick(now: Self.ms(5000)) == [.end(.noPlace)])
        var upgrading = polling
        #expect(upgrading.attach(7, now: 0) == [])
        #expect(upgrading.receive(.ping("probe"), from: 7, now: 0) == [.write(7, [.pong("probe")])])
        #expect(
            upgrading.receive(.upgrade, from: 7, now: 0)
                == [.write(7, [Self.text("no")]), .shut(7), .end(.noPlace)])
        #expect(polling.poll(3, now: 0) == [.answer(3, [Self.text("no"), .close]), .end(.noPlace)])
        var socket = Self.session(socket: 7)
        #expect(socket.send([.text("no")]) == [.write(7, [Self.text("no")])])
        #expect(socket.finish(.noPlace, now: 0) == [.shut(7), .end(.noPlace)])
    }

    @Test func aServerPingsInVersionFour() {
        var session = Self.session()
        #expect(session.deadline == Self.ms(1000))
        #expect(session.poll(2, now: Self.ms(900)) == [])
        #expect(session.tick(now: Self.ms(1050)) == [.answer(2, [.ping("")])])
        // The time limit for the answer starts when the ping was due.
        #expect(session.deadline == Self.ms(1500))
        #expect(session.beginPost(3, now: Self.ms(1400)) == [])
        #expect(session.endPost(3, [.pong("")], now: Self.ms(1400)) == [.accept(3)])
        #expect(session.deadline == Self.ms(2400))
        #expect(session.tick(now: Self.ms(2400)) == [])
        #expect(session.tick(now: Self.ms(2900)) == [.end(.pingTimeout)])
        #expect(session.isOver && session.deadline == nil)
    }

    /// After a pause of the whole service, clients are not ended for their silence.
    @Test func aLongPauseEndsNobody() {
        var session = Self.session()
        #expect(session.tick(now: Self.ms(60_000)) == [])
        #expect(session.deadline == Self.ms(60_400))
        #expect(session.tick(now: Self.ms(60_400)) == [.end(.pingTimeout)])
    }

    @Test func aClientPingsInVersionThree() {
        var session = Self.session(.three, socket: 7)
        #expect(session.deadline == Self.ms(3000))
        #expect(session.receive(.ping("data"), from: 7, now: Self.ms(2500)) == [.write(7, [.pong("data")])])
        #expect(session.tick(now: Self.ms(5499)) == [])
        #expect(session.tick(now: Self.ms(5500)) == [.shut(7), .end(.pingTimeout)])
    }

    @Test func requestsKeepToTheirOrder() {
        var session = Self.session()
        #expect(session.poll(2, now: 0) == [])
        #expect(
            session.poll(3, now: 0) == [.refuse(3, .badRequest), .answer(2, [.close]), .end(.protocolError)])
        var posting = Self.session()
        #expect(posting.beginPost(2, now: 0) == [])
        posting.abandonPost(2)
        #expect(posting.beginPost(3, now: 0) == [])
        #expect(posting.beginPost(4, now: 0) == [.refuse(4, .badRequest), .end(.protocolError)])
        #expect(posting.endPost(3, [Self.text("a")], now: 0) == [.refuse(3, .badRequest)])
    }

    @Test func aClientThatClosesGetsAnAnswer() {
        var session = Self.session()
        #expect(session.poll(2, now: 0) == [])
        #expect(session.beginPost(3, now: 0) == [])
        #expect(
            session.endPost(3, [Self.text("a"), .close, Self.text("b")], now: 0) == [
                .deliver(.text("a")), .answer(2, [.noop]), .end(.clientClosed), .accept(3),
            ])
    }

    @Test func aLostGetEndsTheConnection() {
        var session = Self.session()
        #expect(session.lostPoll(1) == [])
        #expect(session.poll(2, now: 0) == [])
        #expect(session.lostPoll(1) == [])
        #expect(session.lostPoll(2) == [.answer(2, [.close]), .end(.connectionLost)])
    }

    @Test func pollingBecomesAWebSocket() {
        var session = Self.session()
        #expect(session.poll(2, now: 0) == [])
        #expect(session.attach(9, now: 0) == [])
        #expect(
            session.receive(.ping("probe"), from: 9, now: 0) == [.write(9, [.pong("probe")]), .answer(2, [.noop])])
        #expect(session.poll(3, now: 0) == [])
        #expect(session.deadline == Self.ms(100))
        #expect(session.tick(now: Self.ms(100)) == [.answer(3, [.noop])])
        #expect(session.send([.text("a")]) == [])
        #expect(session.receive(.upgrade, from: 9, now: 0) == [.write(9, [Self.text("a")])])
        #expect(session.transport == .webSocket)
        #expect(session.poll(4, now: 0) == [.refuse(4, .badRequest)])
        #expect(session.beginPost(5, now: 0) == [.refuse(5, .badRequest)])
        #expect(session.attach(10, now: 0) == [.shut(10)])
        #expect(session.receive(Self.text("b"), from: 10, now: 0) == [.shut(10)])
        #expect(session.receive(Self.text("b"), from: 9, now: 0) == [.deliver(.text("b"))])
        #expect(session.closed(10) == [])
        #expect(session.closed(9) == [.shut(9), .end(.connectionLost)])
    }

    @Test func aProbeThatFailsLeavesPolling() {
        for packet in [EngineIOPacket.upgrade, .ping("x"), Self.text("a"), nil] {
            var session = Self.session()
            #expect(session.attach(9, now: 0) == [])
            #expect(session.attach(10, now: 0) == [.shut(10)])
            #expect(session.receive(packet, from: 9, now: 0) == [.shut(9)])
            #expect(session.attach(11, now: 0) == [])
        }
        var late = Self.session {
            $0.pingInterval = 60_000
            $0.upgradeTimeout = 300
        }
        #expect(late.attach(9, now: 0) == [])
        #expect(late.deadline == Self.ms(300))
        #expect(late.tick(now: Self.ms(300)) == [.shut(9)])
        #expect(!late.isOver)
    }

    @Test func theWheelFindsWhatIsDue() {
        var wheel = DeadlineWheel<String>(tick: 10, now: 1000)
        wheel.put("a", at: 1005)
        wheel.put("b", at: 1100)
        wheel.put("c", at: 1100)
        // A later time is found at the earlier one; an earlier time is moved.
        wheel.put("a", at: 5000)
        wheel.put("c", at: 1030)
        #expect(wheel.count == 3)
        #expect(wheel.take(now: 1009) == [])
        #expect(wheel.take(now: 1010) == ["a"])
        #expect(wheel.take(now: 1045) == ["c"])
        wheel.remove("b")
        wheel.put("past", at: 0)
        #expect(wheel.count == 1)
        #expect(wheel.take(now: 900_000_000) == ["past"])
        #expect(wheel.count == 0)
    }
}
