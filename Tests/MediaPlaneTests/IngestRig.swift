import ChildProcesses
import EncodedMedia
import Foundation
import MediaFormats
import MixModel
import Synchronization
import TestSupport
import TextFormats

@testable import RTMP

/// A real `mixworker ingest`, and a service that permits every publisher whose name does not begin with `bad`.
final class IngestRig: Sendable {
    static let secret = "0123456789abcdef"

    let process: LaunchedProcess
    let directory: URL
    /// Path of the socket by which the service controls it.
    let socketPath: String
    private let channel: SocketChannel
    private let state = Mutex(State())

    private struct State {
        var reports: [IngestReport] = []
        var lines = LineBuffer(limit: IngestCommand.longestLine)
        var answers = true
        var publishers: [LaunchedProcess] = []
    }

    /// Returns when the ingest listens.
    ///
    /// - Parameters:
    ///   - port: Port to listen on; 0 for any.
    ///   - certificate: Certificate for RTMPS; `nil` for RTMP alone.
    ///   - descriptors: Files that it may have open; `nil` for as many as this process.
    static func start(
        port: Int = 0, grace: Double = 10, certificate: TestCertificate? = nil, descriptors: Int? = nil
    ) async throws -> IngestRig {
        let rig = try await IngestRig(descriptors)
        rig.send(.hello(version: IngestCommand.version))
        let tls = certificate.map { IngestTLS(host: "127.0.0.1", port: 0, certificate: $0.file, key: $0.key) }
        rig.send(.configure(IngestSettings(host: "127.0.0.1", port: port, grace: grace, secret: secret, rtmps: tls)))
        guard try await outputEventually({ rig.port != nil && (tls == nil || rig.securePort != nil) }) else {
            let account = rig.account
            rig.stop()
            throw Failure.notListening(account)
        }
        return rig
    }

    enum Failure: Error { case notListening(String) }

