import Foundation
import LayoutEngine
import MixModel
import Testing
import EncodedMedia

@testable import ProgramRelay
@testable import RTMP

/// Destinations as a relay has them.
@Suite(.serialized, .timeLimit(.minutes(2))) struct OutputRelayTests {
    /// A destination that gets another URL begins anew there; the others go on, whatever plans come.
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
        #expect(try await outputEventually { state("a")?.state == .live && state("b")?.state == .live })
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
        #expect(try await outputEventually { state("b")?.state == .failed && state("a")?.state == .recovering })
        let again = try await OutputMediaServer.start(in: server.directory, ports: (server.rtmpPort, server.httpPort))
        #expect(try await outputEventually { state("a")?.state == .live })
        #expect(state("b")?.state == .failed)
        try rig.retry("b")
        #expect(try await outputEventually { state("b")?.state == .live })
        try await rig.stop()
        await again.remove()
    }

    /// One relay with an output of every kind: a plan that changes one of them leaves the others as they are.
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

        // The participant's file ends, the program's goes on; HLS of other settings begins anew.
        try apply([hls("two"), recording(false)])
        #expect(try await outputEventually { recordings.map(\.source) == [nil] })
        #expect(try await outputEventually { rig.status?.outputs.hls?.variants.first?.metadata == "two" })
        #expect(recordings.first?.file == file && recordings.first?.files == 1)
        #expect(
            try await outputEventually {
                rig.notes.contains { $0.hasPrefix("recording-stopped: recording r1 of host/camera was closed") }
            })

        // Another recording is another file, while the first is closed.
        try apply([recording(false, id: "r2")])
        #expect(try await outputEventually { recordings.map(\.id) == ["r2"] && recordings[0].state == .recording })
        #expect(rig.status?.outputs.hls == nil)
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
}
