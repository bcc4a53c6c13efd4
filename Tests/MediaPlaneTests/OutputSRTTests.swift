import ChildProcesses
import EncodedMedia
import Foundation
import MixModel
import Synchronization
import Testing

@testable import MediaFormats
@testable import ProgramRelay

/// SRT destinations of a real worker, received by ffmpeg.
@Suite(.serialized, .timeLimit(.minutes(6))) struct OutputSRTTests {
    /// ffmpeg as an SRT receiver, which stores the stream unchanged.
    private final class Receiver {
        let file = FileManager.default.temporaryDirectory.appending(path: "srt-\(UInt32.random(in: 0 ... .max)).ts")
        private let process: LaunchedProcess

        /// - Parameter query: Parameters behind `?`; `mode=listener` waits for the output.
        init(_ port: Int, _ query: String = "mode=listener") throws {
            var launch = ProcessLaunch(
                "/usr/bin/ffmpeg",
                [
                    "-v", "fatal", "-probesize", "100000", "-analyzeduration", "300000", "-i",
                    "srt://127.0.0.1:\(port)?\(query)", "-c", "copy",
                    "-copyts", "-f", "mpegts", "-y", file.path,
                ])
            launch.input = .null
            process = try launch.start()
        }

        deinit {
            process.signal(SIGKILL)
            try? FileManager.default.removeItem(at: file)
        }

        var isRunning: Bool { process.isRunning }

        /// Bytes in the file so far.
        var size: Int {
            (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
        }

        func send(_ signal: Int32) { process.signal(signal) }

        func end(_ signal: Int32 = SIGTERM) async throws {
            process.signal(signal)
            #expect(try await outputEventually { !self.process.isRunning })
        }

        /// Returns decoding times of the pictures and of the sound, in ms, and whether a picture is an IDR.
        func packets() async throws -> (video: [(dts: Double, isKey: Bool)], audio: [Double]) {
            let list = file.appendingPathExtension("csv")
            defer { try? FileManager.default.removeItem(at: list) }
            let status = try await outputTool(
                "/bin/sh",
                [
                    "-c", "ffprobe -v error -show_entries packet=codec_type,dts_time,flags -of csv=p=0 \"$0\" > \"$1\"",
                    file.path, list.path,
                ])
            try #require(status == 0)
            var (video, audio): ([(dts: Double, isKey: Bool)], [Double]) = ([], [])
            for line in try String(contentsOf: list, encoding: .utf8).split(separator: "\n") {
                let parts = line.split(separator: ",")
                guard parts.count >= 3, let time = Double(parts[1]) else { continue }
                if parts[0] == "video" { video.append((time * 1000, parts[2].hasPrefix("K"))) }
                if parts[0] == "audio" { audio.append(time * 1000) }
            }
            return (video, audio)
        }
    }

    private static func port() throws -> Int { Int(try PullSender.freePort()) }

    private static func output(
        _ url: String, onKeyframeWanted: @escaping @Sendable () -> Void = {}
    ) throws -> DestinationOutput {
        let worker = URL(filePath: try WorkerStartTests.executable())
        return DestinationOutput(
            PushDestination(id: "o", url: url), reach: .loopback, preamble: [],
            connect: { url, limits, _ in
                try SRTOutput.connection(url, limits, worker: worker, onKeyframeWanted: onKeyframeWanted)
            })
    }

    private final class Counter: Sendable { let count = Mutex(0) }

    @Test(arguments: ["", "?passphrase=0123456789abc&pbkeylen=32&streamid=show&latency=200"])
    func everyPictureArrives(query: String) async throws {
        let port = try Self.port()
        let secret = query.isEmpty ? "" : "&passphrase=0123456789abc&pbkeylen=32"
        let receiver = try Receiver(port, "mode=listener" + secret)
        let tags = try await outputProgram(seconds: 4)
        #expect(try await outputEventually { PullSender.isBound(UInt16(port)) })
        let output = try Self.output("srt://127.0.0.1:\(port)\(query)")
        try await output.play(tags)
        #expect(try await outputEventually { output.status.state == .live }, "\(output.status)")
        #expect(output.status.reconnects == 0, "\(output.status)")
        #expect(output.status.bytesSent > 50_000 && output.droppedFrames == 0)
        await output.close()
        #expect(try await outputEventually { !receiver.isRunning }, "the receiver sees the end")
        let sent = tags.filter { if case .frame(.video, _) = $0.role { true } else { false } }
        let got = try await receiver.packets()
        #expect(got.video.count == sent.count && got.audio.count > 150, "\(got.video.count) of \(sent.count)")
        let steps = zip(got.video, got.video.dropFirst()).map { $1.dts - $0.dts }
        #expect(steps.allSatisfy { 38...42 ~= $0 }, "\(steps)")
        #expect(got.video.map(\.isKey) == sent.map(\.isIDR))
        let sound = zip(got.audio, got.audio.dropFirst()).map { $1 - $0 }
        #expect(sound.allSatisfy { 20...23 ~= $0 }, "\(sound)")
    }

    @Test func aReceiverThatIsKilledIsFoundAgain() async throws {
        let port = try Self.port()
        let first = try Receiver(port)
        let output = try Self.output("srt://127.0.0.1:\(port)")
        try await output.whilePlaying(try await outputProgram(seconds: 60)) { () async throws in
            #expect(try await outputEventually { output.status.state == .live })
            try await first.end(SIGKILL)
            #expect(try await outputEventually { output.status.state == .recovering })
            #expect(output.status.lastErrorCode == .connectionLost, "\(output.status)")
            let second = try Receiver(port)
            #expect(try await outputEventually { output.status.state == .live })
            #expect(output.status.reconnects == 1)
            #expect(try await outputEventually { second.size > 100_000 }, "\(second.size) bytes, \(output.status)")
            try await second.end()
            let got = try await second.packets()
            #expect(got.video.first?.isKey == true && got.video.count > 10)
        }
        await output.close()
    }

    /// Packets that are older than a second are dropped meanwhile, and with them pictures to which later ones refer.
    @Test func aReceiverThatStoodStillGetsAKeyframe() async throws {
        let port = try Self.port()
        let receiver = try Receiver(port)
        let requests = Counter()
        let output = try Self.output("srt://127.0.0.1:\(port)") { requests.count.withLock { $0 += 1 } }
        try await output.whilePlaying(try await outputProgram(seconds: 60)) { () async throws in
            #expect(try await outputEventually { receiver.size > 100_000 }, "\(output.status)")
            #expect(requests.count.withLock { $0 } == 0)
            receiver.send(SIGSTOP)
            try await Task.sleep(for: .seconds(2))
            receiver.send(SIGCONT)
            #expect(try await outputEventually { requests.count.withLock { $0 } > 0 }, "\(output.status)")
            #expect(output.status.state == .live && output.status.reconnects == 0, "\(output.status)")
        }
        await output.close()
    }

    @Test func aWrongPassphraseIsARefusal() async throws {
        let port = try Self.port()
        let receiver = try Receiver(port, "mode=listener&passphrase=0123456789abc&pbkeylen=16")
        let output = try Self.output("srt://127.0.0.1:\(port)?passphrase=another-secret")
        try await output.whilePlaying(try await outputProgram(seconds: 60)) { () async throws in
            #expect(try await outputEventually { output.status.lastErrorCode == .publishRefused }, "\(output.status)")
            #expect(output.status.lastError?.contains("check the encryption") == true, "\(output.status)")
            #expect(output.status.lastError?.contains("another-secret") == false)
            #expect(output.status.state == .recovering)
        }
        await output.close()
        try await receiver.end(SIGKILL)
    }

    /// An output that listens is live without a player, and a player may connect at any time.
    @Test func playersCallAListener() async throws {
        let port = try Self.port()
        let output = try Self.output("srt://127.0.0.1:\(port)?mode=listener")
        try await output.whilePlaying(try await outputProgram(seconds: 60)) { () async throws in
            #expect(try await outputEventually { output.status.state == .live }, "\(output.status)")
            let player = try Receiver(port, "mode=caller")
            #expect(try await outputEventually { player.size > 100_000 }, "\(player.size) bytes, \(output.status)")
            try await player.end()
            let got = try await player.packets()
            #expect(got.video.count > 20)
            #expect(output.status.state == .live && output.status.reconnects == 0, "\(output.status)")
        }
        await output.close()
    }

    /// A process whose relay is gone ends although its input does not, and drops what it has not sent.
    @Test func aProgramWhoseRelayIsGoneEnds() async throws {
        let port = try Self.port()
        let settings = Array(try JSONEncoder().encode(PushSettings(url: "srt://127.0.0.1:\(port)?mode=listener")))
        let program = try SRTProgram(settings: settings) { _ in }
        let bytes = FLVTag.fileHeader + (try await outputProgram(seconds: 1)).flatMap(\.encoded)
        let input = Mutex<[UInt8]?>(bytes)
        let end = DispatchSemaphore(value: 0)
        let start = ContinuousClock.now
        await program.run {
            if let bytes = input.withLock({ $0.take() }) { return bytes }
            program.abandon()
            end.wait()
            return nil
        }
        end.signal()
        #expect(start.duration(to: .now) < .seconds(30))
    }

    @Test(arguments: [
        "srt://127.0.0.1", "srt://127.0.0.1:9/path", "srt://127.0.0.1:9?mode=server",
        "srt://127.0.0.1:9?passphrase=short",
        "srt://localhost:9?mode=listener", "srt://127.0.0.1:9?key=value",
    ])
    func aBadURLFailsForGood(url: String) async throws {
        let output = try Self.output(url)
        #expect(try await outputEventually { output.status.state == .failed })
        #expect(output.status.lastErrorCode == .badURL, "\(output.status)")
        await output.close()
    }

    @Test func anAddressOutsideTheListIsNotSentTo() async throws {
        let output = try Self.output("srt://192.0.2.1:9000")
        #expect(try await outputEventually { output.status.lastErrorCode == .notAllowed }, "\(output.status)")
        await output.close()
    }
}
