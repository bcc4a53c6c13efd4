import EventSubscription
import Foundation
import Hummingbird
import MixModel
import RoomService
import TaskStore

/// `/v1/subscriptions/{subscription}/deliveries`: deliveries of messages, and their redelivery.
package struct DeliveryController: Sendable {
    let registry: SubscriptionRegistry

    package init(registry: SubscriptionRegistry) {
        self.registry = registry
    }

    /// Largest number of dead letters that one request sends again.
    static let mostAtOnce = 1000

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/subscriptions/{subscription}/deliveries", use: list)
        router.get("v1/subscriptions/{subscription}/deliveries/{message}", use: get)
        router.post("v1/subscriptions/{subscription}/deliveries/{message}/redeliver", use: sendAgain)
        router.post("v1/subscriptions/{subscription}/redeliver", use: sendDeadLettersAgain)
    }

    private struct List: Encodable {
        var deliveries: [DeliveryView]
        /// Value of `before` for older deliveries; absent at the end.
        var next: Int64?
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let id = try subscription(context)
        let state = try request.queryChoice("state", of: DeliveryState.self)
        let room = try request.queryText("room").map { name in try EventParser.knownIdentifier(name, field: "room") }
        let limit = try request.queryInteger("limit", in: 1...RequestPage.mostEntries) ?? RequestPage.standardLimit
        let before = try request.queryInteger("before", in: 0...Int(1) << 53).map(Int64.init)
        let found = try await registry.store.deliveries(
            of: id, state: state, lane: room, before: before, limit: limit + 1)
        let shown = found.prefix(limit)
        return jsonResponse(
            List(deliveries: shown.map { DeliveryView($0) }, next: found.count > limit ? shown.last?.number : nil))
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (id, message) = (try subscription(context), try context.identifier("message"))
        guard let delivery = try await registry.store.delivery(message, of: id) else {
            throw Self.notFound(message, id)
        }
        var view = DeliveryView(delivery)
        view.log = try await registry.store.attempts(of: message, of: id).map { DeliveryView.Attempt($0) }
        // The compatible format contains whole URLs of outputs.
        view.body = Redaction.text(String(decoding: delivery.message.body, as: UTF8.self))
        return jsonResponse(view)
    }

    @Sendable private func sendAgain(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let (id, message) = (try subscription(context), try context.identifier("message"))
        guard try await registry.store.sendAgain(message, of: id) else {
            guard try await registry.store.delivery(message, of: id) == nil else {
                throw OrchestratorError(
                    .conflict, "delivery-waiting", "The message is still waiting for delivery",
                    detail: "\(message) is sent automatically")
            }
            throw Self.notFound(message, id)
        }
        registry.index.announce([id])
        guard let delivery = try await registry.store.delivery(message, of: id) else {
            throw Self.notFound(message, id)
        }
        return jsonResponse(DeliveryView(delivery), status: .accepted)
    }

    private struct Count: Encodable {
        var redelivered: Int
    }

    /// Sends the oldest dead letters again. Clients repeat the request until the answer is 0.
    @Sendable private func sendDeadLettersAgain(
        _ request: Request, _ context: OrchestratorContext
    ) async throws -> Response {
        let id = try subscription(context)
        let count = try await registry.store.sendDeadLettersAgain(of: id, limit: Self.mostAtOnce)
        registry.index.announce([id])
        return jsonResponse(Count(redelivered: count), status: .accepted)
    }

    private func subscription(_ context: OrchestratorContext) throws -> SubscriptionID {
        try registry.subscription(try context.subscriptionID(), of: context.app).document.id
    }

    private static func notFound(_ message: String, _ id: SubscriptionID) -> OrchestratorError {
        .notFound("delivery", message, cure: "GET /v1/subscriptions/\(id)/deliveries lists those that are kept")
    }
}
