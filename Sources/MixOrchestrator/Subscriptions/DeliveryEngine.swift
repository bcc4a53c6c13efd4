import EventSubscription
import Logging
import MixModel
import ServiceLifecycle
import Synchronization
import TaskStore

/// What everybody who delivers needs; immutable, shared.
struct DeliveryServices: Sendable {
    var book: SubscriptionBook
    var store: any TaskStore
    var allowed: AllowList
    /// Signs what goes out in the compatible format.
    var callbackKeys: [AppID: String] = [:]
    var metrics: Metrics
    var logger: Logger
    var policy: @Sendable (Subscription.Kind) -> DeliveryPolicy = DeliveryPolicy.standard
    var resolve: @Sendable (String, Duration) async throws(ImageRefusal) -> [InternetAddress] = HostAddresses.lookUp

    /// How long a message belongs to who took it: an attempt, and what the store may take to settle it.
    func lease(_ policy: DeliveryPolicy) -> Duration { policy.timeLimit + .seconds(10) }
}

/// Delivers what is in the outbox, each endpoint by a runner of its own: a dead one delays no other. What is not
/// delivered when the service stops is delivered by the next one.
final class DeliveryEngine: Service {
    private let services: DeliveryServices
    private let arrivals: AsyncStream<EndpointRunner>
    private let arrival: AsyncStream<EndpointRunner>.Continuation

    private struct State {
        var runners: [SubscriptionID: EndpointRunner] = [:]
        var isStopping = false
    }
    private let state = Mutex(State())

    /// How long a shutdown waits for answers to what is on its way.
    static let grace: Duration = .milliseconds(300)

    init(services: DeliveryServices) {
        self.services = services
        (arrivals, arrival) = AsyncStream.makeStream()
        services.book.connect { [weak self] ids in self?.wake(ids) }
    }

    /// Something may be due for these.
    func wake(_ ids: some Sequence<SubscriptionID>) {
        for id in ids {
            let new = state.withLock { state -> EndpointRunner? in
                if state.isStopping { return nil }
                if let runner = state.runners[id] {
                    runner.bell.ring()
                    return nil
                }
                guard let subscription = services.book.subscription(id)?.document else { return nil }
                let runner = EndpointRunner(subscription, services: services)
                state.runners[id] = runner
                return runner
            }
            if let new { arrival.yield(new) }
        }
    }

    /// Of endpoints with something to deliver now, or lately.
    func circuit(of id: SubscriptionID) -> EndpointMachine.Circuit {
        state.withLock { $0.runners[id] }?.circuit ?? .closed
    }

    /// Endpoints to which nothing is sent for a while.
    var openCircuits: Int { state.withLock { Array($0.runners.values) }.count { $0.circuit != .closed } }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.lookForWaiting() }
            group.addTask {
                await withDiscardingTaskGroup { runners in
                    for await runner in self.arrivals { runners.addTask { await self.run(runner) } }
                }
            }
            await withGracefulShutdownHandler {
                // Ends when everything has been given up or delivered after `stop`.
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

    /// Messages of before the start.
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

    /// False when something came for it just now.
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
