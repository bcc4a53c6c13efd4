import HTTPTypes
import HummingbirdTesting
import MixModel
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

private typealias Program = ScriptedProgram

/// Viewers over HTTP on real connections, with a scripted relay.
struct ViewerRouteTests {
    private func withProgram(
        settings: [String: [String]] = [:], room: String = "demo",
        _ body: @escaping @Sendable (Bench, ScriptedRelay) async throws -> Void
    ) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(.ahc(.http), directory: directory, settings: settings) { bench in
                try await bench.publish("alice", room: room)
                let relay = try await eventually { () -> ScriptedRelay? in
                    let isThere = try await bench.call(.get, "/v1/tasks/auto-\(room)").value("onAir") == "bypass"
                    return isThere ? bench.relays.started.first : nil
                }
                try await body(bench, relay)
            }
        }
    }

    private func names(_ viewer: RawViewer) throws -> [String] {
        try Program.scanned(viewer.content).map(\.name)
    }

    @Test func viewersShareOneConnectionAndBeginAtTheLastKeyframe() async throws {
        try await withProgram { bench, relay in
            let first = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(first).contains("I0") ? true : nil }
            #expect(first.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            for line in ["Content-Type: video/x-flv", "Vary: Origin", "Cache-Control: no-store"] {
                #expect(first.head.contains("\r\n\(line)\r\n"), "\(first.head)")
            }
            relay.sendToViewers(Program.picture(50) + Program.picture(100, isIDR: true) + Program.sound(104))
            try await eventually { try names(first).last == "s104" ? true : nil }
            let second = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(second).last == "s104" ? true : nil }
            relay.sendToViewers(Program.picture(150))
            for viewer in [first, second] {
                try await eventually { try names(viewer).last == "P150" ? true : nil }
            }
            #expect(try names(first) == ["m@0", "V1@0", "A1@0", "I0", "P50", "I100", "s104", "P150"])
            #expect(try names(second) == ["m@100", "V1@100", "A1@100", "I100", "s104", "P150"])
            #expect(relay.viewerCount == 1)
            // The viewers are counted.
            #expect(try await bench.call(.get, "/v1/rooms/demo").value("viewers") == "2")
            #expect(try await bench.call(.get, "/v1/tasks/auto-demo").value("viewers") == "2")
            let metrics = try await bench.call(.get, "/metrics").text
            #expect(metrics.contains("\nviewers 2\n"))
            try await second.close()
            // The service notices a closed connection at one of the next pictures.
            try await eventually {
                relay.sendToViewers(Program.picture(200))
                return try await bench.call(.get, "/v1/rooms/demo").value("viewers") == "1" ? true : nil
            }
            #expect(try await bench.call(.get, "/metrics").text.contains("\nviewer_sent_bytes_total"))
            try await first.close()
        }
    }

    @Test func viewersGetTheLayoutThatTheyBeginWithAndItsChanges() async throws {
        try await withProgram { bench, relay in
            let first = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(first).last == "I0" ? true : nil }
            relay.sendToViewers(Program.layout("a", at: 100) + Program.picture(100, isIDR: true))
            try await eventually { try names(first).last == "I100" ? true : nil }
            let second = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(second).last == "I100" ? true : nil }
            relay.sendToViewers(Program.layout("b", at: 150) + Program.picture(150))
            for viewer in [first, second] {
                try await eventually { try names(viewer).last == "P150" ? true : nil }
            }
            #expect(try names(first) == ["m@0", "V1@0", "A1@0", "I0", "La@100", "I100", "Lb@150", "P150"])
            #expect(try names(second) == ["m@100", "V1@100", "A1@100", "La@100", "I100", "Lb@150", "P150"])
            try await first.close()
            try await second.close()
        }
    }

    @Test func theBodyEndsWithTheProgram() async throws {
        try await withProgram { bench, relay in
            let viewer = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(viewer).last == "I0" ? true : nil }
            relay.sendToViewers(Program.picture(50))
            #expect(try await bench.call(.delete, "/v1/tasks/auto-demo").status == 200)
            try await eventually { viewer.hasEnded ? true : nil }
            #expect(try names(viewer).last == "P50")
            // The connection can be used for another request.
            viewer.send("HEAD /live/demo.flv HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await eventually { viewer.rest.hasPrefix("HTTP/1.1 404 ") ? true : nil }
            try await viewer.close()
        }
    }

    @Test func viewersStayWhenTheConnectionToTheRelayBreaks() async throws {
        try await withProgram { bench, relay in
            let viewer = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(viewer).last == "I0" ? true : nil }
            relay.sendToViewers(Program.picture(50))
            try await eventually { try names(viewer).last == "P50" ? true : nil }
            relay.setOpening(Program.opening() + Program.picture(50) + Program.picture(100))
            relay.dropViewers()
            try await eventually { try names(viewer).last == "P100" ? true : nil }
            #expect(try names(viewer) == ["m@0", "V1@0", "A1@0", "I0", "P50", "P100"])
            // The service drops a relay's connection that sends nonsense and connects again.
            relay.setOpening(Program.opening() + Program.picture(50) + Program.picture(100) + Program.picture(150))
            relay.sendToViewers(Array("nonsense, and long enough".utf8))
            try await eventually { try names(viewer).last == "P150" ? true : nil }
            try await viewer.close()
        }
    }

    @Test func viewersStayWhenTheRelayIsLost() async throws {
        try await withProgram { bench, relay in
            let viewer = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(viewer).last == "I0" ? true : nil }
            relay.sendToViewers(Program.picture(50_000))
            relay.kill()
            let next = try await eventually { bench.relays.running.first { $0 !== relay } }
            try await eventually { next.viewerCount == 1 ? true : nil }
            next.sendToViewers(Program.picture(60_000, isIDR: true))
            try await eventually { try names(viewer).last == "I60000" ? true : nil }
            try await viewer.close()
        }
    }

    @Test func aSlowViewerSkipsToAKeyframeAndOthersMissNothing() async throws {
        try await withProgram(settings: ["playback.latencyCapMs": ["1000"]]) { bench, relay in
            let slow = try await RawViewer.open(bench, "/live/demo.flv", isSlow: true)
            let quick = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(quick).last == "I0" ? true : nil }
            // More than sockets buffer, and quickly: a viewer that takes nothing for half a minute is disconnected.
            for number in 1...150 {
                let timestamp = UInt32(number * 100)
                relay.sendToViewers(Program.picture(timestamp, isIDR: number % 10 == 0, size: 100_000))
                try await eventually { quick.newestTimestamp == timestamp ? true : nil }
            }
            slow.startReading()
            try await eventually { slow.newestTimestamp == 15_000 ? true : nil }
            let pictures = try Program.scanned(quick.content).filter { $0.name.first == "I" || $0.name.first == "P" }
            #expect(pictures.count == 151)
            let seen = try Program.scanned(slow.content).filter { $0.name.first == "I" || $0.name.first == "P" }
            #expect(seen.count < 150)
            for (before, after) in zip(seen, seen.dropFirst()) {
                #expect(after.timestamp == before.timestamp + 100 || after.role == .picture(isIDR: true))
            }
            let skips = try await bench.call(.get, "/metrics").text.firstMatch(of: /\nviewer_skips_total (\d+)/)
            #expect(skips.flatMap { Int($0.1) } ?? 0 > 0)
            try await slow.close()
            try await quick.close()
        }
    }

    @Test func signedURLsAreAskedFor() async throws {
        let key = "0123456789abcdef"
        let settings = ["playback.key": [key], "playback.cors": ["https://player.example"]]
        try await withProgram(settings: settings) { bench, _ in
            let origin: HTTPFields = [.origin: "https://player.example"]
            let refused = try await bench.call(.get, "/live/demo.flv", headers: origin)
            #expect(refused.status == 403)
            #expect(try refused.value("type") == "urn:mixorchestrator:problem:playback-refused")
            // A page may read the reason.
            #expect(refused.headers[.accessControlAllowOrigin] == "https://player.example")
            #expect(try await bench.call(.head, "/live/demo.flv").status == 403)
            let raw = try await RawConnection.open(try #require(bench.client.port))
            raw.send("HEAD /live/demo.flv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            try await eventually { raw.isClosed ? true : nil }
            #expect(
                raw.text.hasPrefix("HTTP/1.1 403 ") && raw.text.hasSuffix("\r\n\r\n"),
                "a refusal has a body for GET alone")
            let past = PlaybackAccess.authKey(path: "/live/demo.flv", time: 1000, key: key)
            let expired = try await bench.call(.get, "/live/demo.flv?auth_key=\(past)")
            #expect(try expired.status == 403 && expired.value("detail")?.contains("expired") == true)
            let good = PlaybackAccess.authKey(path: "/live/demo.flv", time: 4_000_000_000, key: key)
            #expect(try await bench.call(.head, "/live/demo.flv?auth_key=\(good)").status == 200)
            #expect(try await bench.call(.head, "/live/default/demo.flv?auth_key=\(good)").status == 403)
            let viewer = try await RawViewer.open(bench, "/live/demo.flv?auth_key=\(good)")
            try await eventually { try names(viewer).last == "I0" ? true : nil }
            try await viewer.close()
            let preflight = try await bench.call(.options, "/live/demo.flv", headers: origin)
            #expect(preflight.status == 204)
            #expect(preflight.headers[.accessControlAllowOrigin] == "https://player.example")
            #expect(!bench.log.text.contains(good))
            for text in [refused.text, expired.text] { #expect(!text.contains(key) && !text.contains(past)) }
        }
    }

    @Test func whoFindsNoPlaceIsToldWhenToComeBack() async throws {
        let settings = ["playback.maxViewersPerProgram": ["1"], "playback.cors": ["https://player.example"]]
        try await withProgram(settings: settings) { bench, relay in
            let viewer = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(viewer).last == "I0" ? true : nil }
            let origin: HTTPFields = [.origin: "https://player.example"]
            let full = try await bench.call(.get, "/live/demo.flv", headers: origin)
            #expect(full.status == 503)
            #expect(try full.value("type") == "urn:mixorchestrator:problem:viewers-full")
            #expect(full.headers[.retryAfter] == "10")
            #expect(full.headers[.accessControlAllowOrigin] == "https://player.example")
            #expect(try await bench.call(.head, "/live/demo.flv").status == 200)
            try await viewer.close()
            // The service notices the closed connection at the next picture.
            try await eventually {
                relay.sendToViewers(Program.picture(50))
                return try await bench.call(.get, "/v1/rooms/demo").value("viewers") == "0" ? true : nil
            }
            let next = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(next).contains("I0") ? true : nil }
            #expect(try await bench.call(.get, "/metrics").text.contains("\nviewers_refused_total 1\n"))
            try await next.close()
        }
    }

    @Test func aViewerWaitsForAProgramThatIsJustStarting() async throws {
        try await withProgram { bench, relay in
            relay.setOpening(Program.fileHeader())
            let viewer = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { relay.viewerCount == 1 ? true : nil }
            #expect(viewer.head.isEmpty)
            relay.sendToViewers(Program.opening(at: 3).dropFirst(13) + [])
            try await eventually { try viewer.head.isEmpty ? nil : names(viewer).last == "I3" ? true : nil }
            try await viewer.close()
        }
    }

    @Test func aShutdownEndsTheBody() async throws {
        let box = LockedBox<RawViewer?>(nil)
        try await withProgram { bench, _ in
            let viewer = try await RawViewer.open(bench, "/live/demo.flv")
            try await eventually { try names(viewer).last == "I0" ? true : nil }
            box.value = viewer
        }
        let viewer = try #require(box.value)
        try await eventually { viewer.hasEnded ? true : nil }
        try await viewer.close()
    }
}

