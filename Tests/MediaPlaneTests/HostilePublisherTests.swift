import EncodedMedia
import Foundation
import LayoutEngine
import MixModel
import Synchronization
import Testing
import MediaFormats

@testable import TextFormats
@testable import RTMP
@testable import ProgramRelay

/// Publishers that try to end a relay, which runs in a separate process, over a real connection.
@Suite(.serialized, .timeLimit(.minutes(3))) struct HostilePublisherTests {
    /// Audio of two bytes is not a frame, but has a time: some thousand of them, each 2³¹ − 1 ms later, exceed the
    /// range of nanoseconds.
    @Test(arguments: [0x7FFF_FFFF, 0x8000_0001] as [UInt32])
    func aRelayOutlivesTimestampsThatLieFarApart(step: UInt32) async throws {
        var peer = RTMPPeer()
        var timestamp: UInt32 = 0
        var bytes = peer.session() + peer.message(.audio, [0xAF, 0, 0x11, 0x90], stream: 1, on: 4)
        bytes += peer.sound([0xAF, 1], step: step, count: 6_000, from: &timestamp)
        // A reader that returns these has read everything before them.
        bytes += peer.sound([0xAF, 1, 0x21, 0x10], step: 21, count: 2, from: &timestamp)
        let server = try RTMPOddServer(saying: bytes)
        defer { server.stop() }

        let directory = FileManager.default.temporaryDirectory.appending(
            path: "hostile-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let socket = directory.appending(path: "relay.sock").path
        let products = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let process = Process()
        process.executableURL = URL(filePath: products).deletingLastPathComponent().appending(path: "mixworker")
        process.arguments = ["relay", "--task", "t", "--socket", socket, "--log-level", "critical"]
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }

        let told = Told()
        let control = try await RelayRig.connect(socket) { told.push($0) }
        let plan = ProgramPlan(
            revision: 1, task: "t", room: "r",
            sources: [PlannedSource(id: "eve/camera", url: "rtmp://127.0.0.1:\(server.port)/live/x")],
            mode: .bypass("eve/camera"), scene: Scene(canvas: .portrait, panes: []), outputs: [],
            causedAt: MonotonicClock.now(), cause: "test")
        for command in [RelayCommand.hello(version: RelayCommand.version), .apply(plan)] {
            control.send([UInt8](try JSONEncoder().encode(command)) + [0x0A])
        }
        let isRead = try await outputEventually { [.live, .stalled].contains(told.state) || !process.isRunning }
        #expect(isRead && process.isRunning, "\(String(describing: told.state)) after \(told.count) reports")
        let count = told.count
        #expect(try await outputEventually { told.count > count + 1 }, "it says nothing more")
        control.close()
    }

    private final class Told: Sendable {
        private struct State {
            var lines = LineBuffer()
            var status: RelayStatus?
            var count = 0
        }
        private let shared = Mutex(State())

        var state: SourceStatus.State? { shared.withLock { $0.status?.sources.first?.state } }
        var count: Int { shared.withLock { $0.count } }

        func push(_ bytes: [UInt8]) {
            shared.withLock { shared in
                for line in shared.lines.push(bytes) ?? [] {
                    guard case .status(let status)? = try? JSONDecoder().decode(RelayReport.self, from: Data(line))
                    else {
                        continue
                    }
                    shared.status = status
                    shared.count += 1
                }
            }
        }
    }
}
