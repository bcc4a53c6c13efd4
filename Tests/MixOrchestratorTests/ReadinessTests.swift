import Foundation
import Logging
import Synchronization
import TaskStore
import Testing

@testable import MixOrchestrator
@testable import RoomService

@Suite(.timeLimit(.minutes(2))) struct ReadinessTests {
    private let log = LogRecorder()

    private func readiness(
        store: any TaskStore = MemoryTaskStore(), shutdown: ShutdownNotice = ShutdownNotice(),
        worker: @escaping @Sendable () async -> [String] = { [] }
    ) -> Readiness {
        Readiness(store: store, shutdown: shutdown, logger: log.logger, lookAtWorker: worker)
    }

    private func problems(_ readiness: Readiness) async -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: await readiness.checks().compactMap { check in
                check.detail.map { (check.name, $0) }
            })
    }

    @Test func itIsReadyOnlyWhenEverythingIs() async throws {
        let shutdown = ShutdownNotice(logger: log.logger)
        let readiness = readiness(shutdown: shutdown)
        #expect(Set(await problems(readiness).keys) == ["rooms", "relays", "worker"])
        readiness.roomsAreRestored()
        #expect(Set(await problems(readiness).keys) == ["relays", "worker"])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await readiness.run() }
            try await eventually { await problems(readiness).isEmpty ? true : nil }
            #expect(await readiness.checks().map(\.name) == ["rooms", "relays", "store", "worker", "shutdown"])
            group.addTask { try await shutdown.run() }
            group.cancelAll()
        }
        #expect(await problems(readiness) == ["shutdown": "the service is shutting down"])
    }

    @Test func whatRelaysMissIsSaidOnceAndInWords() async throws {
        let readiness = readiness { ["GStreamer element x264enc (encoding) is missing: apt-get install it"] }
        readiness.roomsAreRestored()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await readiness.run() }
            try await eventually { await problems(readiness)["worker"]?.contains("x264enc") == true ? true : nil }
            group.cancelAll()
        }
        #expect(log.text.components(separatedBy: "x264enc").count == 2)
    }

    /// A store that can be read but not written takes no events.
    @Test func aStoreThatTakesNoChangesIsNotReady() async throws {
        let store = ProbedStore()
        let readiness = readiness(store: store)
        let start = ContinuousClock.now
        for _ in 0..<200 { #expect(await problems(readiness)["store"] == nil) }
        let most = Int((ContinuousClock.now - start) / .seconds(1)) + 1
        #expect(store.checks.value <= most, "many may ask, the disk is not written for each")
        store.failure.value = .full(path: "/data/orchestrator.sqlite")
        try await eventually { await problems(readiness)["store"] != nil ? true : nil }
        #expect(await problems(readiness)["store"] == StoreError.full(path: "/data/orchestrator.sqlite").description)
        #expect(try await store.room("demo") == nil, "it can still be read")
        store.failure.value = nil
        try await eventually { await problems(readiness)["store"] == nil ? true : nil }
    }

    @Test func theAnswerSaysWhatIsMissing() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, store: MemoryTaskStore()) { bench in
                let good = try await eventually { () -> Answer? in
                    let answer = try await bench.call(.get, "/readyz")
                    return answer.status == 200 ? answer : nil
                }
                #expect(try good.value("status") == "ok")
                #expect(try good.value("checks.2.name") == "store")
                await bench.store.close()
                let bad = try await eventually { () -> Answer? in
                    let answer = try await bench.call(.get, "/readyz")
                    return answer.status == 503 ? answer : nil
                }
                #expect(try bad.value("type") == "urn:mixorchestrator:problem:not-ready")
                #expect(try bad.value("detail")?.hasPrefix("store: ") == true)
                #expect(bad.headers[.retryAfter] == "1")
                #expect(try await bench.call(.get, "/healthz").status == 200)
                #expect(try await bench.call(.get, "/metrics").text.contains("\nready 0\n"))
            }
        }
    }

    /// The service notices that its data directory is gone. At 0088c6d it answered events with 202, and `/readyz` with
    /// 200.
    @Test func aDataDirectoryThatIsTakenAwayIsNoticedAndProgramsGoOn() async throws {
        try await withDirectory { place in
            let directory = place + "/data"
            let files = FileManager.default
            try files.createDirectory(atPath: directory + "/relays", withIntermediateDirectories: true)
            let relays = ScriptedRelays()
            defer { relays.tearDown() }
            try await withOrchestrator(directory: directory, relays: relays) { bench in
                try await bench.publish("alice")
                try await bench.plan { $0.mode == .bypass("alice/camera") }
                try await eventually { try await bench.call(.get, "/readyz").status == 200 ? true : nil }
                try files.moveItem(atPath: directory, toPath: place + "/away")
                let body = #"{"type":"stream.published","user":"bob","url":"rtmp://127.0.0.1/live/bob"}"#
                let refused = try await bench.call(.post, "/v1/rooms/demo/events", body)
                #expect(refused.status == 503)
                #expect(try refused.value("type") == "urn:mixorchestrator:problem:store-unavailable")
                #expect(try refused.value("detail")?.contains("was removed while the service runs") == true)
                let unready = try await eventually { () -> Answer? in
                    let answer = try await bench.call(.get, "/readyz")
                    return answer.status == 503 ? answer : nil
                }
                #expect(try unready.value("detail")?.contains(directory) == true)
                #expect(bench.log.text.contains("was removed while the service runs"))
                #expect(relays.running.count == 1, "the program is on air")
                try files.moveItem(atPath: place + "/away", toPath: directory)
                #expect(try await bench.call(.post, "/v1/rooms/demo/events", body).status == 202)
                try await eventually { try await bench.call(.get, "/readyz").status == 200 ? true : nil }
                try await bench.plan { $0.sources.count == 2 }
            }
        }
    }

    @Test func aWorkerThatIsNotThereIsNamed() async {
        let starter = RelayStarter(worker: "/nowhere/mixworker", orphanTimeout: 1, logLevel: "info")
        let missing = await starter.missing()
        #expect(missing.count == 1)
        #expect(missing.first?.contains("/nowhere/mixworker") == true)
    }
}

/// A store whose checks fail on request.
private final class ProbedStore: ForwardingTaskStore {
    let base: any TaskStore = MemoryTaskStore()
    let failure = LockedBox<StoreError?>(nil)
    let checks = LockedBox(0)

    func check() async throws(StoreError) {
        checks.value += 1
        if let failure = failure.value { throw failure }
    }
}
