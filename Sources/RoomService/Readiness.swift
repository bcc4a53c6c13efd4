import EncodedMedia
import Foundation
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// The service's readiness to accept events and changes and to bring programs on air, with the reasons when it is not
/// ready. Thread-safe.
///
/// As a service it checks what relays require: once, and then every minute while something is missing.
package final class Readiness: Service {
    /// One condition of readiness.
    package struct Check: Hashable, Encodable, Sendable {
        package var name: String
        package var ok: Bool
        /// The problem and its remedy, in words; `nil` when the condition is met.
        package var detail: String?
    }

    private struct State {
        var areRoomsRestored = false
        var areRelaysTaken = false
        /// Problems of the worker; `nil` until it has been checked.
        var workerProblems: [String]?
    }
    private let state = Mutex(State())
    private let store: StoreProbe
    private let lookAtWorker: @Sendable () async -> [String]
    private let uploads: Uploader?
    private let shutdown: ShutdownNotice
    private let logger: Logger

    /// Time between two checks of the worker while something is missing.
    static let workerInterval: Duration = .seconds(60)

    /// - Parameters:
    ///   - uploads: The uploader. Its failures are reported, but do not decide whether the service is ready.
    ///   - lookAtWorker: Returns descriptions of what relays lack; empty when they have everything.
    package init(
        store: any TaskStore, shutdown: ShutdownNotice, logger: Logger, uploads: Uploader? = nil,
        lookAtWorker: @escaping @Sendable () async -> [String]
    ) {
        self.store = StoreProbe(store: store)
        self.shutdown = shutdown
        self.logger = logger
        self.lookAtWorker = lookAtWorker
        self.uploads = uploads
    }

    package func roomsAreRestored() { state.withLock { $0.areRoomsRestored = true } }
    /// Marks the relays as taken over. Services start in order, and this one starts after the owners, which connect to
    /// existing relays.
    private func relaysAreTaken() { state.withLock { $0.areRelaysTaken = true } }
    /// Returns all checks, in a fixed order.
    package func checks() async -> [Check] {
        let storeProblem = await store.problem()
        let state = state.withLock { $0 }
        let worker: String? =
            switch state.workerProblems {
            case nil: "mixworker is being checked"
            case let problems? where problems.isEmpty: nil
            case let problems?: problems.joined(separator: "; ")
            }
        return [
            Check("rooms", state.areRoomsRestored ? nil : "rooms are being restored"),
            Check("relays", state.areRelaysTaken ? nil : "relays have not been taken over yet"),
            Check("store", storeProblem), Check("worker", worker),
            Check("shutdown", shutdown.hasBegun ? "the service is shutting down" : nil),
        ] + (uploads.map { [Check(name: "uploads", ok: true, detail: $0.problem)] } ?? [])
    }

    /// The things that relays lack, in words; `nil` if they have everything, or that is not known yet.
    package var workerProblem: String? {
        state.withLock { $0.workerProblems }.flatMap { $0.isEmpty ? nil : $0.joined(separator: "; ") }
    }

    package func run() async throws {
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
    /// - Parameter problem: The problem; `nil` when the condition is met.
    init(_ name: String, _ problem: String?) {
        self.init(name: name, ok: problem == nil, detail: problem)
    }
}

/// Asks the store whether it accepts changes durably, about once a second regardless of the number of callers.
private actor StoreProbe {
    private let store: any TaskStore
    private var answer: (problem: String?, at: Int64)?
    /// Time of the pending question, in ns of CLOCK_MONOTONIC.
    private var askedAt: Int64?
    /// Time for which an answer is reused, in ns.
    static let lifetime: Int64 = 1_000_000_000
    /// Time without an answer after which the store counts as hanging, in ns.
    static let patience: Int64 = 5_000_000_000

    init(store: any TaskStore) { self.store = store }

    func problem() async -> String? {
        let now = MonotonicClock.now()
        if let answer, now - answer.at < Self.lifetime { return answer.problem }
        if let askedAt, now - askedAt > Self.patience {
            return "no answer for \((now - askedAt) / 1_000_000_000) s"
        }
        // Only one question is asked at a time; in the meantime callers get the previous answer.
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
