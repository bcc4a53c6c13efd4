import ChildProcesses
import Logging
import MixModel
import Synchronization
import Testing

@testable import RoomService

@Suite(.timeLimit(.minutes(1))) struct WorkerLinkTests {
    /// A full queue must not hide that a worker is gone.
    @Test func theEndIsRepeatedUntilThereIsRoom() async {
        let starter = SocketWorkerStarter(
            .whep, worker: "/nonexistent", orphanTimeout: 1, logLevel: "error", limits: WorkerLimits())
        let link = WorkerLink<PlayCommand, PlayReport>(
            starter, socket: "/nonexistent.sock", log: "/dev/null", isAdopted: false,
            longestLine: PlayCommand.longestLine, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let attempts = Mutex(0)
        await link.run { event in
            guard case .lost = event else { return true }
            return attempts.withLock { attempts in
                attempts += 1
                return attempts == 3
            }
        }
        #expect(attempts.withLock { $0 } == 3)
    }

    @Test func thePauseGrowsWhileConnectionsAreShort() {
        var pause = ReconnectPause()
        for milliseconds in [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000] {
            #expect(pause.next(after: .milliseconds(3)) == .milliseconds(milliseconds))
        }
        #expect(pause.next(after: .seconds(5)) == .zero)
        #expect(pause.next(after: .zero) == .milliseconds(50))
    }
}
