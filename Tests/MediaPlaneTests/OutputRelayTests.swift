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
        func outputs(_ name: String) -> [PlannedOutput] {
            [PlannedOutput(id: "a", url: server.url("kept")), PlannedOutput(id: "b", url: server.url(name))]
        }
        let pictures = try await TestStreams.video(count: 900)
        rig.publish("host", [pictures, try await TestStreams.audio(count: 2100) { _ in 0 }])
        let sources = [PlannedSource(id: "host/camera", url: rig.url("host"))]
        let scene = Scene(canvas: .portrait, panes: [])
        try rig.apply(.bypass("host/camera"), scene, sources, outputs: outputs("first"))
        func state(_ id: OutputID) -> OutputStatus? { rig.status?.outputs.first { $0.id == id } }
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
}
