import EncodedMedia
import Foundation
import MixModel
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Relays of a service that shuts down and does not keep them.
@Suite(.timeLimit(.minutes(2))) struct RelayShutdownTests {
    /// It would stay on air without a service.
    @Test func noRelayStartsWhileTheOthersEnd() async throws {
        try await withDirectory { directory in
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            let store = MemoryTaskStore()
            try await withRegistry(store, relays: relays, in: directory, hasOutputs: true) { registry in
                let owner = try await registry.owner("demo")
                _ = await owner.drainForShutdown()
                let publication = Publication(user: "alice", url: "rtmp://127.0.0.1/live/alice")
                let event = RoomEvent(room: "demo", source: "s", id: "1", kind: .streamPublished(publication))
                _ = try await owner.receive(event, at: MonotonicClock.now())
                #expect(await owner.snapshot.task("auto-demo")?.machine.document.isActive == true)
                try await Task.sleep(for: .milliseconds(300))
                #expect(relays.started.isEmpty)
            }
            // The next run of the service starts it.
            _ = try await withRegistry(store, relays: relays, in: directory, hasOutputs: true) { _ in
                try await eventually { relays.running.first?.plan }
            }
        }
    }
}
