import EventSubscription
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore
import TextFormats

/// The services that deliveries need; immutable and shared.
package struct DeliveryServices: Sendable {
    package var index: SubscriptionIndex
    package var store: any TaskStore
    package var allowed: AllowList
    /// Keys that sign messages in the compatible format, by app.
    package var callbackKeys: [AppID: String] = [:]
    package var metrics: Metrics
    package var logger: Logger
    package var policy: @Sendable (Subscription.Kind) -> DeliveryPolicy = DeliveryPolicy.standard
    var resolve: @Sendable (String, Duration) async throws(FileRefusal) -> [InternetAddress] = HostAddresses.lookUp

    package init(
        index: SubscriptionIndex, store: any TaskStore, allowed: AllowList, callbackKeys: [AppID: String] = [:],
        metrics: Metrics, logger: Logger,
        policy: @escaping @Sendable (Subscription.Kind) -> DeliveryPolicy = DeliveryPolicy.standard,
        resolve: @escaping @Sendable (String, Duration) async throws(FileRefusal) -> [InternetAddress] = HostAddresses
            .lookUp
    ) {
        self.index = index
        self.store = store
        self.allowed = allowed
        self.callbackKeys = callbackKeys
        self.metrics = metrics
        self.logger = logger
        self.policy = policy
        self.resolve = resolve
    }

    /// Returns the time for which a taken message is reserved: an attempt, plus the time that the store may take to
    /// settle it.
    func lease(_ policy: DeliveryPolicy) -> Duration { policy.timeLimit + .seconds(10) }
}

/// Delivers the messages of the outbox. Each endpoint has its own runner, so that a dead endpoint delays no other.
/// Messages that are not delivered when the service stops are delivered after the next start.
package final class DeliveryEngine: Service {
    private let services: DeliveryServices
    private let arrivals: AsyncStream<EndpointRunner>
    private let arrival: AsyncStream<EndpointRunner>.Continuation

    private struct State {
        var runners: [SubscriptionID: EndpointRunner] = [:]
        var isStopping = false
    }
    private let state = Mutex(State())

    /// Time for which a shutdown waits for answers to pending requests.
    static let grace: Duration = .milliseconds(300)

    package init(services: DeliveryServices) {
        self.services = services
        (arrivals, arrival) = AsyncStream.makeStream()
        services.index.connect { [weak self] ids in self?.wake(ids) }
    }

    /// Wakes the runners of subscriptions for which messages may be due.
    package func wake(_ ids: some Sequence<SubscriptionID>) {
        for id in ids {
            let new = state.withLock { state -> EndpointRunner? in
                if state.isStopping { return nil }
                if let runner = state.runners[id] {
                    runner.bell.ring()
                    return nil
                }
                guard let subscription = services.index.subscription(id)?.document else { return nil }
                let runner = EndpointRunner(subscription, services: services)
                state.runners[id] = runner
                return runner
            }
            if let new { arrival.yield(new) }
        }
    }

    /// Returns the circuit of an endpoint that has, or recently had, messages to deliver; `closed` for other endpoints.
    package func circuit(of id: SubscriptionID) -> EndpointMachine.Circuit {
        state.withLock { $0.runners[id] }?.circuit ?? .closed
    }

    /// Number of endpoints to which nothing is currently sent, because they failed.
    package var openCircuits: Int { state.withLock { Array($0.runners.values) }.count { $0.circuit != .closed } }

    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.lookForWaiting() }
            group.addTask {
                await withDiscardingTaskGroup { runners in
                    for await runner in self.arrivals { runners.addTask { await self.run(runner) } }
                }
            }
            await withGracefulShutdownHandler {
                // Ends after `stop`, when every message has been delivered or left for the next start.
                for await _ in group {}
            } onGracefulShutdown: {
                self.stop()
            }
        }
    }

    private func run(_ runner: EndpointRunner) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await runner.run {
                    self.state.withLock { $0.isStopping }
                } retire: {
                    self.retire(runner)
                }
            }
            group.addTask {
                try? await gracefulShutdown()
                try? await Task.sleep(for: Self.grace)
            }
            await group.next()
            group.cancelAll()
        }
        state.withLock { if $0.runners[runner.id] === runner { $0.runners[runner.id] = nil } }
    }

    /// Wakes the runners of messages from before the start.
    private func lookForWaiting() async {
        while !Task.isCancelled, !state.withLock({ $0.isStopping }) {
            do {
                return wake(try await services.store.waitingSubscriptions())
            } catch {
                services.logger.error("the outbox cannot be read: \(error)")
                try? await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(5)) }
            }
        }
    }

    /// Lets a runner end. Returns false when a message has just arrived for it.
    private func retire(_ runner: EndpointRunner) -> Bool {
        state.withLock { state in
            guard !runner.bell.isRung else { return false }
            if state.runners[runner.id] === runner { state.runners[runner.id] = nil }
            return true
        }
    }

    private func stop() {
        let runners = state.withLock { state in
            state.isStopping = true
            return Array(state.runners.values)
        }
        arrival.finish()
        for runner in runners { runner.bell.ring() }
    }
}
