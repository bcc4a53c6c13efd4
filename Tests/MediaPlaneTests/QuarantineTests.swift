import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Synchronization
import TestSupport
import Testing

@testable import ProgramRelay
@testable import RTMP
@testable import TextFormats

/// Relays in separate processes that die while they pull a source, one after another at the same socket.
@Suite(.serialized, .timeLimit(.minutes(3))) struct QuarantineTests {
    @Test func aSourceThatTwoRelaysDiedOfIsLeftOutAndTheOthersGoOn() async throws {
        let bytes = Self.stream()
        let (host, eve) = (try RTMPOddServer(saying: bytes), try RTMPOddServer(saying: bytes))
        defer { for server in [host, eve] { server.stop() } }
        let directory = try Self.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let record = directory.appending(path: "relay.pulls").path
        func plan(_ told: Told) -> ProgramPlan {
            ProgramPlan(
                revision: 1, task: "t", room: "r",
                sources: [("eve/camera", eve), ("host/camera", host)].map {
                    PlannedSource(id: SourceID($0.0), url: "rtmp://127.0.0.1:\($0.1.port)/live/x")
                },
                mode: .bypass("host/camera"), scene: Scene(canvas: .portrait, panes: []), outputs: [],
                causedAt: MonotonicClock.now(), cause: "test")
        }

        for crash in 1...2 {
            let told = Told()
            let relay = try await RelayProcess(in: directory, told: told)
            relay.apply(plan(told))
            #expect(
                try await outputEventually { host.accepted == crash && told.hasBeenLive("host/camera") },
                "\(host.accepted) connections, \(told.notes)")
            #expect(try await outputEventually { eve.accepted == crash }, "\(eve.accepted) connections, \(told.notes)")
            if crash == 2 {
                try #require(eve.acceptedAt.count == 2 && host.acceptedAt.count == 2)
                #expect(eve.acceptedAt[1] - host.acceptedAt[1] > 1_000_000_000, "it is pulled after the host")
            }
            #expect(try await outputEventually { FileManager.default.fileExists(atPath: record) })
            #expect(try await outputEventually { told.hasBeenLive("eve/camera") }, "\(told.notes)")
            await relay.kill()
        }
        let told = Told()
        let relay = try await RelayProcess(in: directory, told: told)
        relay.apply(plan(told))
        #expect(try await outputEventually { told.hasBeenLive("host/camera") }, "\(told.notes)")
        #expect(told.state(of: "eve/camera") == .failed && eve.accepted == 2)
        #expect(told.status?.sources.first { $0.id == "eve/camera" }?.isAbsent == true)
        #expect(try await outputEventually { told.notes.contains { $0.hasPrefix("source-quarantined: eve/camera: ") } })
        // A relay that ends in order leaves no record.
        await relay.terminate()
        #expect(!FileManager.default.fileExists(atPath: record))
    }

    /// The relay finds the record of two that died while they pulled the first address.
    @Test func theBackupOfASourceThatIsLeftOutIsPulled() async throws {
        let bytes = Self.stream()
        let (first, backup) = (try RTMPOddServer(saying: bytes), try RTMPOddServer(saying: bytes))
        defer { for server in [first, backup] { server.stop() } }
        let directory = try Self.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let record = directory.appending(path: "relay.pulls")
        try Data(#"{"eve/camera":{"crashes":1,"isOnProbation":true}}"#.utf8).write(to: record)

        let told = Told()
        let relay = try await RelayProcess(in: directory, told: told)
        relay.apply(
            ProgramPlan(
                revision: 1, task: "t", room: "r",
                sources: [
                    PlannedSource(
                        id: "eve/camera", url: "rtmp://127.0.0.1:\(first.port)/live/x",
                        backup: "rtmp://127.0.0.1:\(backup.port)/live/x")
                ],
                mode: .bypass("eve/camera"), scene: Scene(canvas: .portrait, panes: []), outputs: [],
                causedAt: MonotonicClock.now(), cause: "test"))
        #expect(try await outputEventually { backup.accepted > 0 }, "\(told.notes)")
        #expect(first.accepted == 0)
        #expect(try await outputEventually { told.hasBeenLive("eve/camera") }, "\(told.notes)")
        #expect(
            try await outputEventually {
                told.notes.contains { $0.hasPrefix("source-backup: eve/camera: the relay crashed 2 times in a row") }
            }, "\(told.notes)")
        await relay.terminate()
    }

    /// Returns what a server of a stream with sound says.
    private static func stream() -> [UInt8] {
        var peer = RTMPPeer()
        var timestamp: UInt32 = 0
        return peer.session() + peer.message(.audio, [0xAF, 0, 0x11, 0x90], stream: 1, on: 4)
            + peer.sound([0xAF, 1, 0x21, 0x10], step: 21, count: 2, from: &timestamp)
    }

    private static func makeDirectory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "quarantine-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }

    private final class RelayProcess {
        private let process = Process()
        private let control: SocketChannel

        init(in directory: URL, told: Told) async throws {
            let socket = directory.appending(path: "relay.sock").path
            let products = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            process.executableURL = URL(filePath: products).deletingLastPathComponent().appending(path: "mixworker")
            process.arguments = ["relay", "--task", "t", "--socket", socket, "--log-level", "critical"]
            unlink(socket)
            try process.run()
            control = try await RelayRig.connect(socket) { told.push($0) }
            send(.hello(version: RelayCommand.version))
        }

        func apply(_ plan: ProgramPlan) { send(.apply(plan)) }

        private func send(_ command: RelayCommand) {
            guard let line = try? DocumentEncoder.json(command) else { return }
            control.send(Array(line.utf8) + [0x0A])
        }

        func kill() async { await end(SIGKILL) }
        func terminate() async { await end(SIGTERM) }

        private func end(_ signal: Int32) async {
            Glibc.kill(process.processIdentifier, signal)
            _ = try? await outputEventually { !process.isRunning }
            control.close()
        }

        deinit { if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) } }
    }

    private final class Told: Sendable {
        private struct State {
            var lines = LineBuffer()
            var status: RelayStatus?
            var notes: [String] = []
            /// Sources that were live in one of the statuses. They send for a moment only.
            var live: Set<SourceID> = []
        }
        private let shared = Mutex(State())

        var status: RelayStatus? { shared.withLock { $0.status } }
        var notes: [String] { shared.withLock { $0.notes } }
        func state(of id: SourceID) -> SourceStatus.State? { status?.sources.first { $0.id == id }?.state }
        func hasBeenLive(_ id: SourceID) -> Bool { shared.withLock { $0.live.contains(id) } }

        func push(_ bytes: [UInt8]) {
            shared.withLock { shared in
                for line in shared.lines.push(bytes) ?? [] {
                    switch try? JSONDecoder().decode(RelayReport.self, from: Data(line)) {
                    case .status(let status):
                        shared.status = status
                        for source in status.sources where source.state == .live { shared.live.insert(source.id) }
                    case .note(let code, let message): shared.notes.append("\(code): \(message)")
                    default: break
                    }
                }
            }
        }
    }
}
