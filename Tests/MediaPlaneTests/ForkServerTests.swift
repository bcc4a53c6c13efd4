import ChildProcesses
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ForkServer

/// The real fork server, and the mixers that it starts.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ForkServerTests {
    /// A fork server whose process ends with this object.
    private final class Server {
        let process: LaunchedProcess
        let path: String
        private let lifeline = ProcessLaunch.pipe()

        init() async throws {
            path = FileManager.default.temporaryDirectory.appending(path: "fork-\(UInt32.random(in: 0 ... .max))").path
            var launch = ProcessLaunch(try WorkerStartTests.executable(), ["forkserver", "--socket", path])
            launch.environment = ProcessInfo.processInfo.environment
                .merging(WorkerLimits(memory: [.mixer: 700]).environment) { $1 }
            launch.input = .descriptor(lifeline.fileHandleForReading.fileDescriptor)
            process = try launch.start()
            try lifeline.fileHandleForReading.close()
            let path = path
            // The socket's file exists slightly before it has a listener.
            try await until {
                guard let connection = try? PacketSocket.connect(to: path, patience: 30) else { return false }
                close(connection)
                return true
            }
        }

        deinit {
            process.signal(SIGKILL)
            process.waitForExit()
            unlink(path)
        }

        func endLifeline() throws { try lifeline.fileHandleForWriting.close() }
    }

    /// The handle that a relay would have of a mixer.
    private final class Mixer: Sendable {
        let process: ForkedProcess
        /// The relay's end of the socket, closed with this object.
        let socket: Int32
        private let end = Mutex<ProcessExit?>(nil)

        init(_ client: ForkClient, _ arguments: [String] = ["mixer", "--relay", "4711"]) throws {
            let ends = try ForkServerTests.socketPair()
            defer { close(ends.theirs) }
            socket = ends.ours
            process = try #require(client.start(arguments, input: ends.theirs, output: STDERR_FILENO))
            process.onExit { [weak self] exit in self?.end.withLock { $0 = exit } }
        }

        deinit {
            process.signal(SIGKILL)
            close(socket)
        }

        var exit: ProcessExit? { end.withLock { $0 } }

        func read(_ file: String) -> String {
            (try? String(contentsOfFile: "/proc/\(process.processID)/\(file)", encoding: .utf8)) ?? ""
        }

        var words: [String] { read("cmdline").split(separator: "\0").map(String.init) }
    }

    private static func socketPair() throws -> (ours: Int32, theirs: Int32) {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    /// Returns a client of the fork server.
    ///
    /// - Parameter patience: Time limit in seconds; long, because the machine may be busy.
    private static func client(
        _ server: Server, _ failures: Failures = Failures(), patience: Double = 30
    ) -> ForkClient {
        ForkClient(path: server.path, patience: patience) { failures.add($0) }
    }

    private final class Failures: Sendable {
        private let texts = Mutex<[String]>([])
        func add(_ text: String) { texts.withLock { $0.append(text) } }
        var all: [String] { texts.withLock { $0 } }
    }

    @Test func aMixerIsAsIfItHadBeenStarted() async throws {
        let server = try await Server()
        let mixer = try Mixer(Self.client(server))
        try await until { mixer.read("status").contains("Seccomp:\t2") }
        #expect(mixer.words.dropFirst() == ["mixer", "--relay", "4711"])
        #expect(mixer.read("oom_score_adj") == "\(WorkerKind.mixer.memoryShortage)\n")
        #expect(mixer.read("limits").contains("Max data size             \(700 << 20)"))
        #expect(mixer.read("status").contains("NoNewPrivs:\t1"))
        #expect(mixer.read("status").contains("CapEff:\t0000000000000000"))
        // The mixer has inherited nothing from the server, so no peer waits in vain for the end of a connection.
        let sockets = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(mixer.process.processID)/fd")
            .compactMap {
                try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "/proc/\(mixer.process.processID)/fd/\($0)")
            }
            .filter { $0.hasPrefix("socket:") || $0.hasPrefix("anon_inode:[pidfd]") }
        #expect(sockets.count == 1, "\(sockets)")
        // The relay closes its end.
        shutdown(mixer.socket, Int32(SHUT_RDWR))
        try await until { mixer.exit != nil }
        #expect(mixer.exit == .status(0))
    }

    @Test func theWayInWhichAMixerEndsIsTold() async throws {
        let server = try await Server()
        let mixer = try Mixer(Self.client(server))
        mixer.process.signal(SIGKILL)
        try await until { mixer.exit != nil }
        #expect(mixer.exit == .signal(SIGKILL))
        // A signal does not reach a later process with the same number.
        mixer.process.signal(SIGKILL)
    }

    @Test func mixersOutliveTheServerThatEndsWithTheService() async throws {
        let server = try await Server()
        let mixer = try Mixer(Self.client(server))
        try server.endLifeline()
        #expect(server.process.waitForExit() == .status(0))
        try await until { mixer.read("status").contains("Seccomp:\t2") }
        #expect(mixer.exit == nil)
        shutdown(mixer.socket, Int32(SHUT_RDWR))
        try await until { mixer.exit != nil }
        #expect(mixer.exit == .unknown)
    }

    @Test func whoGetsNoMixerIsToldWhyAndAsksAgainLater() async throws {
        let failures = Failures()
        let nobody = ForkClient(path: "/nowhere/fork") { failures.add($0) }
        let ends = try Self.socketPair()
        defer { for end in [ends.ours, ends.theirs] { close(end) } }
        for _ in 0..<2 { #expect(nobody.start(["mixer"], input: ends.theirs, output: STDERR_FILENO) == nil) }
        #expect(failures.all == ["connecting to /nowhere/fork: No such file or directory"])

        let server = try await Server()
        for arguments in [["relay"], ["mixer", String(repeating: "x", count: 5000)], ["mixer\0relay"]] {
            let client = Self.client(server, failures)
            #expect(client.start(arguments, input: ends.theirs, output: STDERR_FILENO) == nil)
        }
        #expect(failures.all.count == 4)
        #expect(failures.all.dropFirst().first?.contains("it asks for none of mixer") ?? false)
        #expect(try Mixer(Self.client(server)).exit == nil)
    }

    /// Two processes on one socket would each get only a part of the plan.
    @Test func aServerThatComesToItselfMakesNoSecondMixer() async throws {
        let server = try await Server()
        server.process.signal(SIGSTOP)
        let failures = Failures()
        let ends = try Self.socketPair()
        let hasty = Self.client(server, failures, patience: 0.25)
        #expect(hasty.start(["mixer"], input: ends.theirs, output: STDERR_FILENO) == nil)
        #expect(failures.all == ["the fork server at \(server.path) does not answer"])
        server.process.signal(SIGCONT)
        close(ends.theirs)
        // Every holder of the other end is gone, however the server handled the request.
        var watch = pollfd(fd: ends.ours, events: Int16(POLLIN), revents: 0)
        #expect(poll(&watch, 1, 30_000) == 1)
        var byte: UInt8 = 0
        #expect(recv(ends.ours, &byte, 1, 0) == 0)
        close(ends.ours)
        #expect(try Mixer(Self.client(server)).exit == nil)
    }

    @Test func callersThatSayNothingOrNonsenseKeepNobodyWaiting() async throws {
        let server = try await Server()
        let silent = try (0..<Int(ForkServer.mostCallers)).map { _ in
            try PacketSocket.connect(to: server.path, patience: 30)
        }
        defer { for connection in silent { close(connection) } }
        // All places are taken, so the server closes the silent connections.
        for connection in silent {
            #expect(PacketSocket.receive(upTo: 64, on: connection) == nil)
        }
        for bytes in [[0], [255, 254, 0], Array(repeating: 65, count: ForkRequest.limit + 1)] as [[UInt8]] {
            let connection = try PacketSocket.connect(to: server.path, patience: 30)
            #expect(PacketSocket.send(bytes, [0, 1, 2], on: connection))
            let answer = PacketSocket.receive(upTo: ForkAnswer.limit, on: connection)
            #expect(answer.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "R" < "S")
            close(connection)
        }
        #expect(server.process.isRunning)
        #expect(try Mixer(Self.client(server)).exit == nil)
    }

    @Test func aPathThatIsTooLongLeavesNothingBehind() throws {
        func descriptors() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count }
        let path = "/tmp/" + String(repeating: "x", count: 103)
        let before = try descriptors()
        for _ in 0..<200 {
            #expect(throws: PacketSocket.Failure.self) { try PacketSocket.listen(at: path) }
            #expect(throws: PacketSocket.Failure.self) { try PacketSocket.connect(to: path, patience: 1) }
        }
        // Tests beside this one open some, too.
        #expect(try descriptors() < before + 200)
        // Nothing else in this process uses this mask.
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        #expect(!status.contains("Umask:\t0177"))
    }

    @Test func messagesAreReadAsTheyWereWritten() {
        for arguments in [["mixer"], ["mixer", "", "é", "--encoder", "x"]] {
            #expect(ForkRequest(arguments: arguments).bytes.flatMap { ForkRequest($0)?.arguments } == arguments)
        }
        #expect(ForkRequest(arguments: []).bytes == nil)
        #expect(ForkRequest([UInt8]()) == nil)
        #expect(ForkRequest(Array("mixer".utf8)) == nil)
        for answer in [ForkAnswer.started(7), .ended(-9), .refused("no: é")] {
            #expect(ForkAnswer(answer.bytes) == answer)
        }
        for text in ["", "S", "S-1", "S0", "E", "X1", "S99999999999"] { #expect(ForkAnswer(Array(text.utf8)) == nil) }
    }
}
