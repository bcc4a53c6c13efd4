import EncodedMedia
import Foundation
import Synchronization
import Testing
import TextFormats

@testable import ProgramRelay
@testable import RTMP

/// Pulls in separate processes, from real servers and senders.
@Suite(.serialized, .timeLimit(.minutes(6))) struct PullWorkerTests {
    private static let h264 = [
        "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "aac", "-ac",
        "2",
    ]
    private static let others = [
        "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-g", "15", "-pix_fmt", "yuv420p",
        "-c:a", "libopus", "-ac", "2",
    ]

    /// Starts sending a minute of pictures and sound at their own rate.
    private static func send(_ codecs: [String], to target: [String]) throws -> PullSender {
        try PullSender(
            "/usr/bin/ffmpeg",
            [
                "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-f", "lavfi", "-i",
                "sine=f=440:r=48000", "-t", "60",
            ] + codecs + target)
    }

    /// Waits for a second of pictures and sound, and checks that they are decodable and displayable.
    ///
    /// The time from `start` to the first frame is promised within 2 s, and printed: a busy machine does not show it.
    private static func expectMedia(
        _ pull: WorkerPullRecorder, pictures: Int = 30, from start: ContinuousClock.Instant? = nil, _ what: String
    ) async throws {
        #expect(try await outputEventually { !pull.frames.isEmpty || !pull.ends.isEmpty }, "\(what)")
        if let start {
            let took = ContinuousClock.now - start
            print("\(what): first frame after \(took)")
            #expect(took < .seconds(20), "\(what)")
        }
        #expect(
            try await outputEventually {
                pull.frames.count { $0.track == .video } > pictures && pull.frames.count { $0.track == .audio } > 20
            }, "\(what): \(pull.ends), \(pull.frames.count) frames")
        #expect(pull.configured == [.audio, .video], "\(what)")
        for track in Track.allCases {
            let times = pull.frames.filter { $0.track == track }.map(\.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(what): \(track) \(times.prefix(40))")
        }
        #expect(pull.frames.contains { $0.isIDR }, "\(what)")
    }

    @Test func aTestPatternIsPulled() async throws {
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder("test://localhost/ball?size=320x180&fps=30")
        try await Self.expectMedia(pull, from: start, "test")
        #expect(pull.transcoded.isEmpty)
        await pull.close()
        #expect(pull.ends.isEmpty)
    }

    @Test func aFileIsPlayedAtItsRateAndBeginsAgain() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "pull-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let make = try PullSender(
            "/usr/bin/ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=30", "-f", "lavfi", "-i",
                "sine=f=440:r=48000",
                "-t", "1",
            ] + Self.h264 + [directory.appending(path: "clip.mp4").path])
        #expect(try await outputEventually { !make.isRunning })
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder("file://localhost/clip.mp4", media: directory)
        try await Self.expectMedia(pull, pictures: 70, from: start, "file")
        let took = ContinuousClock.now - start
        #expect(took > .milliseconds(2000), "70 pictures of 30 a second in \(took)")
        let times = pull.frames.filter { $0.track == .video }.map(\.dts)
        let steps = zip(times, times.dropFirst()).map { $1 - $0 }.sorted()
        print("a file of 1 s begins again: longest steps \(steps.suffix(2))")
        // Opening the file only when it is complete would take 0.4 s and more, each of two times.
        #expect(steps.count { $0 >= .milliseconds(250) } <= 1, "\(steps.suffix(5))")
        #expect(pull.transcoded.isEmpty)
        await pull.close()

        let once = try WorkerPullRecorder("file://localhost/clip.mp4?loop=no", media: directory)
        #expect(try await outputEventually { once.ends.map(\.kind) == [.ended] }, "\(once.ends)")
        await once.close()
        for (path, words) in [("missing.mp4", "does not exist"), ("link", "leads outside")] {
            try? FileManager.default.createSymbolicLink(
                atPath: directory.appending(path: "link").path, withDestinationPath: "/usr/bin/env")
            let refused = try WorkerPullRecorder("file://localhost/\(path)", media: directory)
            #expect(try await outputEventually { !refused.ends.isEmpty })
            #expect(refused.ends.map(\.kind) == [.refused] && refused.ends[0].words.contains(words), "\(refused.ends)")
            await refused.close()
        }
    }

    @Test(arguments: ["udp", "rtp"]) func packetsAreReceived(scheme: String) async throws {
        let port = try PullSender.freePort()
        let pull = try WorkerPullRecorder("\(scheme)://127.0.0.1:\(port)")
        let target =
            scheme == "udp"
            ? ["-f", "mpegts", "udp://127.0.0.1:\(port)?pkt_size=1316"]
            : ["-f", "rtp_mpegts", "rtp://127.0.0.1:\(port)"]
        let start = ContinuousClock.now
        let sender = try Self.send(Self.h264, to: target)
        try await Self.expectMedia(pull, from: start, scheme)
        #expect(pull.transcoded.isEmpty)
        #expect(pull.frames.contains { $0.pts > $0.dts }, "B-frames stay")
        sender.stop()
        // The sender is silent; the relay notices after 1 s, the pull ends by itself.
        #expect(try await outputEventually { pull.ends.map(\.kind) == [.timedOut] }, "\(pull.ends)")
        await pull.close()
    }

    @Test func h265IsCarriedWhereTheProgramCarriesIt() async throws {
        let port = try PullSender.freePort()
        let pull = try WorkerPullRecorder("udp://127.0.0.1:\(port)", videoCodecs: [.h264, .h265])
        let sender = try Self.send(Self.others, to: ["-f", "mpegts", "udp://127.0.0.1:\(port)?pkt_size=1316"])
        try await Self.expectMedia(pull, "H.265 as it is, and Opus")
        #expect(pull.transcoded == [.audio] && pull.codecs == [.h265])
        sender.stop()
        await pull.close()
    }

    @Test func whatIsNotH264OrAACIsTranscoded() async throws {
        let port = try PullSender.freePort()
        let pull = try WorkerPullRecorder("udp://127.0.0.1:\(port)")
        let sender = try Self.send(Self.others, to: ["-f", "mpegts", "udp://127.0.0.1:\(port)?pkt_size=1316"])
        try await Self.expectMedia(pull, "H.265 and Opus")
        #expect(pull.transcoded == [.audio, .video])
        sender.stop()
        await pull.close()
    }

    @Test(arguments: ["caller", "listener"]) func srtIsPulled(mode: String) async throws {
        let port = try PullSender.freePort()
        let other = mode == "caller" ? "listener" : "caller"
        func send() throws -> PullSender {
            try Self.send(
                Self.h264,
                to: ["-f", "mpegts", "srt://127.0.0.1:\(port)?mode=\(other)&passphrase=correct-horse&pbkeylen=16"])
        }
        let url = "srt://127.0.0.1:\(port)?mode=\(mode)&passphrase="
        if mode == "listener" {
            let pull = try WorkerPullRecorder(url + "correct-horse")
            #expect(try await outputEventually { PullSender.isBound(port) })
            let stranger = try Self.send(
                Self.h264, to: ["-f", "mpegts", "srt://127.0.0.1:\(port)?mode=caller&passphrase=wrong-battery"])
            #expect(try await outputEventually { !stranger.isRunning }, "a wrong passphrase is refused")
            #expect(pull.frames.isEmpty && pull.ends.isEmpty, "\(pull.ends)")
            let sender = try send()
            try await Self.expectMedia(pull, "srt \(mode)")
            #expect(pull.arguments?.contains("correct") == false, "\(pull.arguments ?? "")")
            sender.stop()
            await pull.close()
            return
        }
        let sender = try send()
        #expect(try await outputEventually { PullSender.isBound(port) })
        let wrong = try WorkerPullRecorder(url + "wrong-battery")
        #expect(try await outputEventually { !wrong.ends.isEmpty })
        #expect(wrong.ends.allSatisfy { !$0.words.contains("battery") } && wrong.frames.isEmpty, "\(wrong.ends)")
        await wrong.close()
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder(url + "correct-horse")
        try await Self.expectMedia(pull, from: start, "srt \(mode)")
        #expect(pull.transcoded.isEmpty)
        sender.stop()
        #expect(try await outputEventually { !pull.ends.isEmpty })
        await pull.close()
    }

    @Test(
        .enabled(if: PullSender.hasRTSPServer),
        arguments: [
            ("rtsp", "opusenc ! rtpopuspay"), ("rtspu", "opusenc ! rtpopuspay"), ("rtsp", "avenc_aac ! rtpmp4gpay"),
        ])
    func rtspIsPulled(scheme: String, sound: String) async throws {
        let port = try PullSender.freePort()
        func serve() async throws -> PullSender {
            let server = try PullSender.rtsp(port, sound: sound)
            #expect(try await outputEventually { PullSender.isListening(port) })
            return server
        }
        let server = try await serve()
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder("\(scheme)://127.0.0.1:\(port)/live")
        try await Self.expectMedia(pull, from: start, scheme)
        #expect(pull.transcoded == (sound.hasPrefix("opus") ? [.audio] : []), "\(sound)")
        server.stop()
        #expect(try await outputEventually { !pull.ends.isEmpty })
        await pull.close()

        let missing = try WorkerPullRecorder("\(scheme)://127.0.0.1:\(port)/live")
        #expect(try await outputEventually { !missing.ends.isEmpty })
        await missing.close()
        let again = try await serve()
        let back = ContinuousClock.now
        let second = try WorkerPullRecorder("\(scheme)://127.0.0.1:\(port)/live")
        try await Self.expectMedia(second, from: back, "\(scheme) again")
        await second.close()
        again.stop()
    }

    @Test(.enabled(if: PullSender.hasRTSPServer), arguments: [false, true])
    func camerasWithAPasswordArePulled(isDigest: Bool) async throws {
        let port = try PullSender.freePort()
        let server = try PullSender.rtsp(port, password: "p@ss w!rd", isDigest: isDigest)
        #expect(try await outputEventually { PullSender.isListening(port) })
        let start = ContinuousClock.now
        let pull = try WorkerPullRecorder("rtsp://admin:p%40ss%20w!rd@127.0.0.1:\(port)/live")
        try await Self.expectMedia(pull, from: start, isDigest ? "RTSP with a digest" : "RTSP with a password")
        #expect(pull.arguments?.contains("ss%20w") == false)
        await pull.close()
        for user in ["admin:other@", ""] {
            let wrong = try WorkerPullRecorder("rtsp://\(user)127.0.0.1:\(port)/live")
            #expect(try await outputEventually { !wrong.ends.isEmpty })
            #expect(wrong.ends.map(\.kind) == [.refused] && wrong.frames.isEmpty, "\(wrong.ends)")
            #expect(wrong.ends.first?.words.contains("password") == true, "\(wrong.ends)")
            await wrong.close()
        }
        server.stop()
    }

    /// With a certificate that the system trusts the stream is played; docs/pulls.md describes the trial.
    @Test(.enabled(if: PullSender.hasRTSPServer)) func aCertificateOfNobodyIsRefused() async throws {
        let certificate = try await TestCertificate.make()
        defer { certificate.remove() }
        let both = certificate.directory.appending(path: "both.pem")
        let parts = try [certificate.file, certificate.key].map { try String(contentsOfFile: $0, encoding: .utf8) }
        try Data(parts.joined().utf8).write(to: both)
        let port = try PullSender.freePort()
        let server = try PullSender.rtsp(port, certificate: both.path)
        #expect(try await outputEventually { PullSender.isListening(port) })
        for isRetry in [false, true] {
            let pull = try WorkerPullRecorder("rtsps://localhost:\(port)/live", isRetry: isRetry)
            #expect(try await outputEventually { !pull.ends.isEmpty })
            #expect(pull.frames.isEmpty && pull.ends.map(\.kind) == [isRetry ? .tlsFailed : .lost], "\(pull.ends)")
            if isRetry { #expect(pull.ends.first?.words.contains("certificate") == true, "\(pull.ends)") }
            await pull.close()
        }
        server.stop()
    }

    /// The element may connect to the other host, but sends it no request.
    @Test func aRedirectToAnotherHostIsRefused() async throws {
        let other = try RTMPOddServer()
        let server = try RTMPOddServer(
            saying: Array(
                "RTSP/1.0 302 Found\r\nCSeq: 1\r\nLocation: rtsp://localhost:\(other.port)/x\r\n\r\n".utf8))
        defer { for server in [other, server] { server.stop() } }
        let pull = try WorkerPullRecorder("rtsp://127.0.0.1:\(server.port)/live")
        #expect(try await outputEventually { !pull.ends.isEmpty })
        #expect(pull.ends.map(\.kind) == [.refused] && pull.frames.isEmpty, "\(pull.ends)")
        #expect(pull.ends.first?.words.contains("redirects to another host") == true, "\(pull.ends)")
        await pull.close()
    }

    @Test func addressesThatAreNotAllowedAreNotPulledFrom() async throws {
        for url in ["rtsp://10.1.2.3/live", "srt://10.1.2.3:9000", "udp://239.1.2.3:5000", "rtp://239.1.2.3:5000"] {
            let pull = try WorkerPullRecorder(url)
            #expect(try await outputEventually { !pull.ends.isEmpty })
            #expect(pull.ends.map(\.kind) == [.notAllowed], "\(url): \(pull.ends)")
            await pull.close()
        }
    }

    /// A demuxer that crashes ends its worker, and nothing else.
    @Test func aWorkerThatIsKilledEndsItsPullInWords() async throws {
        let pull = try WorkerPullRecorder("test://localhost/bars?size=320x180")
        #expect(try await outputEventually { pull.frames.count > 30 })
        let process = try #require(pull.processID)
        kill(process, SIGKILL)
        #expect(try await outputEventually { pull.ends.map(\.kind) == [.crashed] })
        #expect(pull.ends.first?.words.contains("exited unexpectedly") == true, "\(pull.ends)")
        await pull.close()
        #expect(try await outputEventually { kill(process, 0) != 0 }, "the process is gone")
    }
}
