import Foundation
import MixModel
import ProgramSplicer
import Synchronization
import Testing
import EncodedMedia

@testable import MediaFormats
@testable import ProgramRelay
@testable import RTMP

/// RTMPS, to a TLS server in front of a real nginx-rtmp.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OutputTLSTests {
    /// Returns an output that trusts the front's certificate.
    private static func output(_ url: String, to front: TLSFront, _ kind: RTMPPullKind = .socket) -> DestinationOutput {
        DestinationOutput(
            PushDestination(id: "o", url: url), preamble: [],
            connect: { [trust = front.trust] url, limits, name in
                switch kind {
                case .socket: try RTMPSocketConnection(url: url, limits: limits, trust: trust)
                case .element: try RTMPConnection(url: url, limits: limits, name: name, trustsAnyone: true)
                }
            })
    }

    /// Returns an output that trusts the system's authorities.
    private static func strictOutput(_ url: String) -> DestinationOutput {
        DestinationOutput(PushDestination(id: "o", url: url), preamble: [])
    }

    private static func ms(since start: ContinuousClock.Instant) -> Int {
        Int((ContinuousClock.now - start) / .milliseconds(1))
    }

    @Test(arguments: RTMPPullKind.allCases) func aProgramGoesOutEncrypted(_ kind: RTMPPullKind) async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let tags = try await outputProgram(seconds: 8)
        let viewer = PullRecorder(url: server.url("secret"))
        #expect(try await outputEventually { viewer.hasBegun })
        let output = Self.output("rtmps://localhost:\(front.port)/live/secret", to: front, kind)
        try await output.play(tags)
        let sent = tags.filter { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { viewer.frames.count == sent.count },
            "\(viewer.frames.count) of \(sent.count) frames; \(output.status)")
        for track in [FLVTag.Kind.video, .audio] {
            #expect(viewer.frames.filter { $0.kind == track } == sent.filter { $0.kind == track })
        }
        #expect(output.status.state == .live && output.status.lastError == nil && output.droppedFrames == 0)
        let start = ContinuousClock.now
        await output.close()
        #expect(ContinuousClock.now - start < .seconds(3))
        // A server that is not told of the end takes a minute to notice it.
        #expect(try await outputEventually(within: .seconds(30)) { try await !server.isPublished("secret") })
        if kind == .socket {
            // All bytes were counted, with a few bytes of RTMP around each tag.
            let bytes = Int64(tags.reduce(0) { $0 + $1.encoded.count })
            #expect(abs(output.status.bytesSent - bytes) < bytes / 20, "\(output.status.bytesSent) of \(bytes)")
        }
        // A wrong key has the same effect behind TLS.
        let refused = Self.output("rtmps://localhost:\(front.port)/guarded/name?key=wrong", to: front, kind)
        refused.send(tags)
        #expect(try await outputEventually { refused.status.state == .recovering })
        print("RTMPS, wrong key:", refused.status.lastErrorCode ?? "", refused.status.lastError ?? "")
        #expect(refused.status.lastErrorCode == .publishRefused)
        #expect(refused.status.lastError?.contains("wrong") == false)
        await refused.close()
        await viewer.close()
        front.stop()
        await server.remove()
    }

    @Test func anAddressInDigitsIsThatOfTheCertificate() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort, names: "IP:127.0.0.1")
        let output = Self.output("rtmps://127.0.0.1:\(front.port)/live/digits", to: front)
        output.send(try await outputProgram(seconds: 1))
        #expect(try await outputEventually { output.status.state == .live })
        await output.close()
        front.stop()
        await server.remove()
    }

    /// The data queued when an output is closed reaches the server, even if the connection was only begun.
    @Test func closingSendsWhatWaits() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let viewer = PullRecorder(url: server.url("brief"))
        #expect(try await outputEventually { viewer.hasBegun })
        let tags = try await outputProgram(seconds: 2)
        let output = Self.output("rtmps://localhost:\(front.port)/live/brief", to: front)
        output.send(tags)
        #expect(try await outputEventually { output.hasConnection })
        await output.close()
        let count = tags.count { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { viewer.frames.count == count },
            "\(viewer.frames.count) of \(count) frames; \(output.status)")
        await viewer.close()
        front.stop()
        await server.remove()
    }

    @Test func aSourceIsPulledEncrypted() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let plain = PullRecorder(url: server.url("pulled"))
        let encrypted = PullRecorder(url: "rtmps://localhost:\(front.port)/live/pulled", trust: front.trust)
        #expect(try await outputEventually { plain.hasBegun && encrypted.hasBegun })
        let tags = try await outputProgram(seconds: 3)
        let output = DestinationOutput(PushDestination(id: "o", url: server.url("pulled")), preamble: [])
        try await output.play(tags)
        let count = tags.count { if case .frame = $0.role { true } else { false } }
        #expect(
            try await outputEventually { [plain, encrypted].allSatisfy { $0.frames.count >= count } },
            "\(plain.frames.count) and \(encrypted.frames.count) of \(count) frames, \(plain.endings) \(encrypted.endings)"
        )
        await output.close()
        #expect(plain.items == encrypted.items)
        #expect(try await outputEventually { encrypted.endings == ["the publisher has left"] })
        let stranger = PullRecorder(url: "rtmps://localhost:\(front.port)/live/secret-key")
        #expect(try await outputEventually { !stranger.endings.isEmpty })
        print("RTMPS pull, unknown certificate:", stranger.endings)
        #expect(stranger.endings.first?.contains("self-signed certificate") == true)
        #expect(stranger.endings.first?.contains("secret-key") == false)
        for pull in [plain, encrypted, stranger] { await pull.close() }
        front.stop()
        await server.remove()
    }

    // MARK: What goes wrong

    @Test func aCertificateThatNobodyVouchesForIsNotTrusted() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let output = Self.strictOutput("rtmps://localhost:\(front.port)/live/secret-key")
        output.send(try await outputProgram(seconds: 1))
        #expect(try await outputEventually { output.status.state == .recovering })
        print("RTMPS, unknown certificate:", output.status.lastErrorCode ?? "", output.status.lastError ?? "")
        #expect(output.status.lastErrorCode == .tlsFailed)
        #expect(output.status.lastError?.contains("self-signed certificate") == true)
        #expect(output.status.lastError?.contains("secret-key") == false)
        #expect(output.status.bytesSent == 0)
        await output.close()
        // A server without TLS.
        let plain = Self.strictOutput("rtmps://localhost:\(server.rtmpPort)/live/secret-key")
        #expect(try await outputEventually { plain.status.state == .recovering })
        print("RTMPS, no TLS:", plain.status.lastErrorCode ?? "", plain.status.lastError ?? "")
        // nginx-rtmp does not answer bytes that are not RTMP.
        #expect([.tlsFailed, .timeout].contains(plain.status.lastErrorCode))
        await plain.close()
        // A port without a listener.
        let nobody = Self.strictOutput("rtmps://localhost:1/live/secret-key")
        #expect(try await outputEventually { nobody.status.state == .recovering })
        print("RTMPS, nobody:", nobody.status.lastErrorCode ?? "", nobody.status.lastError ?? "")
        #expect(nobody.status.lastErrorCode == .connectionRefused)
        await nobody.close()
        front.stop()
        await server.remove()
    }

    @Test func aCertificateOfSomebodyElseIsRefused() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort, names: "DNS:elsewhere.example")
        let output = Self.output("rtmps://localhost:\(front.port)/live/secret-key", to: front)
        output.send(try await outputProgram(seconds: 1))
        #expect(try await outputEventually { output.status.state == .recovering })
        print("RTMPS, another's certificate:", output.status.lastErrorCode ?? "", output.status.lastError ?? "")
        #expect(output.status.lastErrorCode == .tlsFailed)
        #expect(output.status.lastError?.contains("hostname mismatch") == true)
        #expect(output.status.lastError?.contains("secret-key") == false)
        await output.close()
        front.stop()
        await server.remove()
    }

    /// Servers that do not answer, give another answer, or close.
    @Test func whoSpeaksNoTLSIsNamed() async throws {
        let silent = try RTMPOddServer()
        let web = try RTMPOddServer(saying: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), closes: true)
        let brief = try RTMPOddServer(closes: true)
        defer { for server in [silent, web, brief] { server.stop() } }
        for (server, code, words) in [
            (silent, OutputErrorCode.timeout, "no answer to the TLS handshake within 5 s"),
            (web, .tlsFailed, "TLS: wrong version number"), (brief, .connectionLost, "during the TLS handshake"),
        ] {
            let output = Self.strictOutput("rtmps://localhost:\(server.port)/live/secret-key")
            #expect(try await outputEventually { output.status.lastErrorCode == code }, "\(output.status)")
            print("RTMPS, \(code):", output.status.lastError ?? "")
            #expect(output.status.lastError?.contains(words) == true, "\(output.status)")
            #expect(output.status.lastError?.contains("secret-key") == false)
            await output.close()
        }
    }

    /// The connection stays open without a reader, and no error ever arrives.
    ///
    /// The output notices it even before the server has acknowledged often enough to be known for it.
    @Test(arguments: [(300, 4), (300, 1), (1500, 4)])
    func aConnectionThatIsWedgedIsNoticed(kilobits: Int, seconds: Int) async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let proxy = try FaultyProxy(to: front.port)
        let tags = try await outputProgram(seconds: 60, bitrate: "\(kilobits)k")
        let output = Self.output("rtmps://localhost:\(proxy.port)/live/wedged", to: front)
        let playing = Task { try await output.play(tags) }
        #expect(try await outputEventually { output.status.state == .live })
        try await output.expectWedgeNoticed(
            "RTMPS, frozen proxy, \(kilobits) kbit/s for \(seconds) s",
            afterBytes: Int64(kilobits * seconds) * 1000 / 8
        ) { proxy.set(.frozen) }
        // The next attempt meets the frozen proxy, too.
        #expect(try await outputEventually { proxy.accepted >= 2 })
        #expect(output.status.state == .recovering)
        proxy.set(.pass)
        let thawed = ContinuousClock.now
        #expect(try await outputEventually { output.status.state == .live })
        print("RTMPS, frozen proxy, \(kilobits) kbit/s: live again after \(Self.ms(since: thawed)) ms")
        playing.cancel()
        _ = await playing.result
        await output.close()
        proxy.stop()
        front.stop()
        await server.remove()
    }

    /// The front continues to accept bytes when the server behind it hangs: only messages of the server itself prove
    /// that it reads.
    @Test func aServerThatHangsBehindItsFrontIsNoticed() async throws {
        let server = try await OutputMediaServer.start()
        let front = try await TLSFront(to: server.rtmpPort)
        let tags = try await outputProgram(seconds: 60, bitrate: "1500k")
        let output = Self.output("rtmps://localhost:\(front.port)/live/hangs", to: front)
        let playing = Task { try await output.play(tags) }
        try await output.expectWedgeNoticed("RTMPS, server hangs", afterBytes: 800_000) { try server.signal(SIGSTOP) }
        try server.signal(SIGCONT)
        #expect(try await outputEventually { output.status.state == .live })
        playing.cancel()
        _ = await playing.result
        await output.close()
        front.stop()
        await server.remove()
    }
}
