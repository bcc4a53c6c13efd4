import ChildProcesses
import Foundation
import LayoutEngine
import MixModel
import Synchronization
import TestSupport
import Testing

@testable import EncodedMedia
@testable import ProgramRelay
@testable import RTMP

/// Real workers that get more connections than they may have descriptors: streams on air continue, and the workers do
/// not spin.
@Suite(.serialized, .timeLimit(.minutes(6))) struct DescriptorShortageTests {
    private static let limit = 160
    private static let strangers = limit - DescriptorReserve.ofStrangers.size(ofLimit: limit)
    private static let service = limit - DescriptorReserve.ofService.size(ofLimit: limit)

    /// Checks for two seconds that a full process neither uses more descriptors nor spins.
    ///
    /// - Parameter most: Number of descriptors of the process after other clients have taken all that they can.
    private func expectCalm(_ process: LaunchedProcess, most: Int, _ name: String) async throws {
        let before = try #require(ProcessClock.seconds(of: process.processID))
        let begin = ContinuousClock.now
        var highest = 0
        while ContinuousClock.now - begin < .seconds(2) {
            highest = max(highest, process.descriptors)
            try await Task.sleep(for: .milliseconds(20))
        }
        let used = try #require(ProcessClock.seconds(of: process.processID)) - before
        let cores = used / ((ContinuousClock.now - begin) / .seconds(1))
        print("\(name): \(highest) of \(Self.limit) descriptors, \(cores) cores")
        // A loop that spins uses all the time that it gets, which is most of a core on an idle machine.
        #expect(cores < 0.3)
        // A descriptor that the process opens for itself for a moment is not a connection.
        #expect(highest >= most && highest <= most + 3)
        #expect(process.isRunning)
    }

    @Test func strangersLeaveTheIngestWhatItsPublishersNeed() async throws {
        let rig = try await IngestRig.start(descriptors: Self.limit)
        defer { rig.stop() }
        let publisher = try rig.publish("alice", seconds: 900)
        let player = try IngestPlayer(rig.pullURL("alice"))
        #expect(try await outputEventually { player.frames > 60 })
        // More connections than the process can accept; the kernel queues the others. During the handshake they may be
        // silent for 15 s.
        var strangers = (0..<Self.limit + 60).map { _ in RawClient(port: rig.port ?? 0) }
        for stranger in strangers { stranger.send([3] + [UInt8](repeating: 0x11, count: 3072)) }
        #expect(try await outputEventually { rig.process.descriptors >= Self.strangers })
        let frames = player.frames
        try await expectCalm(rig.process, most: Self.strangers, "ingest")
        #expect(try await outputEventually { player.frames > frames + 30 })
        #expect(player.progress.end == nil && publisher.isRunning)

        // The service still gets in. A wrong version is refused and does not replace the service of the rig.
        let answer = Mutex("")
        let descriptor = try #require(UnixListener.dial(rig.socketPath))
        let service = SocketChannel(
            descriptor: descriptor,
            onBytes: { bytes in answer.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }, onClosed: {})
        service.send(Array(try DocumentEncoder.json(IngestCommand.hello(version: 0)).utf8) + [0x0A])
        #expect(try await outputEventually { answer.withLock { $0.contains("refused") } })
        service.close()

        strangers = []
        try rig.publish("bob")
        let late = try IngestPlayer(rig.pullURL("bob"))
        #expect(try await outputEventually { late.frames > 30 }, "it answers again: \(rig.log)")
        #expect(player.progress.end == nil && rig.ended("alice") == 0)
        for player in [player, late] { player.stop() }
    }

    @Test func connectionsLeaveARelayWhatItsSourcesAndOutputsNeed() async throws {
        let ingest = try await IngestRig.start()
        defer { ingest.stop() }
        try ingest.publish("alice", seconds: 900)
        let relay = try await WorkerRig<RelayCommand, RelayReport>(
            .relay, options: ["--task", "auto-rig"], descriptors: Self.limit)
        defer { relay.stop() }
        relay.send(.hello(version: RelayCommand.version))
        #expect(try await outputEventually { !relay.reports.isEmpty }, "\(relay.log)")
        var viewers: [Int32] = []
        let isFull = try await outputEventually {
            for _ in 0..<16 where viewers.count < Self.limit + 60 {
                if let viewer = UnixListener.dial(relay.socket) { viewers.append(viewer) }
            }
            return relay.descriptors >= Self.service && viewers.count > Self.service
        }
        #expect(isFull, "\(viewers.count) connections, \(relay.descriptors) descriptors")
        try await expectCalm(relay.process, most: Self.service, "relay")

        // Only now does the relay open any connection.
        let source: SourceID = "alice/camera"
        relay.send(
            .apply(
                ProgramPlan(
                    revision: 1, task: "auto-rig", room: "rig",
                    sources: [PlannedSource(id: source, url: ingest.pullURL("alice"))], mode: .bypass(source),
                    scene: .columns([source]),
                    outputs: [PlannedOutput]([PushDestination(id: "out", url: ingest.publishURL("out"))]),
                    causedAt: MonotonicClock.now(), cause: "test")))
        // Players wait for a publisher for 15 s only.
        #expect(
            try await outputEventually(within: .seconds(60)) { ingest.figures?.publishers == 2 }, "\(relay.log)")
        let player = try IngestPlayer(ingest.pullURL("out"))
        #expect(try await outputEventually { player.frames > 60 }, "\(relay.log)")
        #expect(relay.process.isRunning && relay.descriptors <= Self.limit)

        for viewer in viewers { close(viewer) }
        let viewer = try ProgramViewer(relay.socket)
        #expect(try await outputEventually { viewer.pictures.count > 30 }, "it answers again")
        #expect(player.progress.end == nil)
        viewer.stop()
        player.stop()
    }
}
