import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import TestSupport
import Testing

@testable import ProgramRelay

/// Every kind of pull at a relay whose server goes away and returns: the time to its first frame, the time until the
/// relay notices the loss, and the time until it is back. Prints the table of docs/pulls.md.
///
/// Only in `make test-long`: it measures times of third-party senders, and each kind has separate tests.
@Suite(
    .serialized, .timeLimit(.minutes(10)), .enabled(if: PullSender.hasRTSPServer && TestLength.isLong))
struct PullMatrixTests {
    /// A kind of pull with its server.
    private struct Row: Sendable {
        var name: String
        var url: String
        /// Time for which media continue that were fetched before the server stopped.
        var fetched = Duration.zero
        /// The directory with the files that may be played.
        var media: String?
        /// Starts the server; returns, when it listens or a mere sender has a socket, the function that ends it.
        var serve: @Sendable () async throws -> @Sendable () async -> Void
    }

    private static let codecs = [
        "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "15", "-pix_fmt", "yuv420p", "-c:a",
        "aac",
        "-ac", "2", "-f", "mpegts",
    ]
    /// Time of a server's absence, in seconds.
    private static let away = TestLength.of(short: 3, long: 20)

    private static let input = [
        "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-f", "lavfi", "-i", "sine=f=440:r=48000",
        "-t", "120",
    ]

    private static func ffmpeg(_ arguments: [String]) throws -> PullSender {
        try PullSender("/usr/bin/ffmpeg", arguments)
    }

    /// Waits until a process has its own socket.
    private static func begun(_ sender: PullSender) async throws -> @Sendable () async -> Void {
        #expect(try await outputEventually { sender.hasSocket })
        return { sender.stop() }
    }

    private static func sends(
        _ name: String, _ url: String, _ target: [String]
    ) -> Row {
        Row(name: name, url: url) { try await begun(ffmpeg(input + codecs + target)) }
    }

    private static func rtsp(
        _ name: String, _ scheme: String = "rtsp", pictures: String? = nil, sound: String = "opusenc ! rtpopuspay"
    ) throws -> Row {
        let port = try PullSender.freePort()
        return Row(name: name, url: "\(scheme)://127.0.0.1:\(port)/live") {
            let encoder = pictures ?? "x264enc tune=zerolatency key-int-max=15 ! rtph264pay config-interval=1"
            let server = try PullSender.rtsp(port, pictures: encoder, sound: sound)
            #expect(try await outputEventually { PullSender.isListening(port) })
            return { server.stop() }
        }
    }

    /// Starts nginx-rtmp, to which ffmpeg publishes.
    private static func rtmp() async throws -> Row {
        let first = try await OutputMediaServer.start()
        await first.stop()
        let (directory, ports) = (first.directory, (first.rtmpPort, first.httpPort))
        return Row(name: "RTMP", url: first.url("alice")) {
            let server = try await OutputMediaServer.start(in: directory, ports: ports)
            let publisher = try ffmpeg(input + codecs.dropLast(2) + ["-f", "flv", server.url("alice")])
            #expect(try await outputEventually { try await server.isPublished("alice") })
            return {
                publisher.stop()
                await server.remove()
            }
        }
    }

    /// Starts a Python server that gives each client the output of a separate ffmpeg.
    private static func flv() throws -> Row {
        let port = try PullSender.freePort()
        let program = """
            import ctypes, http.server, subprocess, sys
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    self.send_response(200)
                    self.end_headers()
                    subprocess.run(sys.argv[1:], stdout=self.connection, preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9))
            http.server.ThreadingHTTPServer(('127.0.0.1', \(port)), Handler).serve_forever()
            """
        return Row(name: "HTTP-FLV", url: "http://127.0.0.1:\(port)/live.flv") {
            let command = ["ffmpeg", "-nostdin"] + input + codecs.dropLast(2) + ["-f", "flv", "pipe:1"]
            let server = try PullSender("/usr/bin/python3", ["-c", program] + command)
            #expect(try await outputEventually { PullSender.isListening(port) })
            return { server.stop() }
        }
    }

    /// Starts nginx with segments of a second, which ffmpeg writes meanwhile.
    private static func hls() async throws -> (row: Row, writer: PullSender) {
        let server = try await HLSServer()
        server.stop()
        try server.makeDirectory("live")
        let writer = try ffmpeg(
            input + codecs.dropLast(2) + [
                "-hls_time", "1", "-hls_list_size", "5", "-hls_flags", "delete_segments", "-f", "hls",
                server.path("live/x.m3u8"),
            ])
        #expect(try await outputEventually { server.exists("live/x.m3u8") })
        let row = Row(name: "HLS", url: "\(server.url)/live/x.m3u8", fetched: .seconds(5)) {
            try await server.start()
            return { server.stop() }
        }
        return (row, writer)
    }

