import Foundation
import MixModel
import Synchronization
import Testing

@testable import MixOrchestrator
@testable import RoomService

/// Relays that are ended because another node has their room.
@Suite(.timeLimit(.minutes(2))) struct AbandonedRelayTests {
    /// Starts scripted relays, and notes whether the end of one was collected.
    private final class Starter: RelayStarting {
        let relays = ScriptedRelays()
        let isCollected = Mutex(false)

        func start(task: TaskID, socket: String) throws(RelayError) -> any RelayProcessHandle {
            Handle(relay: try relays.start(task: task, socket: socket), starter: self)
        }

        func killLeftover(socket: String) {}
    }

    private struct Handle: RelayProcessHandle {
        let relay: any RelayProcessHandle
        let starter: Starter

        var processID: Int32 { relay.processID }

        func exitDescription() -> String? {
            let exit = relay.exitDescription()
            if exit != nil { starter.isCollected.withLock { $0 = true } }
            return exit
        }

        func signal(_ number: Int32) { relay.signal(number) }
    }

    /// Otherwise each of them would stay in the process table until the service ends.
    @Test func theEndOfAnAbandonedRelayIsCollected() async throws {
        try await withDirectory { directory in
            let starter = Starter()
            defer { starter.relays.tearDown() }
            let (reports, inbox) = AsyncStream.makeStream(of: RelaySupervisor.Report.self)
            let supervisor = RelaySupervisor(
                task: "auto-demo", socket: directory + "/relays/auto-demo.sock", starter: starter,
                starts: Turnstile(limit: 1), logger: LogRecorder().logger
            ) { inbox.yield($0) }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await supervisor.run() }
                supervisor.perform([.launchRelay])
                for await report in reports {
                    if case .connected = report { break }
                }
                await supervisor.abandon()
                await supervisor.collect()
                group.cancelAll()
            }
            #expect(starter.isCollected.withLock { $0 })
            #expect(starter.relays.running.isEmpty)
        }
    }
}
