import Foundation
import HummingbirdTesting
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization
import TaskStore
import Testing

@testable import MixOrchestrator

/// Limits on the resources that one connection can hold, tested with real sockets.
@Suite(.timeLimit(.minutes(5))) struct ConnectionLimitTests {
    private func withServer(
        _ settings: [String: [String]] = [:], _ body: @escaping @Sendable (Bench, Int) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(
                .live, directory: directory, store: MemoryTaskStore(), settings: settings
            ) { bench in
                try await body(bench, try #require(bench.client.port))
            }
        }
    }

    /// An encoder's first bytes are the version 3 and a packet of 1536 bytes.
    @Test func rtmpIsToldWhereItGoes() async throws {
        try await withServer { bench, port in
            let hello = "\u{3}" + String(repeating: "\0", count: 1536)
            let start = ContinuousClock.now
            for _ in 0..<20 {
                let encoder = try await RawConnection.open(port)
                encoder.send(hello)
                try await eventually { encoder.isClosed ? true : nil }
                #expect(encoder.text.isEmpty)
            }
            let lines = bench.log.text.components(separatedBy: "RTMP arrived at the HTTP port").count - 1
            // One line each second, and the first one.
            let most = Int((ContinuousClock.now - start) / .seconds(1)) + 2
            #expect(1...most ~= lines, "\(lines) lines of 20 connections")
            #expect(bench.log.text.contains("docs/integrations/obs.md"))
            // Other bytes that are no HTTP are answered as before.
            let other = try await RawConnection.open(port)
            other.send("\u{4}\r\n\r\n")
            try await eventually { other.isClosed ? true : nil }
            #expect(other.text.hasPrefix("HTTP/1.1 400"), "\(other.text)")
            #expect(try await bench.call(.get, "/healthz").status == 200)
        }
    }

    /// Runs a service as `serve` does: the test framework's server does not limit the number of connections.
    private func withApplication(
        _ settings: [String: [String]], _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withLiveService(directory: directory, settings: settings) { try await body($0.port) }
        }
    }

    @Test(arguments: [
        "GET /" + String(repeating: "a", count: 70_000),
        "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 70_000),
        "GET / HTTP/1.1\r\n" + String(repeating: "X: aaaaaaaaaa\r\n", count: 200),
        "GET / HTTP/1.1\r\n" + (0..<80).map { "X\($0): " + String(repeating: "a", count: 1000) + "\r\n" }.joined(),
    ])
    func aHeadThatIsTooLargeIsRefused(_ head: String) async throws {
        try await withServer { bench, port in
            let connection = try await RawConnection.open(port)
            connection.send(head)
            try await eventually { connection.isClosed ? true : nil }
            #expect(connection.text.hasPrefix("HTTP/1.1 431 "), "\(connection.text.prefix(300))")
            #expect(connection.text.contains("urn:mixorchestrator:problem:head-too-large"))
            #expect(try await bench.call(.get, "/healthz").status == 200)
        }
    }

    @Test func aRequestLineBelowTheLimitIsServed() async throws {
        try await withServer { _, port in
            let connection = try await RawConnection.open(port)
            connection.send(
                "GET /healthz?" + String(repeating: "a", count: 60_000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await eventually { connection.text.contains("ok") ? true : nil }
            #expect(connection.text.hasPrefix("HTTP/1.1 200 "))
            connection.close()
        }
    }

    @Test(arguments: [
        "POST /v1/rooms/a/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
        "POST /v1/rooms/a/events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    ])
    func aBodyThatDoesNotComeEndsTheConnection(_ request: String) async throws {
        try await withServer(["http.requestTimeout": ["1"]]) { bench, port in
            let connection = try await RawConnection.open(port)
            connection.send(request)
            // Sending single bytes does not keep the connection open.
            let dripping = Task {
                while !connection.isClosed {
                    connection.send(request.contains("chunked") ? "1\r\n \r\n" : " ")
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
            try await eventually { connection.isClosed ? true : nil }
            dripping.cancel()
            _ = await dripping.result
            #expect(try await bench.call(.get, "/v1/rooms").value("rooms.0") == nil)
        }
    }

    @Test func aHeadThatDoesNotComeEndsTheConnection() async throws {
        try await withServer(["http.idleTimeout": ["1"]]) { _, port in
            let silent = try await RawConnection.open(port)
            let slow = try await RawConnection.open(port)
            slow.send("GET /healthz HTTP/1.1\r\nX-Slow: ")
            let dripping = Task {
                while !slow.isClosed {
                    slow.send("a")
                    try await Task.sleep(for: .milliseconds(200))
                }
            }
            try await eventually { silent.isClosed && slow.isClosed ? true : nil }
            dripping.cancel()
            _ = await dripping.result
        }
    }

    @Test func aChunkedBodyHasTheSameLimit() async throws {
        try await withServer { _, port in
            let connection = try await RawConnection.open(port)
            connection.send("POST /v1/rooms/a/events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: " ", count: 0x10000) + "\r\n"
            for _ in 0..<20 { connection.send(chunk) }
            connection.send("0\r\n\r\n")
            try await eventually { connection.text.contains("body-too-large") ? true : nil }
            #expect(connection.text.hasPrefix("HTTP/1.1 413 "))
            connection.close()
        }
    }

    @Test func aBodyWithoutEndIsNotReadForEver() async throws {
        try await withServer { bench, port in
            let connection = try await RawConnection.open(port)
            connection.send("POST /v1/rooms/a/events HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "10000\r\n" + String(repeating: " ", count: 0x10000) + "\r\n"
            for _ in 0..<400 { connection.send(chunk) }
            try await eventually { connection.isClosed ? true : nil }
            #expect(try await bench.call(.get, "/healthz").status == 200)
        }
    }

    @Test func moreConnectionsThanAllowedWait() async throws {
        try await withApplication(["http.maxConnections": ["2"]]) { port in
            let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
            var open: [RawConnection] = []
            for _ in 0..<2 {
                let connection = try await RawConnection.open(port)
                connection.send(request)
                try await eventually { connection.text.contains("ok") ? true : nil }
                open.append(connection)
            }
            let third = try await RawConnection.open(port)
            third.send(request)
            // The other connections are served meanwhile.
            open[1].send(request)
            try await eventually { open[1].text.components(separatedBy: "HTTP/1.1 200").count == 3 ? true : nil }
            #expect(third.text.isEmpty)
            open[0].close()
            try await eventually { third.text.contains("ok") ? true : nil }
            third.close()
            open[1].close()
        }
    }

    /// A client pipelines requests and reads no answer: the service stops reading until its answers are read.
    @Test func requestsThatAreSentAheadAreAnsweredInOrder() async throws {
        try await withServer { _, port in
            let connection = try await RawConnection.open(port)
            connection.send(
                (0..<200).map { "GET /v1/rooms/r\($0) HTTP/1.1\r\nHost: localhost\r\n\r\n" }.joined())
            try await eventually { connection.text.contains("PUT /v1/rooms/r199") ? true : nil }
            let named = connection.text.matches(of: #/"detail":"r(\d+):/#).map { Int($0.1) }
            #expect(named == (0..<200).map { $0 })
            connection.close()
        }
    }

    @Test(arguments: ["Host: localhost\r\nHost: localhost", "Host: localhost\r\nX: y\r\nhost: evil.example"])
    func twoHostsAreRefused(_ hosts: String) async throws {
        try await withServer { bench, port in
            for path in ["/healthz", "/", "/v1/rooms", "/live/a.flv"] {
                let connection = try await RawConnection.open(port)
                connection.send("GET \(path) HTTP/1.1\r\n\(hosts)\r\n\r\n")
                try await eventually { connection.isClosed ? true : nil }
                #expect(connection.text.hasPrefix("HTTP/1.1 400 "), "\(connection.text)")
                #expect(connection.text.contains("urn:mixorchestrator:problem:two-hosts"))
            }
            #expect(try await bench.call(.get, "/healthz").status == 200)
        }
    }

    @Test(arguments: ["zz\r\n{}\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\n{", "-1\r\n{}\r\n", "2\r\n{}xx0\r\n\r\n"])
    func aBodyThatIsNoHTTPIsTheCallersFault(_ body: String) async throws {
        try await withServer { bench, port in
            for path in ["/v1/rooms/a/events", "/v1/layouts/a/plan", "/"] {
                let connection = try await RawConnection.open(port)
                let type = "Content-Type: application/x-www-form-urlencoded\r\n"
                connection.send("POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(type)Transfer-Encoding: chunked\r\n\r\n")
                // The service is reading the body by now.
                try await Task.sleep(for: .milliseconds(20))
                connection.send(body)
                try await eventually { connection.isClosed ? true : nil }
                #expect(connection.text.hasPrefix("HTTP/1.1 4"), "\(path): \(connection.text)")
                #expect(!connection.text.contains("HTTP/1.1 5"), "\(path): \(connection.text)")
            }
            #expect(!bench.log.text.contains("Internal error"))
            #expect(try await bench.call(.get, "/metrics").text.contains(#"status="500""#) == false)
        }
    }

    // MARK: Expect: 100-continue

    private static let expecting = "Host: localhost\r\nExpect: 100-continue\r\nContent-Type: application/json\r\n"
    private static let event = #"{"type":"room.opened"}"#

    @Test func aBodyThatIsWantedIsAskedFor() async throws {
        try await withServer { _, port in
            let connection = try await RawConnection.open(port)
            // Two such requests use one connection.
            for count in 1...2 {
                connection.send(
                    "POST /v1/rooms/a/events HTTP/1.1\r\n\(Self.expecting)Content-Length: \(Self.event.utf8.count)\r\n\r\n"
                )
                try await eventually {
                    connection.text.components(separatedBy: "HTTP/1.1 100 Continue\r\n\r\n").count == count + 1
                        ? true : nil
                }
                connection.send(Self.event)
                try await eventually {
                    connection.text.components(separatedBy: "HTTP/1.1 202 ").count == count + 1 ? true : nil
                }
            }
            #expect(!connection.isClosed)
            connection.close()
        }
    }

    @Test(arguments: [
        ("POST /v1/nothing", "404"), ("POST /v1/rooms", "405"), ("PUT /v1/rooms/a", "413"), ("POST /", "403"),
        ("GET /v1/rooms", "200"),
    ]) func aBodyThatIsNotWantedIsNotAskedFor(_ request: String, _ status: String) async throws {
        try await withServer { bench, port in
            let connection = try await RawConnection.open(port)
            connection.send("\(request) HTTP/1.1\r\n\(Self.expecting)Content-Length: 9000000\r\n\r\n")
            // The service cannot know whether the client sends the body all the same, so it closes the connection.
            try await eventually { connection.isClosed ? true : nil }
            #expect(connection.text.hasPrefix("HTTP/1.1 \(status) "), "\(connection.text)")
            #expect(!connection.text.contains("100 Continue"))
            #expect(connection.text.lowercased().contains("connection: close"))
        }
    }

    @Test func aClientThatDoesNotWaitIsServedAsEver() async throws {
        try await withServer { _, port in
            let connection = try await RawConnection.open(port)
            let request =
                "POST /v1/rooms/a/events HTTP/1.1\r\n\(Self.expecting)Content-Length: \(Self.event.utf8.count)\r\n\r\n"
                + Self.event
            connection.send(request + "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await eventually { connection.text.contains("HTTP/1.1 200 ") ? true : nil }
            #expect(connection.text.contains("HTTP/1.1 202 "))
            connection.close()
        }
    }

    @Test func aPageOfAnotherPlaceIsRefusedOnTheWireToo() async throws {
        try await withServer { _, port in
            let connection = try await RawConnection.open(port)
            connection.send("GET /v1/rooms HTTP/1.1\r\nHost: rebound.example:\(port)\r\n\r\n")
            try await eventually { connection.text.contains("host-refused") ? true : nil }
            #expect(connection.text.hasPrefix("HTTP/1.1 421 "))
            connection.close()
        }
    }
}

/// A connection on which a test writes arbitrary bytes.
final class RawConnection: Sendable {
    private struct State {
        // Bytes, not text, since a character may arrive in two pieces.
        var bytes: [UInt8] = []
        var isClosed = false
    }
    private let state = Mutex(State())
    private let channel: any Channel

    var text: String { String(decoding: state.withLock { $0.bytes }, as: UTF8.self) }
    /// Whether the other side has closed the connection.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    static func open(_ port: Int) async throws -> RawConnection {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port).get()
        let connection = RawConnection(channel)
        try await channel.pipeline.addHandler(Reader(connection)).get()
        return connection
    }

    private init(_ channel: any Channel) {
        self.channel = channel
        channel.closeFuture.whenComplete { [weak self] _ in self?.state.withLock { $0.isClosed = true } }
    }

    func send(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }
    func close() { channel.close(promise: nil) }

    private final class Reader: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let connection: RawConnection

        init(_ connection: RawConnection) { self.connection = connection }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            connection.state.withLock { $0.bytes += buffer.readableBytesView }
        }
    }
}
