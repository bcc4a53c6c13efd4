import ChildProcesses
import Foundation
import MixModel
import Synchronization
import TestSupport
import Testing
import TextFormats

@testable import RTMP

/// A real worker with a Unix socket, and the service that controls it.
final class WorkerRig<Command: Encodable & Sendable, Report: Decodable & Equatable & Sendable>: Sendable {
    let process: LaunchedProcess
    let directory: URL
    private let kind: WorkerKind
    /// Path of the worker's socket.
    let socket: String
    private let channel: Mutex<SocketChannel?>
    private let shared: Shared

    private final class Shared: Sendable {
        let reports = Mutex<[Report]>([])
        let lines = Mutex(LineBuffer(limit: WebRTCCommand.longestLine))

        func read(_ bytes: [UInt8]) {
            for line in lines.withLock({ $0.push(bytes) ?? [] }) {
                guard let report = try? JSONDecoder().decode(Report.self, from: Data(line)) else { continue }
                reports.withLock { $0.append(report) }
            }
        }
    }

    /// Returns when its socket is there.
    ///
    /// - Parameters:
    ///   - options: Options besides those of all workers with a socket.
    ///   - descriptors: Files that it may have open; `nil` for as many as this process.
    init(
        _ kind: WorkerKind, options: [String] = [], orphanTimeout: Double = 60, descriptors: Int? = nil
    ) async throws {
        self.kind = kind
        shared = Shared()
        directory = FileManager.default.temporaryDirectory.appending(
            path: "\(kind.rawValue)-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        socket = directory.appending(path: "w.sock").path
        var launch = ProcessLaunch(
            try WorkerStartTests.executable(),
            [kind.rawValue, "--socket", socket, "--orphan-timeout", "\(orphanTimeout)", "--log-level", "debug"]
                + options, descriptors: descriptors)
        launch.output = .null
        launch.errors = .file(directory.appending(path: "worker.log").path, truncates: true)
        process = try launch.start()
        channel = Mutex(nil)
        try await connect()
    }

    /// Connects like another service, which has not received any reports yet.
    func connect() async throws {
        channel.withLock { $0 }?.close()
        shared.reports.withLock { $0 = [] }
        var descriptor: Int32?
        _ = try await outputEventually { [socket] in
            descriptor = UnixListener.dial(socket)
            return descriptor != nil
        }
        if descriptor == nil { Issue.record("nothing listens at \(socket); the worker says: \(log)") }
        let new = SocketChannel(
            descriptor: descriptor ?? -1, onBytes: { [shared] in shared.read($0) }, onClosed: {})
        channel.withLock { $0 = new }
    }

    func send(_ command: Command) {
        guard let text = try? DocumentEncoder.json(command) else { return }
        channel.withLock { $0 }?.send(Array(text.utf8) + [0x0A])
    }

    var reports: [Report] { shared.reports.withLock { $0 } }

    /// Returns the first value found in the reports.
    func first<Value>(_ value: (Report) -> Value?) -> Value? { reports.lazy.compactMap(value).first }

    var log: String {
        (try? String(contentsOf: directory.appending(path: "worker.log"), encoding: .utf8)) ?? ""
    }

    /// Numbers of the process's threads and descriptors.
    var threads: Int { entries("task") }
    var descriptors: Int { process.descriptors }

    private func entries(_ name: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processID)/\(name)").count) ?? 0
    }

    /// Ends the connection without ending the worker.
    func disconnect() { channel.withLock { $0 }?.close() }

    func stop() {
        disconnect()
        process.signal(SIGKILL)
        process.waitForExit()
        try? FileManager.default.removeItem(at: directory)
    }
}

extension ProcessLaunch {
    /// Creates a launch with a limit of descriptors.
    ///
    /// - Parameter descriptors: Number of files that the process may have open; `nil` for as many as this one.
    init(_ executable: String, _ arguments: [String], descriptors: Int?) {
        guard let descriptors else {
            self.init(executable, arguments)
            return
        }
        self.init("/bin/sh", ["-c", "ulimit -n \(descriptors); exec \"$0\" \"$@\"", executable] + arguments)
    }
}

extension LaunchedProcess {
    /// Number of descriptors that the process has open.
    var descriptors: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd").count) ?? 0
    }
}