    private init(_ descriptors: Int?) async throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "ing-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let socket = directory.appending(path: "i.sock").path
        socketPath = socket
        var launch = ProcessLaunch(
            try WorkerStartTests.executable(), ["ingest", "--socket", socket], descriptors: descriptors)
        launch.output = .null
        launch.errors = .file(directory.appending(path: "ingest.log").path, truncates: true)
        process = try launch.start()
        var descriptor: Int32 = -1
        _ = try await outputEventually {
            descriptor = Self.connect(socket)
            return descriptor >= 0
        }
        let box = Box()
        channel = SocketChannel(
            descriptor: descriptor, onBytes: { bytes in box.rig?.read(bytes) }, onClosed: {})
        box.rig = self
    }

    /// The rig of a channel, which is created after the channel.
    private final class Box: @unchecked Sendable {
        weak var rig: IngestRig?
    }

    private static func connect(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if status == 0 { return descriptor }
        close(descriptor)
        return -1
    }

    /// Ends the ingest and its publishers.
    func stop() {
        channel.close()
        for child in state.withLock({ $0.publishers }) + [process] {
            child.signal(SIGKILL)
            child.waitForExit()
        }
        try? FileManager.default.removeItem(at: directory)
    }

    func send(_ command: IngestCommand) {
        guard let text = try? DocumentEncoder.json(command) else { return }
        channel.send(Array(text.utf8) + [0x0A])
    }

    /// Leaves requests unanswered from now on.
    func holdAnswers() { state.withLock { $0.answers = false } }

    private func read(_ bytes: [UInt8]) {
        let lines = state.withLock { $0.lines.push(bytes) } ?? []
        for line in lines {
            guard let report = try? JSONDecoder().decode(IngestReport.self, from: Data(line)) else { continue }
            let answers = state.withLock { state in
                state.reports.append(report)
                return state.answers
            }
            guard case .ask(let ask) = report, answers else { continue }
            send(
                ask.name.hasPrefix("bad")
                    ? .refuse(request: ask.request, isName: false, reason: "not this one")
                    : .allow(request: ask.request, session: ask.session, stream: Self.stream(ask.name)))
        }
    }

    var reports: [IngestReport] { state.withLock { $0.reports } }

    var port: Int? {
        reports.lazy.compactMap { report -> Int? in if case .listening(let port) = report { port } else { nil } }.last
    }

    var securePort: Int? {
        reports.lazy.compactMap { if case .listeningSecurely(let port) = $0 { port } else { nil } }.last
    }

    /// The output of the ingest and its publishers.
    var log: String {
        ["ingest.log", "ffmpeg.log"].map { name in
            (try? String(contentsOf: directory.appending(path: name), encoding: .utf8)) ?? ""
        }.joined()
    }

    /// Latest reports and the log, for the messages of failures.
    var account: String { "\(reports.suffix(10)) \(log)" }

    var figures: IngestFigures? {
        reports.lazy.compactMap { if case .figures(let figures) = $0 { figures } else { nil } }.last
    }

    func ended(_ name: String) -> Int {
        reports.count { if case .ended(Self.stream(name), _, _, _, _) = $0 { true } else { false } }
    }

    func interrupted(_ name: String) -> Int {
        reports.count { if case .interrupted(Self.stream(name), _, _) = $0 { true } else { false } }
    }

    static func stream(_ name: String) -> String { "default/lobby/\(name)/camera" }

    func publishURL(_ name: String) -> String { "rtmp://127.0.0.1:\(port ?? 0)/live/\(name)" }
    func secureURL(_ name: String) -> String { "rtmps://127.0.0.1:\(securePort ?? 0)/live/\(name)" }

    /// Returns the URL that the service would give to a relay.
    func pullURL(_ name: String) -> String {
        let proof = RTMPRelayProof.text(stream: Self.stream(name), secret: Self.secret)
        return "rtmp://127.0.0.1:\(port ?? 0)/relay/\(Self.stream(name))?relay=\(proof)"
    }

    var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/\(process.processID)/statm", encoding: .utf8)) ?? ""
        return (Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0) * 4096
    }

    /// Starts ffmpeg with the settings of a streaming program: a constant bit rate, B-frames, a keyframe every two
    /// seconds. It runs at the latest until the rig stops.
    ///
    /// - Parameter url: `nil` for RTMP.
    @discardableResult func publish(
        _ name: String, rate: Int = 48_000, seconds: Double = 120, to url: String? = nil
    ) throws -> LaunchedProcess {
        var launch = ProcessLaunch(
            "/usr/bin/env",
            [
                "ffmpeg", "-v", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=30", "-f",
                "lavfi", "-i", "sine=frequency=440:sample_rate=\(rate)", "-t", "\(seconds)", "-c:v", "libx264",
                "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-bf", "2", "-g", "60", "-b:v", "600k", "-minrate",
                "600k", "-maxrate", "600k", "-bufsize", "600k", "-x264-params", "nal-hrd=cbr", "-c:a", "aac", "-ar",
                "\(rate)", "-f", "flv", url ?? publishURL(name),
            ])
        launch.errors = .file(directory.appending(path: "ffmpeg.log").path, truncates: false)
        let publisher = try launch.start()
        state.withLock { $0.publishers.append(publisher) }
        return publisher
    }
}

/// A player of the ingest that keeps the tags it gets.
final class IngestPlayer: Sendable {
    struct Progress: Sendable {
        var tags: [(kind: RTMPMessage.Kind, timestamp: UInt32, head: [UInt8], arrival: Int64)] = []
        var end: ConnectionFault?
        var hasBegun = false
    }

    private let state: Shared
    private let session: RTMPSession

    private final class Shared: Sendable { let progress = Mutex(Progress()) }

    init(_ url: String, as purpose: RTMPClient.Purpose = .play) throws {
        let shared = Shared()
        state = shared
        session = RTMPSession(purpose, try RTMPAddress(url), limits: nil, timeouts: .init(step: 30, idle: 30)) {
            event in
            shared.progress.withLock { progress in
                switch event {
                case .began: progress.hasBegun = true
                case .media(let messages, let arrival):
                    progress.tags += messages.map { ($0.kind, $0.timestamp, Array($0.body.prefix(16)), arrival) }
                case .prepared, .acknowledged, .keyframeRequested, .takesKeyframeRequests, .reconnectRequested: break
                case .ended(let fault): progress.end = fault
                }
            }
        }
        session.start()
    }

    var progress: Progress { state.progress.withLock { $0 } }
    var frames: Int { progress.tags.count { $0.kind == .video } }
    func stop() { session.stop() }
}