/// A connection that requests one program and keeps what it receives.
final class RawViewer: Sendable {
    private struct State {
        var head = ""
        var content: [UInt8] = []
        var rest: [UInt8] = []
        var hasEnded = false
        var newestTimestamp: UInt32 = 0
    }
    private let state = Mutex(State())
    private let channel: any Channel

    /// The answer's head; empty until it has arrived.
    var head: String { state.withLock { $0.head } }
    /// The content of the complete chunks.
    var content: [UInt8] { state.withLock { $0.content } }
    /// Whether the last chunk has arrived.
    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    /// The bytes after the body.
    var rest: String { state.withLock { String(decoding: $0.rest, as: UTF8.self) } }
    /// The timestamp of the last tag in the newest chunk.
    var newestTimestamp: UInt32 { state.withLock { $0.newestTimestamp } }

    /// - Parameter isSlow: Whether it reads nothing before `startReading`.
    static func open(_ bench: Bench, _ uri: String, isSlow: Bool = false) async throws -> RawViewer {
        let port = try #require(bench.client.port)
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.autoRead, value: !isSlow)
            .channelOption(.socketOption(.so_rcvbuf), value: isSlow ? 16 << 10 : 1 << 20)
            .connect(host: "127.0.0.1", port: port).get()
        let viewer = RawViewer(channel)
        try await channel.eventLoop.submit {
            try channel.pipeline.syncOperations.addHandler(Receiver(viewer))
        }.get()
        viewer.send("GET \(uri) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return viewer
    }

