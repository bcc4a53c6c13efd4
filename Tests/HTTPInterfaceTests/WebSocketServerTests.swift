import Foundation
import HTTPTypes
import Hummingbird
import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import HTTPInterface

/// WebSockets on real connections: an echo at `/echo`, and a client that can break the protocol.
@Suite(.timeLimit(.minutes(5))) struct WebSocketServerTests {
    /// An error that ends a test.
    private struct Failure: Error {}

    struct Stage: Sendable {
        let port: Int
        let group: ServiceGroup
        /// Number of connections whose handler has ended.
        let ended: Counter

        func open(
            path: String = "/echo", headers: [String: String] = [:], receiveBuffer: Int32? = nil
        ) async throws -> WebSocketClient {
            try await WebSocketClient.open(port: port, path: path, headers: headers, receiveBuffer: receiveBuffer)
        }
    }

    final class Counter: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func increment() { count.withLock { $0 += 1 } }
    }

    /// - Parameter serve: Handler of connections, by default an echo.
    func withServer(
        _ change: (inout WebSocketLimits, inout WebSocketServer.Numbers, inout HTTPSettings) -> Void = { _, _, _ in },
        serve: (@Sendable (WebSocket) async -> Void)? = nil, _ body: @escaping @Sendable (Stage) async throws -> Void
    ) async throws {
        var (limits, numbers, settings) = (WebSocketLimits(), WebSocketServer.Numbers(), HTTPSettings())
        limits.message = 70_000
        // Other tests may keep the cores busy.
        limits.pingInterval = 600_000
        change(&limits, &numbers, &settings)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let ended = Counter()
        let echo: @Sendable (WebSocket) async -> Void = { socket in
            await socket.forEach { message in
                switch message {
                case .text("close"): socket.close(WebSocketClose(4000, "as asked"))
                case .text(let text): socket.send(text)
                case .binary(let bytes): socket.send("\(bytes.count) bytes")
                }
            }
        }
        let route = WebSocketRoute(paths: ["/echo"], limits: limits, numbers: numbers) { head, _ in
            head.headerFields[.origin] == "https://evil.example"
                ? WebSocketRefusal(HTTPProblem(.forbidden, "origin-refused", "Refused", detail: "Origin")) : nil
        } serve: { socket, _ in
            await (serve ?? echo)(socket)
            ended.increment()
        }
        let server = WebSocketServer(routes: [route])
        let router = Router()
        router.get("/plain") { _, _ in "plain" }
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router, server: settings.server(certificate: nil, sockets: server, logger: logger),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)), services: [server],
            onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: logger)
        let group = ServiceGroup(services: [application], logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            let port = await ports.first { _ in true } ?? 0
            let result = await Result(catching: { try await body(Stage(port: port, group: group, ended: ended)) })
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            try result.get()
        }
    }

    @Test func messagesOfAllSizesComeBack() async throws {
        try await withServer { stage in
            let client = try await stage.open()
            #expect(client.head.hasPrefix("HTTP/1.1 101 "))
            // The example of RFC 6455, section 1.3.
            #expect(client.head.lowercased().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="))
            for count in [0, 1, 125, 126, 127, 65535, 65536, 70_000] {
                let text = String(repeating: "x", count: count)
                await client.send(text: text)
                #expect(await client.next() == WebSocketClient.Frame(first: 0x81, payload: Array(text.utf8)))
            }
            await client.send(0x82, [0, 1, 255])
            #expect(await client.text() == "3 bytes")
            // The frame is sent byte by byte.
            for byte in WebSocketClient.frame(0x81, "héllo".utf8) { await client.send(raw: [byte]) }
            #expect(await client.text() == "héllo")
        }
    }

    @Test func pingsBetweenFragmentsAreAnswered() async throws {
        try await withServer { stage in
            let client = try await stage.open()
            await client.send(0x01, "a".utf8)
            await client.send(0x89, [1, 2])
            await client.send(0x00, "b".utf8)
            await client.send(0x8A, [9])
            await client.send(0x80, "c".utf8)
            #expect(await client.next() == WebSocketClient.Frame(first: 0x8A, payload: [1, 2]))
            #expect(await client.text() == "abc")
        }
    }

    @Test func aClientClosesWithAHandshake() async throws {
        try await withServer { stage in
            let client = try await stage.open()
            await client.send(text: "last")
            await client.send(0x88, [3, 232])
            let frames = await client.rest()
            // Earlier echoes may or may not arrive, since the close frame is answered at once.
            #expect(frames.last == WebSocketClient.Frame(first: 0x88, payload: [3, 232]))
            let empty = try await stage.open()
            await empty.send(0x88)
            #expect(await empty.rest() == [WebSocketClient.Frame(first: 0x88, payload: [])])
            #expect(
                try await poll(within: .seconds(60), every: .milliseconds(5)) { stage.ended.value == 2 ? true : nil }
                    == true)
        }
    }

    @Test func theServiceClosesWithAHandshake() async throws {
        try await withServer { stage in
            let client = try await stage.open()
            await client.send(text: "close")
            let frame = await client.next()
            #expect(frame?.code == 4000)
            #expect(frame?.payload.dropFirst(2) == ArraySlice("as asked".utf8))
            // Messages after the close frame are not answered.
            await client.send(text: "more")
            await client.send(0x88, [0x0F, 0xA0])
            #expect(await client.rest() == [])
            // A client that does not answer loses the connection too.
            let silent = try await stage.open()
            await silent.send(text: "close")
            #expect(await silent.rest().map(\.code) == [4000])
        }
    }

    @Test func brokenFramesEndTheConnectionWithTheirCode() async throws {
        try await withServer { stage in
            let cases: [(bytes: [UInt8], code: UInt16)] = [
                (WebSocketClient.frame(0xC1, "a".utf8), 1002),
                (WebSocketClient.frame(0xA1, "a".utf8), 1002),
                (WebSocketClient.frame(0x91, "a".utf8), 1002),
                (WebSocketClient.frame(0x81, "a".utf8, mask: nil), 1002),
                (WebSocketClient.frame(0x83, "a".utf8), 1002),
                (WebSocketClient.frame(0x8B, "a".utf8), 1002),
                (WebSocketClient.frame(0x80, "a".utf8), 1002),
                (WebSocketClient.frame(0x01, "a".utf8) + WebSocketClient.frame(0x81, "a".utf8), 1002),
                (WebSocketClient.frame(0x09, "a".utf8), 1002),
                (WebSocketClient.frame(0x89, [UInt8](repeating: 0, count: 126)), 1002),
                (WebSocketClient.frame(0x88, [0]), 1002),
                (WebSocketClient.frame(0x88, [3, 237]), 1002),
                (WebSocketClient.frame(0x81, [0xFF]), 1007),
                (WebSocketClient.frame(0x88, [3, 232, 0xC3]), 1007),
                (WebSocketClient.frame(0x81, [UInt8](repeating: 97, count: 70_001)), 1009),
                // These are only the heads of a frame of 2^63 - 1 bytes, and of one that is longer by one byte.
                ([0x81, 0xFF, 0x7F] + [UInt8](repeating: 255, count: 7) + [0, 0, 0, 0], 1009),
                ([0x81, 0xFF] + [UInt8](repeating: 255, count: 8) + [0, 0, 0, 0], 1009),
                (
                    WebSocketClient.frame(0x01, [UInt8](repeating: 97, count: 40_000))
                        + WebSocketClient.frame(0x80, [UInt8](repeating: 97, count: 40_000)), 1009
                ),
            ]
            for (index, (bytes, code)) in cases.enumerated() {
                let client = try await stage.open()
                // The bytes that follow must neither be read nor delay the close frame.
                await client.send(raw: bytes + WebSocketClient.frame(0x81, "more".utf8))
                let frame = await client.next()
                #expect(frame?.code == code, "case \(index): \(String(describing: frame))")
                await client.disconnect()
            }
            let good = try await stage.open()
            await good.send(text: "still there")
            #expect(await good.text() == "still there")
        }
    }

    @Test func handshakesThatAreNone() async throws {
        try await withServer { stage in
            for (headers, status) in [
                (["Sec-WebSocket-Version": "8"], "426"), (["Sec-WebSocket-Version": ""], "426"),
                (["Sec-WebSocket-Key": ""], "400"), (["Sec-WebSocket-Key": "c2hvcnQ="], "400"),
                (["Connection": "keep-alive"], "400"), (["Origin": "https://evil.example"], "403"),
                (["host": "second.example"], "400"), (["Upgrade": ""], "404"), (["Upgrade": "h2c"], "404"),
            ] {
                let client = try await stage.open(headers: headers)
                #expect(client.head.hasPrefix("HTTP/1.1 \(status) "), "\(headers): \(client.head)")
                if status == "426" { #expect(client.head.contains("13")) }
            }
            for path in ["/", "/echo/", "/echo/a", "/other"] {
                #expect(try await stage.open(path: path).head.hasPrefix("HTTP/1.1 404 "))
            }
            #expect(try await stage.open(path: "/echo?x=1").head.hasPrefix("HTTP/1.1 101 "))
            #expect(
                try await stage.open(headers: ["Connection": "keep-alive, upgrade", "Upgrade": "WebSocket"]).head
                    .hasPrefix("HTTP/1.1 101 "))
            #expect(try await stage.open(path: "/plain").head.contains("200"))
        }
    }

    @Test func tooManyConnectionsAreRefusedAndCountedOut() async throws {
        try await withServer { _, numbers, _ in
            numbers.perAddress = 2
        } _: { stage in
            let first = try await stage.open()
            let second = try await stage.open()
            let third = try await stage.open()
            #expect(third.head.hasPrefix("HTTP/1.1 503 "), "\(third.head)")
            await first.disconnect()
            let fourth = try await poll(within: .seconds(60), every: .milliseconds(10)) {
                let client = try await stage.open()
                return client.head.hasPrefix("HTTP/1.1 101 ") ? client : nil
            }
            await fourth?.send(text: "in")
            #expect(await fourth?.text() == "in")
            await second.disconnect()
        }
    }

    @Test func silentClientsArePingedAndThenDisconnected() async throws {
        try await withServer { limits, _, _ in
            limits.pingInterval = 100
        } _: { stage in
            let silent = try await stage.open()
            #expect(await silent.rest().map(\.first) == [0x89, 0x89])
        }
        try await withServer { limits, _, settings in
            // This test must answer within two of these intervals.
            limits.pingInterval = 1500
            // The idle time limit of requests does not apply.
            settings.idleTimeout = 1
        } _: { stage in
            let patient = try await stage.open()
            // This is longer than the idle time limit of requests.
            for _ in 0..<3 {
                #expect(await patient.next()?.first == 0x89)
                await patient.send(0x8A)
            }
            await patient.send(text: "here")
            #expect(await patient.text() == "here")
        }
    }

    @Test func aClientThatDoesNotReadIsDisconnected() async throws {
        let text = String(repeating: "x", count: 60_000)
        try await withServer { limits, _, _ in
            limits.outgoing = 300_000
        } serve: { socket in
            await socket.forEach { _ in
                // This is far more than the buffers of two sockets hold.
                for _ in 0..<1000 { socket.send(text) }
            }
        } _: { stage in
            let client = try await stage.open(receiveBuffer: 4096)
            await client.send(text: "begin")
            #expect(
                try await poll(within: .seconds(60), every: .milliseconds(5)) { stage.ended.value == 1 ? true : nil }
                    == true)
            #expect(await client.rest().count < 1000)
        }
    }

    /// While the service is busy, messages wait in the buffers of the client and the socket, not in the service.
    @Test func aBusyServiceIsNotReadFor() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let seen = Counter()
        try await withServer { limits, _, _ in
            limits.waiting = 4
        } serve: { socket in
            for await _ in gate { break }
            await socket.forEach { _ in seen.increment() }
        } _: { stage in
            let client = try await stage.open()
            let frame = WebSocketClient.frame(0x82, [UInt8](repeating: 1, count: 60_000))
            async let upload: Void = client.send(
                raw: (0..<300).flatMap { _ in frame } + WebSocketClient.frame(0x88, [3, 232]))
            open.yield()
            await upload
            #expect(await client.rest().last?.code == 1000)
            #expect(seen.value == 300)
        }
    }

    @Test func aShutdownTellsTheClients() async throws {
        try await withServer { stage in
            let client = try await stage.open()
            await client.send(text: "a")
            #expect(await client.text() == "a")
            await stage.group.triggerGracefulShutdown()
            #expect(await client.next()?.code == 1001)
            await client.send(0x88, [3, 233])
            #expect(await client.rest() == [])
        }
    }

    @Test func arbitraryBytesHarmNobody() async throws {
        try await withServer { limits, _, _ in
            limits.closing = 50
        } _: { stage in
            var random = SeededGenerator(announcedFor: "WebSocketServerTests")
            let good = try await stage.open()
            for _ in 0..<100 {
                let client = try await stage.open()
                var bytes: [UInt8] = []
                for _ in 0..<Int.random(in: 1...20, using: &random) {
                    let payload = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                        UInt8.random(in: 0...255, using: &random)
                    }
                    bytes += WebSocketClient.frame(UInt8.random(in: 0...255, using: &random) & 0x8F, payload)
                    if Bool.random(using: &random) { bytes += payload }
                }
                await client.send(raw: bytes)
                await client.disconnect()
            }
            await good.send(text: "still there")
            #expect(await good.text() == "still there")
            #expect(
                try await poll(within: .seconds(60), every: .milliseconds(5)) { stage.ended.value == 100 ? true : nil }
                    == true)
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(catching body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
