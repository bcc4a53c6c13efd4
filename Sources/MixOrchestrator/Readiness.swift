import Foundation
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// Whether the service can take events and changes and bring programs on air, and if not, why. Thread-safe.
///
/// As a service it looks for what relays need: once, and again every minute while something is missing.
final class Readiness: Service {
    /// One thing that has to be so.
    struct Check: Hashable, Encodable, Sendable {
        var name: String
        var ok: Bool
        /// What is wrong and what helps, in words.
        var detail: String?
    }

    private struct State {
        var areRoomsRestored = false
        var areRelaysTaken = false
        /// `nil` until it has been looked at.
        var workerProblems: [String]?
    }
    private let state = Mutex(State())
    private let store: StoreProbe
    private let lookAtWorker: @Sendable () async -> [String]
    private let shutdown: ShutdownNotice
    private let logger: Logger

    /// How long what was missing is believed to be missing.
    static let workerInterval: Duration = .seconds(60)

    /// - Parameter lookAtWorker: What relays would miss, in words; empty when they have everything.
    init(
        store: any TaskStore, shutdown: ShutdownNotice, logger: Logger,
        lookAtWorker: @escaping @Sendable () async -> [String]
    ) {
        self.store = StoreProbe(store: store)
        self.shutdown = shutdown
        self.logger = logger
        self.lookAtWorker = lookAtWorker
    }

    func roomsAreRestored() { state.withLock { $0.areRoomsRestored = true } }
    /// Owners run: the relays that are there are being connected. Services start in order, and this one after them.
    private func relaysAreTaken() { state.withLock { $0.areRelaysTaken = true } }
    /// In a fixed order.
    func checks() async -> [Check] {
        let storeProblem = await store.problem()
        let state = state.withLock { $0 }
        let worker: String? =
            switch state.workerProblems {
            case nil: "mixworker is being looked at"
            case let problems? where problems.isEmpty: nil
            case let problems?: problems.joined(separator: "; ")
            }
        return [
            Check("rooms", state.areRoomsRestored ? nil : "rooms are being restored"),
            Check("relays", state.areRelaysTaken ? nil : "relays are not being taken over yet"),
            Check("store", storeProblem), Check("worker", worker),
            Check("shutdown", shutdown.hasBegun ? "the service is shutting down" : nil),
        ]
    }

    func run() async throws {
        relaysAreTaken()
        while !Task.isShuttingDownGracefully, !Task.isCancelled {
            let problems = await lookAtWorker()
            let isNews = state.withLock { state in
                defer { state.workerProblems = problems }
                return state.workerProblems != problems
            }
            if isNews { for problem in problems { logger.error("programs will not work: \(problem)") } }
            if problems.isEmpty { break }
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.workerInterval) }
        }
        try? await gracefulShutdown()
    }
}

extension Readiness.Check {
    /// - Parameter problem: `nil` when all is well.
    init(_ name: String, _ problem: String?) {
        self.init(name: name, ok: problem == nil, detail: problem)
    }
}

/// Asks the store whether it takes changes durably, about once a second however many ask.
private actor StoreProbe {
    private let store: any TaskStore
    private var answer: (problem: String?, at: Int64)?
    /// Since when it is being asked.
    private var askedAt: Int64?
    /// In ns of CLOCK_MONOTONIC.
    static let lifetime: Int64 = 1_000_000_000
    /// A store that takes longer for one change hangs.
    static let patience: Int64 = 5_000_000_000

    init(store: any TaskStore) { self.store = store }

    func problem() async -> String? {
        let now = MonotonicClock.now()
        if let answer, now - answer.at < Self.lifetime { return answer.problem }
        if let askedAt, now - askedAt > Self.patience {
            return "it has not answered for \((now - askedAt) / 1_000_000_000) s"
        }
        // One question at a time; meanwhile what was so before is said.
        if askedAt != nil, let answer { return answer.problem }
        askedAt = askedAt ?? now
        defer { askedAt = nil }
        var problem: String?
        do {
            try await store.check()
        } catch {
            problem = error.description
        }
        answer = (problem, MonotonicClock.now())
        return problem
    }
}
