import EncodedMedia
import EventSubscription
import Foundation
import Logging
import MixModel
import Synchronization
import TaskStore

/// Delivers the messages of one subscription: takes due messages, posts them, and settles them. Thread-safe.
final class EndpointRunner: Sendable {
    let id: SubscriptionID
    let bell = Bell()
    private let services: DeliveryServices
    private let policy: DeliveryPolicy
    private let post: WebhookPost
    private let machine: Mutex<EndpointMachine>

    /// Time for which an idle runner is kept, with its connections, in ns.
    static let linger: Int64 = 60_000_000_000
    /// Time between two attempts to read a store that fails, in ns.
    static let storeInterval: Int64 = 1_000_000_000

    init(_ subscription: Subscription, services: DeliveryServices) {
        id = subscription.id
        self.services = services
        policy = services.policy(subscription.kind)
        post = WebhookPost(allowed: services.allowed, resolve: services.resolve)
        machine = Mutex(EndpointMachine(policy: policy))
    }

    var circuit: EndpointMachine.Circuit { machine.withLock { $0.circuit } }

    /// Delivers until the subscription is removed, nothing has been due for a while, or the engine stops.
    ///
    /// - Parameters:
    ///   - isStopping: Returns whether the engine is stopping.
    ///   - retire: Returns whether the runner may end now.
    func run(isStopping: @Sendable () -> Bool, retire: @Sendable () -> Bool) async {
        await withDiscardingTaskGroup { group in
            var idleSince: Int64?
            while !isStopping(), !Task.isCancelled {
                let now = MonotonicClock.now()
                let step = await take(now)
                for item in step.items { group.addTask { await self.deliver(item) } }
                idleSince = step.isIdle ? idleSince ?? now : nil
                if let idleSince, now - idleSince >= Self.linger || step.isOver, retire() { break }
                await bell.wait(until: step.wakeAt ?? idleSince.map { $0 + Self.linger })
            }
        }
        await post.close()
    }

    private struct Step {
        var items: [OutboxItem] = []
        /// Time of the next check if the bell does not ring, in ns of CLOCK_MONOTONIC.
        var wakeAt: Int64?
        /// Whether no message is being sent and none waits.
        var isIdle = false
        /// Whether the subscription was removed or disabled.
        var isOver = false
    }

    private func take(_ now: Int64) async -> Step {
        guard let subscription = services.index.subscription(id)?.document, subscription.isEnabled else {
            return Step(isIdle: machine.withLock { $0.underWay == 0 }, isOver: true)
        }
        let (allowance, reopensAt) = machine.withLock { machine in
            let allowance = machine.allowance(now: now)
            return (allowance, machine.reopensAt)
        }
        guard allowance > 0 else { return Step(wakeAt: reopensAt) }
        do {
            let take = try await services.store.takeMessages(of: id, limit: allowance, lease: services.lease(policy))
            let underWay = machine.withLock { machine in
                machine.began(take.items.count)
                return machine.underWay
            }
            let wakeAt = take.next.map { MonotonicClock.now().saturatingSum(Int64(saturating: $0 / .nanoseconds(1))) }
            return Step(
                items: take.items, wakeAt: take.items.count < allowance ? wakeAt : nil,
                isIdle: underWay == 0 && take.next == nil)
        } catch {
            services.logger.error("messages cannot be read: \(error)", metadata: ["subscription": "\(id)"])
            return Step(wakeAt: now + Self.storeInterval)
        }
    }

    // MARK: One message

    private func deliver(_ item: OutboxItem) async {
        defer { bell.ring() }
        guard let subscription = services.index.subscription(id)?.document else {
            return machine.withLock { $0.abandoned() }
        }
        let start = (wall: wallClock(), monotonic: MonotonicClock.now())
        let answer = await send(item, subscription)
        let now = MonotonicClock.now()
        let attempt = DeliveryAttempt(
            number: item.attempt, at: start.wall, code: answer.code,
            milliseconds: Int((now - start.monotonic) / 1_000_000), error: answer.error,
            url: subscription.shownURL)
        let outcome = outcome(of: answer, item)
        do {
            try await services.store.settle(item, outcome, attempt: answer.result == .abandoned ? nil : attempt)
        } catch {
            // The message is delivered again when its lease has expired.
            services.logger.error(
                "the result of a delivery cannot be stored: \(error)", metadata: ["subscription": "\(id)"])
        }
        note(answer, outcome, item, host: StreamURL.redacted(subscription.url), now)
    }

    private func send(_ item: OutboxItem, _ subscription: Subscription) async -> WebhookAnswer {
        let url: StreamURL
        do {
            url = try StreamURL(subscription.url)
        } catch {
            return WebhookAnswer(result: .forbidden, error: "the URL cannot be used: expected \(error.expected)")
        }
        var headers = [("content-type", WebhookBody.contentType(of: subscription.kind))]
        let time = Int(wallClock())
        if subscription.kind == .own {
            headers += WebhookSignature.standard(
                id: item.message.id, time: time, body: item.message.body, secrets: subscription.secrets)
        } else if let key = services.callbackKeys[subscription.app] {
            headers += WebhookSignature.compatible(host: url.host, time: time, key: key)
        }
        let request = WebhookRequest(
            url: url, headers: headers, body: item.message.body, needs200: subscription.kind != .own)
        return await post.send(request, within: policy.timeLimit)
    }

    private func outcome(of answer: WebhookAnswer, _ item: OutboxItem) -> DeliveryOutcome {
        switch answer.result {
        case .delivered: return .delivered
        case .abandoned: return .retry(after: .zero)
        default: break
        }
        let delay = policy.delay(
            after: item.attempt - item.earlierAttempts, age: .seconds(max(wallClock() - item.queuedAt, 0)),
            asked: answer.retryAfter, random: .random(in: 0..<1))
        return delay.map { .retry(after: $0) } ?? .givenUp
    }

    private func note(
        _ answer: WebhookAnswer, _ outcome: DeliveryOutcome, _ item: OutboxItem, host: String, _ now: Int64
    ) {
        let metrics = services.metrics
        let before = circuit
        machine.withLock { machine in
            switch answer.result {
            case .delivered: machine.succeeded()
            case .abandoned: machine.abandoned()
            default: machine.failed(now: now, random: .random(in: 0..<1))
            }
        }
        guard answer.result != .abandoned else { return }
        metrics.count(.webhookAttempts, answer.result.rawValue)
        let metadata: Logger.Metadata = ["subscription": "\(id)", "message": "\(item.message.id)", "url": "\(host)"]
        switch outcome {
        case .delivered:
            metrics.count(.webhookMessages, "delivered")
            metrics.observe(
                .webhookDelay, nanoseconds: Int64(saturating: (wallClock() - item.queuedAt) * 1e9))
            if before != .closed { services.logger.notice("an endpoint accepts messages again", metadata: metadata) }
        case .givenUp:
            metrics.count(.webhookMessages, "dead")
            services.logger.warning("a message is given up: the endpoint \(answer.error ?? "")", metadata: metadata)
        case .retry: break
        }
        if before == .closed, case .open = circuit {
            services.logger.warning(
                "an endpoint fails, delivery to it is paused: it \(answer.error ?? "")", metadata: metadata)
        }
    }
}
