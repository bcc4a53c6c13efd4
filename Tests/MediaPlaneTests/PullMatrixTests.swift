import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import ProgramRelay

/// Every kind of pull at a relay whose server goes away and comes back: when its first frame comes, when the relay notices
/// that it is gone, and when it is back. Prints the table of docs/pulls.md.
///
/// Only in `make test-long`: it measures times of foreign senders, and each kind has tests of its own.
@Suite(
    .serialized, .timeLimit(.minutes(10)), .enabled(if: PullSender.hasRTSPServer && TestLength.isLong))
struct PullMatrixTests {
    /// A kind of pull with its server.
    private struct Row: Sendable {
        var name: String
        var url: String
        /// Starts the server; returns when it listens or, of one that only sends, at once.
        var serve: @Sendable () async throws -> PullSender
        /// Time that the server itself needs for its first frame.
        var start = Duration.zero
    }

    private static let codecs = [
        "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "15", "-pix_fmt", "yuv420p", "-c:a",
        "aac",
        "-ac", "2", "-f", "mpegts",
    ]
    /// Time for which a server is away, in seconds.
    private static let away = TestLength.of(short: 3, long: 20)

    private static func sender(_ target: [String]) -> @Sendable () async throws -> PullSender {
        {
            try PullSender(
                "/usr/bin/ffmpeg",
                [
                    "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-f", "lavfi", "-i",
                    "sine=f=440:r=48000", "-t", "120",
                ] + codecs + target)
        }
    }

    private static func rtsp(
        _ name: String, _ scheme: String = "rtsp", pictures: String? = nil, sound: String = "opusenc ! rtpopuspay"
    ) throws -> Row {
        let port = try PullSender.freePort()
        return Row(name: name, url: "\(scheme)://127.0.0.1:\(port)/live") {
            let encoder = pictures ?? "x264enc tune=zerolatency key-int-max=15 ! rtph264pay config-interval=1"
            let server = try PullSender.rtsp(port, pictures: encoder, sound: sound)
            #expect(try await outputEventually { PullSender.isListening(port) })
            return server
        }
    }

    private static func rows() throws -> [Row] {
        let ports = try (0..<6).map { _ in try PullSender.freePort() }
        let secret = "passphrase=correct-horse"
        let listen = Self.sender(["srt://127.0.0.1:\(ports[0])?mode=listener&\(secret)"])
        return [
            try rtsp("RTSP over TCP, H.264 and Opus"),
            try rtsp("RTSP over UDP, H.264 and Opus", "rtspu"),
            try rtsp(
                "RTSP, H.265 and PCMA",
                pictures:
                    "x265enc tune=zerolatency speed-preset=ultrafast key-int-max=15 ! rtph265pay config-interval=1",
                sound: "audio/x-raw,rate=8000,channels=1 ! alawenc ! rtppcmapay"),
            try rtsp(
                "RTSP, H.264 and L16", sound: "audio/x-raw,rate=48000,channels=2,format=S16BE ! rtpL16pay"),
            Row(name: "SRT, caller", url: "srt://127.0.0.1:\(ports[0])?\(secret)") {
                let sender = try await listen()
                #expect(try await outputEventually { PullSender.isBound(ports[0]) })
                return sender
            },
            Row(
                name: "SRT, listener", url: "srt://127.0.0.1:\(ports[1])?mode=listener&\(secret)",
                serve: Self.sender(["srt://127.0.0.1:\(ports[1])?mode=caller&\(secret)"]), start: .seconds(1)),
            Row(
                name: "SRT, rendezvous", url: "srt://127.0.0.2:\(ports[2])?mode=rendezvous&\(secret)",
                serve: { try PullSender.rendezvous(ports[2]) }, start: .seconds(1)),
            Row(
                name: "MPEG-TS over UDP", url: "udp://127.0.0.1:\(ports[3])",
                serve: Self.sender(["udp://127.0.0.1:\(ports[3])?pkt_size=1316"]), start: .seconds(1)),
            Row(
                name: "MPEG-TS over RTP", url: "rtp://127.0.0.1:\(ports[4])",
                serve: Self.sender(["-f", "rtp_mpegts", "rtp://127.0.0.1:\(ports[4])"]), start: .seconds(1)),
        ]
    }

    private static func scene() -> Scene {
        Scene(
            canvas: Canvas(width: 320, height: 180, fps: 30),
            panes: [Pane(source: "a/camera", user: "a", x: 0, y: 0, width: 320, height: 180, fit: .stretch)],
            sound: SceneSound(levels: [.init(source: "a/camera")]), transition: .cut)
    }

    private static func isLive(_ rig: RelayRig) -> Bool { rig.status?.sources.first?.state == .live }

    @Test func everyKindIsQuickNoticedAndBack() async throws {
        print("| | first frame | stall noticed | back after \(Self.away) s |\n|---|---|---|---|")
        for row in try Self.rows() {
            let rig = try await RelayRig()
            var server = try await row.serve()
            var begun = ContinuousClock.now
            try rig.apply(.bypass("a/camera"), Self.scene(), [PlannedSource(id: "a/camera", url: row.url)])
            #expect(
                try await outputEventually { Self.isLive(rig) },
                "\(row.name): \(String(describing: rig.status?.sources.first))")
            let first = ContinuousClock.now - begun
            try await Task.sleep(for: .seconds(2))
            begun = ContinuousClock.now
            server.stop()
            #expect(try await outputEventually { rig.status?.sources.first.map { $0.state != .live } == true })
            let noticed = ContinuousClock.now - begun
            try await Task.sleep(for: .seconds(Self.away))
            begun = ContinuousClock.now
            server = try await row.serve()
            if row.start == .zero { begun = ContinuousClock.now }
            #expect(try await outputEventually { Self.isLive(rig) }, "\(row.name)")
            let back = ContinuousClock.now - begun
            func seconds(_ time: Duration) -> String { String(format: "%.2f s", time / .seconds(1)) }
            print("| \(row.name) | \(seconds(first)) | \(seconds(noticed)) | \(seconds(back)) |")
            #expect(first < .seconds(2) + row.start, "\(row.name)")
            #expect(noticed < .milliseconds(1300), "\(row.name)")
            #expect(back < .milliseconds(1500) + row.start, "\(row.name)")
            server.stop()
            try await rig.stop()
        }
    }
}

extension PullSender {
    /// Sends MPEG-TS over SRT from 127.0.0.2 in rendezvous with 127.0.0.1, which ffmpeg cannot between two addresses.
    static func rendezvous(_ port: UInt16) throws -> PullSender {
        try PullSender(
            "/usr/bin/env",
            """
            gst-launch-1.0 videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=30/1 ! \
            x264enc tune=zerolatency key-int-max=15 ! mpegtsmux name=mux ! srtsink wait-for-connection=false \
            uri=srt://127.0.0.1:\(port)?mode=rendezvous localaddress=127.0.0.2 localport=\(port) \
            passphrase=correct-horse audiotestsrc is-live=true ! avenc_aac ! mux.
            """.split(separator: " ").map(String.init))
    }
}
