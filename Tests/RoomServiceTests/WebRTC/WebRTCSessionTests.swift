import ChildProcesses
import EventSubscription
import Foundation
import Logging
import MixModel
import Testing

@testable import RoomService

@Suite(.timeLimit(.minutes(1))) struct WebRTCSessionTests {
    /// A client that asks a session for something while it ends gets an answer.
    @Test func aSessionThatHasEndedRestartsNoICE() async throws {
        let data = "/tmp/ws-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        defer { try? FileManager.default.removeItem(atPath: data) }
        let starter = SocketWorkerStarter(
            .whip, worker: "/nonexistent", orphanTimeout: 1, logLevel: "error", limits: WorkerLimits())
        let surroundings = WebRTCSurroundings(
            files: try WebRTCFiles(data: data), starter: starter, metrics: Metrics(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let names = StreamNames(room: RoomID("demo"), user: UserID("alice"), stream: .camera)
        let record = WebRTCRecord(
            stream: "demo/alice", address: "10.0.0.1", needsToken: false, generation: 1, iceName: "first")
        // Of an earlier run, whose worker is gone.
        let session = WebRTCSession(id: "1", names: names, record: record, publisher: nil, in: surroundings) { _ in }
        await session.run()
        await #expect {
            _ = try await session.change("a=ice-ufrag:other", ICENames(name: "other"), .any)
        } throws: {
            ($0 as? OrchestratorError)?.code == "stopping"
        }
    }
}
