import Foundation
import LayoutEngine
import Logging
import MixModel
import Testing
import EncodedMedia

@testable import ProgramRelay
@testable import RTMP

/// Destinations as used by a relay.
@Suite(.serialized, .timeLimit(.minutes(5))) struct OutputRelayTests {
    /// A destination whose URL changes starts again there; the others continue through all plans.
    @Test func aURLThatChangesReplacesTheDestinationAlone() async throws {
        let server = try await OutputMediaServer.start()
        let rig = try await RelayRig()
        func outputs(_ name: String) -> [PushDestination] {
            [PushDestination(id: "a", url: server.url("kept")), PushDestination(id: "b", url: server.url(name))]
        }
        let pictures = try await TestStreams.video(count: 900)
        rig.publish("host", [pictures, try await TestStreams.audio(count: 2100) { _ in 0 }])
        let sources = [PlannedSource(id: "host/camera", url: rig.url("host"))]
        let scene = Scene(canvas: .portrait, panes: [])
        try rig.apply(.bypass("host/camera"), scene, sources, outputs: outputs("first"))
        func state(_ id: OutputID) -> DestinationStatus? { rig.status?.outputs.destinations.first { $0.id == id } }
        #expect(
            try await outputEventually { state("a")?.state == .live && state("b")?.state == .live },
            "\(String(describing: rig.status?.outputs.destinations)) \(rig.notes)")
        let since = state("a")?.connectedSince
        try rig.apply(.bypass("host/camera"), scene, sources, outputs: outputs("second"))
        #expect(try await outputEventually { try await server.isPublished("second") })
        #expect(try await outputEventually { try await !server.isPublished("first") })
        #expect(try await outputEventually { state("b")?.state == .live })
        #expect(state("a")?.connectedSince == since && state("a")?.reconnects == 0)
        // A policy may change without a new connection.
        var patient = outputs("second")
        patient[1].retry = OutputRetry(maxAttempts: 1)
        let second = state("b")?.connectedSince
        try rig.apply(.bypass("host/camera"), scene, sources, outputs: patient)
        #expect(try await outputEventually { rig.status?.revision == 3 })
        #expect(state("b")?.connectedSince == second)
        await server.stop()
        #expect(
            try await outputEventually { state("b")?.state == .failed && state("a")?.state == .recovering },
            "\(String(describing: rig.status?.outputs.destinations)) \(rig.notes)")
        let again = try await OutputMediaServer.start(in: server.directory, ports: (server.rtmpPort, server.httpPort))
        #expect(try await outputEventually { state("a")?.state == .live })
        #expect(state("b")?.state == .failed)
        try rig.retry("b")
        #expect(try await outputEventually { state("b")?.state == .live })
        try await rig.stop()
        await again.remove()
    }

    /// A relay with an output of every kind: a plan that changes one of them leaves the others unchanged.
    @Test func outputsOfAllKindsComeAndGoOnTheirOwn() async throws {
        let server = try await OutputMediaServer.start()
        let rig = try await RelayRig()
        let directory = server.directory.appending(path: "files").path
        let cdn = [PushDestination(id: "a", url: server.url("all"))]
        func recording(_ participants: Bool, id: String = "r1") -> PlannedOutput {
            PlannedOutput(
                PlannedRecording(
                    settings: RecordingSettings(participants: participants, id: id, startedAt: 1_700_000_000),
                    directory: "\(directory)/recordings", keepFreeBytes: 0))
        }
        func hls(_ metadata: String) -> PlannedOutput {
            PlannedOutput(
                PlannedHLS(
                    directory: "\(directory)/hls", settings: HLSSettings(segmentSeconds: 1, metadata: metadata)))
        }
        rig.publish(
            "host", [try await TestStreams.video(count: 900), try await TestStreams.audio(count: 2100) { _ in 0 }])
        let sources = [PlannedSource(id: "host/camera", url: rig.url("host"))]
        func apply(_ others: [PlannedOutput]) throws {
            try rig.apply(
                .bypass("host/camera"), Scene(canvas: .portrait, panes: []), sources, outputs: cdn, others: others)
        }
        var recordings: [RecordingStatus] { rig.status?.outputs.recordings ?? [] }
        var destination: DestinationStatus? { rig.status?.outputs.destinations.first }

        try apply([hls("one"), recording(true)])
        #expect(try await outputEventually { destination?.state == .live })
        #expect(
            try await outputEventually {
                recordings.map(\.source) == [nil, "host/camera"] && recordings.allSatisfy { $0.state == .recording }
            })
        #expect(try await outputEventually { rig.status?.outputs.hls?.variants.first?.metadata == "one" })
        let (since, file) = (destination?.connectedSince, recordings.first?.file)

        // The participant's file ends, and the program's continues. HLS with other settings starts again.
        try apply([hls("two"), recording(false)])
        #expect(try await outputEventually { recordings.map(\.source) == [nil] })
        #expect(try await outputEventually { rig.status?.outputs.hls?.variants.first?.metadata == "two" })
        #expect(recordings.first?.file == file && recordings.first?.files == 1)
        #expect(
            try await outputEventually {
                rig.notes.contains { $0.hasPrefix("recording-stopped: recording r1 of host/camera was closed") }
            })

        // A new recording is a new file, while the first is closed.
        try apply([recording(false, id: "r2")])
        #expect(try await outputEventually { recordings.map(\.id) == ["r2"] && recordings[0].state == .recording })
        #expect(try await outputEventually { rig.status?.outputs.hls == nil })
        #expect(
            try await outputEventually { rig.notes.contains { $0.hasPrefix("recording-stopped: recording r1 was") } })

        try apply([])
        #expect(try await outputEventually { rig.status?.outputs.count == 1 })
        #expect(destination?.state == .live && destination?.connectedSince == since && destination?.reconnects == 0)
        try await rig.stop()
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(directory)/recordings")
        #expect(files.filter { $0.hasSuffix(".mp4") }.count == 3, "\(files)")
        await server.remove()
    }

    /// AAC with 960 samples per frame cannot be put into MPEG-TS.
    @Test func hlsThatHasNoSoundSaysSo() async throws {
        let rig = try await RelayRig()
        let directory = FileManager.default.temporaryDirectory.appending(path: "hls-\(UInt32.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: directory) }
        var sound = try await TestStreams.audio(count: 300) { _ in 0 }
        sound.configuration = CodecConfiguration(track: .audio, bytes: [0x11, 0x94])
        rig.publish("host", [try await TestStreams.video(count: 200), sound])
        try rig.apply(
            .bypass("host/camera"), Scene(canvas: .portrait, panes: []),
            [PlannedSource(id: "host/camera", url: rig.url("host"))],
            others: [
                PlannedOutput(PlannedHLS(directory: directory.path, settings: HLSSettings(segmentSeconds: 1)))
            ])
        #expect(
            try await outputEventually { rig.notes.contains { $0.hasPrefix("hls-without-sound: HLS has no sound") } })
        #expect(rig.notes.count { $0.hasPrefix("hls-without-sound") } == 1)
        try await rig.stop()
    }

    /// A stopped orchestrator does not read: its replies are limited, and it is disconnected.
    @Test func aControlConnectionThatReadsNothingIsClosed() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "deaf-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "relay.sock").path
        let relay = Relay(
            Relay.Configuration(
                task: "t", socketPath: path, orphanTimeout: 60, worker: URL(filePath: "/bin/true"),
                keepsMixerReady: false),
            logger: Logger(label: "deaf") { _ in SwiftLogNoOpLogHandler() })
        let run = Task { try await relay.run() }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        #expect(
            try await outputEventually {
                withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                    }
                }
            })
        // Each is answered with a line that quotes it.
        let line = Array(repeating: UInt8(ascii: "x"), count: 500) + [0x0A]
        let block = Array([[UInt8]](repeating: line, count: 100).joined())
        var sent = 0
        #expect(
            try await outputEventually {
                for _ in 0..<20 {
                    let count = send(descriptor, block, block.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                    if count < 0, errno == EPIPE || errno == ECONNRESET { return true }
                    sent += max(count, 0)
                }
                return false
            }, "\(sent) bytes were taken")
        relay.terminate()
        try await run.value
    }
}
