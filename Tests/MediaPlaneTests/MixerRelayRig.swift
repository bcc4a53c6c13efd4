import ChildProcesses
import Foundation
import LayoutEngine
import Logging
import MixModel
import Synchronization
import TestSupport
import Testing

@testable import EncodedMedia
@testable import MediaFormats
@testable import ProgramRelay
@testable import ProgramSplicer
@testable import TextFormats
@testable import RTMP

/// A relay in this process with real mixers, pulling live FLV over HTTP from this process, and a viewer of its program.
final class RelayRig: Sendable {
    /// The streams of participants, each played from its beginning for every connection.
    private final class Streams: Sendable {
        let tags = Mutex<[String: [PacedTag]]>([:])
        let connections = Mutex<[String: Int]>([:])
    }
    private struct State {
        var lines = LineBuffer()
        var status: RelayStatus?
        var notes: [String] = []
        var reader = FLVReader()
        /// Reason for which the program can no longer be read, if any.
        var fault: String?
        var segments: [TestTrack] = []
        var sound = TestTrack(configuration: CodecConfiguration(track: .audio, bytes: []), frames: [])
        var layouts: [Layout] = []
        var revision = 0

        /// The state as text, for the messages of failures.
        var account: String {
            """
            pictures \(segments.map(\.frames.count)), sound \(sound.frames.count), \(fault ?? "no fault"), \
            notes \(notes), \(String(describing: status))
            """
        }
    }
    private final class Shared: Sendable { let state = Mutex(State()) }

    private let directory: URL
    /// Path of the relay's socket.
    let socketPath: String
    private let server: HTTPFLVServer
    private let streams = Streams()
    private let relay: Relay
    private let run: Task<Void, any Error>
    private let control: SocketChannel
    private let viewer: SocketChannel
    private let shared = Shared()