    private static func sdp() throws -> Row {
        let directory = FileManager.default.temporaryDirectory.appending(path: "sdp-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let (pictures, sounds) = (try PullSender.freePort(), try PullSender.freePort())
        let file = directory.appending(path: "live.sdp").path
        return Row(name: "RTP with SDP", url: "file://localhost/live.sdp", media: directory.path) {
            let sender = try PullSender.rtp(pictures, sounds, sound: ["aac"], description: file)
            #expect(try await outputEventually { FileManager.default.fileExists(atPath: file) })
            return try await begun(sender)
        }
    }

    private static func rows() throws -> [Row] {
        let ports = try (0..<6).map { _ in try PullSender.freePort() }
        let secret = "passphrase=correct-horse"
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
                let sender = try ffmpeg(input + codecs + ["srt://127.0.0.1:\(ports[0])?mode=listener&\(secret)"])
                #expect(try await outputEventually { PullSender.isBound(ports[0]) })
                return { sender.stop() }
            },
            sends(
                "SRT, listener", "srt://127.0.0.1:\(ports[1])?mode=listener&\(secret)",
                ["srt://127.0.0.1:\(ports[1])?mode=caller&\(secret)"]),
            Row(name: "SRT, rendezvous", url: "srt://127.0.0.2:\(ports[2])?mode=rendezvous&\(secret)") {
                try await begun(.rendezvous(ports[2]))
            },
            sends("MPEG-TS over UDP", "udp://127.0.0.1:\(ports[3])", ["udp://127.0.0.1:\(ports[3])?pkt_size=1316"]),
            sends(
                "MPEG-TS over RTP", "rtp://127.0.0.1:\(ports[4])", ["-f", "rtp_mpegts", "rtp://127.0.0.1:\(ports[4])"]),
            try flv(), try sdp(),
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
        let (hls, writer) = try await Self.hls()
        for row in try Self.rows() + [try await Self.rtmp(), hls] { try await Self.measure(row) }
        writer.stop()
    }

    private static func measure(_ row: Row) async throws {
        let rig = try await RelayRig(environment: row.media.map { ["MIXWORKER_MEDIA": $0] } ?? [:])
        var stop = try await row.serve()
        var begun = ContinuousClock.now
        try rig.apply(.bypass("a/camera"), scene(), [PlannedSource(id: "a/camera", url: row.url)])
        #expect(
            try await outputEventually { isLive(rig) },
            "\(row.name): \(String(describing: rig.status?.sources.first))")
        let first = ContinuousClock.now - begun
        try await Task.sleep(for: .seconds(2))
        begun = ContinuousClock.now
        await stop()
        #expect(try await outputEventually { rig.status?.sources.first.map { $0.state != .live } == true })
        let noticed = ContinuousClock.now - begun
        try await Task.sleep(for: .seconds(away))
        stop = try await row.serve()
        begun = ContinuousClock.now
        #expect(try await outputEventually { isLive(rig) }, "\(row.name)")
        let back = ContinuousClock.now - begun
        func seconds(_ time: Duration) -> String { String(format: "%.2f s", time / .seconds(1)) }
        print("| \(row.name) | \(seconds(first)) | \(seconds(noticed)) | \(seconds(back)) |")
        // 2 s, 1 s and 1 s are promised and shown in the table; a single measurement on a busy machine may be longer.
        #expect(first < .seconds(6), "\(row.name)")
        #expect(noticed < .seconds(4) + row.fetched, "\(row.name)")
        #expect(back < .seconds(4), "\(row.name)")
        await stop()
        try await rig.stop()
    }
}

extension PullSender {
    /// Sends MPEG-TS over SRT from 127.0.0.2 in rendezvous with 127.0.0.1, which ffmpeg cannot do between two
    /// addresses.
    static func rendezvous(_ port: UInt16) throws -> PullSender {
        let description = """
            videotestsrc is-live=true ! video/x-raw,width=320,height=180,framerate=30/1 ! \
            x264enc tune=zerolatency key-int-max=15 ! mpegtsmux name=mux ! srtsink wait-for-connection=false \
            uri=srt://127.0.0.1:\(port)?mode=rendezvous localaddress=127.0.0.2 localport=\(port) \
            passphrase=correct-horse audiotestsrc is-live=true ! avenc_aac ! mux.
            """
        return try PullSender(
            "/usr/bin/python3",
            [
                "-c",
                """
                import gi, sys, time
                gi.require_version('Gst', '1.0')
                from gi.repository import Gst
                Gst.init(None)
                pipeline = Gst.parse_launch(sys.argv[1])
                pipeline.set_state(Gst.State.PLAYING)
                time.sleep(120)
                """, description,
            ])
    }
}