    private init(_ channel: any Channel) { self.channel = channel }

    func send(_ text: String) { channel.writeAndFlush(ByteBuffer(string: text), promise: nil) }
    func startReading() { channel.setOption(.autoRead, value: true).whenSuccess { self.channel.read() } }
    func close() async throws { try? await channel.close() }

    private func receive(_ buffer: ByteBuffer) {
        state.withLock { state in
            state.rest += Array(buffer.readableBytesView)
            if state.head.isEmpty {
                guard let end = state.rest.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
                state.head = String(decoding: state.rest[..<end.lowerBound], as: UTF8.self) + "\r\n"
                state.rest.removeSubrange(..<end.upperBound)
            }
            while !state.hasEnded, let line = state.rest.firstRange(of: Array("\r\n".utf8)),
                let size = Int(String(decoding: state.rest[..<line.lowerBound], as: UTF8.self), radix: 16),
                state.rest.count >= line.upperBound + size + 2
            {
                let chunk = state.rest[line.upperBound..<line.upperBound + size]
                state.content += chunk
                if size == 0 { state.hasEnded = true }
                if let tag = try? Program.scanned(
                    chunk.starts(with: "FLV".utf8) ? Array(chunk) : Program.fileHeader() + chunk
                ).last {
                    state.newestTimestamp = tag.timestamp
                }
                state.rest.removeSubrange(..<(line.upperBound + size + 2))
            }
        }
    }

    private final class Receiver: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer
        private let viewer: RawViewer
        init(_ viewer: RawViewer) { self.viewer = viewer }
        func channelRead(context: ChannelHandlerContext, data: NIOAny) { viewer.receive(unwrapInboundIn(data)) }
    }
}