    /// - Parameters:
    ///   - limits: Limits of the relay's workers; `nil` for the defaults.
    ///   - environment: Environment variables of the workers.
    ///   - blamed: A source that was on probation in two crashes of relays before this one.
    init(
        limits: WorkerLimits? = nil, environment: [String: String] = [:], blamed: SourceID? = nil
    ) async throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "rig-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server = try HTTPFLVServer { [streams] name in
            streams.connections.withLock { $0[name, default: 0] += 1 }
            return streams.tags.withLock { $0[name] ?? [] }
        }
        let products = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var worker = URL(filePath: products).deletingLastPathComponent().appending(path: "mixworker")
        try #require(FileManager.default.isExecutableFile(atPath: worker.path), "build mixworker first")
        let environment = environment.merging(limits?.environment ?? [:]) { $1 }
        if !environment.isEmpty {
            // The relay is in this process, whose environment is shared by all tests.
            let variables = environment.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
            let script = directory.appending(path: "mixworker")
            try Data("#!/bin/sh\n\(variables) exec '\(worker.path)' \"$@\"\n".utf8).write(to: script)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script.path)
            worker = script
        }
        let socket = directory.appending(path: "relay.sock").path
        socketPath = socket
        if let blamed {
            let left = [blamed.rawValue: SourceQuarantine.Record(crashes: 1, isOnProbation: true)]
            try JSONEncoder().encode(left).write(to: directory.appending(path: "relay.pulls"))
        }
        let relay = Relay(
            Relay.Configuration(task: "auto-rig", socketPath: socket, orphanTimeout: 60, worker: worker),
            logger: Logger(label: "rig") { _ in SwiftLogNoOpLogHandler() })
        self.relay = relay
        run = Task { try await relay.run() }
        let shared = shared
        control = try await Self.connect(socket) { bytes in
            shared.state.withLock { state in
                for line in state.lines.push(bytes) ?? [] {
                    switch try? JSONDecoder().decode(RelayReport.self, from: Data(line)) {
                    case .status(let status): state.status = status
                    case .note(let code, let message): state.notes.append("\(code): \(message)")
                    default: break
                    }
                }
            }
        }
        viewer = try await Self.connect(socket) { bytes in
            shared.state.withLock { state in
                var items: [MediaItem] = []
                do {
                    items = try state.reader.push(bytes)
                } catch {
                    state.fault = state.fault ?? "the program cannot be read: \(error)"
                }
                for item in items {
                    switch item {
                    case .configuration(let configuration) where configuration.track == .video:
                        state.segments.append(TestTrack(configuration: configuration, frames: []))
                    case .configuration(let configuration): state.sound.configuration = configuration
                    case .frame(let frame) where frame.track == .video:
                        if !state.segments.isEmpty { state.segments[state.segments.count - 1].frames.append(frame) }
                    case .frame(let frame): state.sound.frames.append(frame)
                    case .metadata(let body): state.layouts += [Layout(body, after: state.segments)].compactMap(\.self)
                    case .discontinuity: break
                    }
                }
            }
        }
        try send(.hello(version: RelayCommand.version), on: control)
        try send(.viewFLV(layouts: true), on: viewer)
    }

    /// Serves these tracks to later pulls of `name`.
    func publish(_ name: String, _ tracks: [TestTrack]) { publish(name, tags: TestTrack.tags(of: tracks)) }

    /// Serves these tags to later pulls of `name`, each at its time.
    func publish(_ name: String, tags: [FLVTag]) { publish(name, paced: tags.map(PacedTag.init)) }

    /// Serves these tags to later pulls of `name`.
    func publish(_ name: String, paced: [PacedTag]) { streams.tags.withLock { $0[name] = paced } }

    /// Returns the number of connections so far that have pulled `name`.
    func connections(of name: String) -> Int { streams.connections.withLock { $0[name] ?? 0 } }

    func url(_ name: String) -> String { "http://127.0.0.1:\(server.port)/\(name)" }

    func apply(
        _ mode: ProgramPlan.Mode, _ scene: Scene, _ sources: [PlannedSource], level: Int? = nil,
        outputs: [PushDestination] = [], others: [PlannedOutput] = [], sei: SEISettings? = nil,
        quality: QualityLimits? = nil, redundancy: MixRedundancy? = nil, encoding: EncodingSettings? = nil
    ) throws {
        let revision = shared.state.withLock { state in
            state.revision += 1
            return state.revision
        }
        try send(
            .apply(
                ProgramPlan(
                    revision: revision, task: "auto-rig", room: "rig", sources: sources, mode: mode, scene: scene,
                    outputs: [PlannedOutput](outputs) + others, causedAt: MonotonicClock.now(), cause: "test",
                    degradation: level.map { Degradation(level: $0, reason: "test") }, encoding: encoding, sei: sei,
                    quality: quality,
                    redundancy: redundancy)),
            on: control)
    }

    /// Asks the relay for an attempt of this output now.
    func retry(_ output: OutputID) throws { try send(.retryOutput(output), on: control) }

    /// Makes the relay stop sending, or begin without sending.
    func standBy() throws { try send(.standBy, on: control) }

    /// Makes the relay continue where another one was.
    func resume(_ place: ProgramPlace) throws { try send(.resume(place), on: control) }

    /// Suspends until the program is of this kind, 60 s at most.
    func waitFor(_ kind: OnAir, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await until("the program is \(kind)", sourceLocation: sourceLocation) {
            shared.state.withLock { $0.status?.onAir } == kind
        }
    }

    /// Suspends until a condition holds, 60 s at most. A failure tells everything about the relay.
    func until(
        _ what: String = "the condition holds", sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: () -> Bool
    ) async throws {
        let isTrue = try await poll(within: .seconds(60), every: .milliseconds(10)) { condition() ? true : nil }
        if isTrue != nil { return }
        Issue.record("not within 60 s: \(what); \(account)", sourceLocation: sourceLocation)
        throw CancellationError()
    }

    /// Suspends until this many pictures more have reached the viewer.
    func untilMorePictures(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let before = pictureCount
        try await until("\(count) more pictures", sourceLocation: sourceLocation) { pictureCount >= before + count }
    }

    /// Suspends until a segment of the program has this many pictures.
    ///
    /// - Parameter segment: Its place, from 0.
    func untilPictures(
        _ count: Int, inSegment segment: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await until("\(count) pictures in segment \(segment)", sourceLocation: sourceLocation) {
            shared.state.withLock { $0.segments.count > segment && $0.segments[segment].frames.count >= count }
        }
    }

    /// Number of pictures that have reached the viewer.
    var pictureCount: Int { shared.state.withLock { $0.segments.reduce(0) { $0 + $1.frames.count } } }
    /// State of the relay and of its program, for the messages of failures.
    var account: String { shared.state.withLock { $0.account } }

    var status: RelayStatus? { shared.state.withLock { $0.status } }
    /// Messages for operators so far, each with its code in front.
    var notes: [String] { shared.state.withLock { $0.notes } }
    /// The program's pictures so far, split where their configuration changes.
    var segments: [TestTrack] { shared.state.withLock { $0.segments } }
    var sound: TestTrack { shared.state.withLock { $0.sound } }
    /// The layouts so far.
    var layouts: [Layout] { shared.state.withLock { $0.layouts } }

    /// Ends the relay, its mixers and everything else.
    func stop() async throws {
        try send(.drain, on: control)
        try await run.value
        control.close()
        viewer.close()
        server.stop()
        try FileManager.default.removeItem(at: directory)
    }

    private func send(_ command: RelayCommand, on channel: SocketChannel) throws {
        channel.send([UInt8](try JSONEncoder().encode(command)) + [0x0A])
    }

    /// Waits until the socket has a listener, 30 s at most.
    static func connect(
        _ path: String, onBytes: @escaping @Sendable ([UInt8]) -> Void
    ) async throws -> SocketChannel {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        for _ in 0..<3000 {
            let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            let result = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if result == 0 {
                return SocketChannel(descriptor: descriptor, onBytes: onBytes, onClosed: {})
            }
            close(descriptor)
            try await Task.sleep(for: .milliseconds(10))
        }
        throw CancellationError()
    }
}

extension TestTrack {
    /// Returns the FLV tags of a stream of these tracks.
    static func tags(of tracks: [TestTrack]) -> [FLVTag] {
        let codec = tracks.lazy.compactMap(\.configuration.videoCodec).first ?? .h264
        return tracks.map { FLVTag($0.configuration, at: .zero, origin: .zero) }
            + tracks.flatMap(\.frames).filter { $0.dts >= .zero }.sorted { $0.dts < $1.dts }.map {
                FLVTag($0, videoCodec: codec, origin: .zero)
            }
    }
}

extension Scene {
    /// Returns a small scene of one or two columns in which every participant is seen and heard.
    static func columns(_ sources: [SourceID]) -> Scene {
        let panes = sources.enumerated().map { index, id in
            Pane(
                source: id.rawValue, user: id.user.rawValue, x: 180 * index, y: 0, width: 360 / sources.count,
                height: 640, fit: .stretch)
        }
        return Scene(
            canvas: Canvas(width: 360, height: 640, fps: 20), panes: panes,
            sound: SceneSound(levels: sources.map { .init(source: $0.rawValue) }))
    }
}
