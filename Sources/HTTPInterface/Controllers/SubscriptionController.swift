import Crypto
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import MixModel
import RoomService
import TaskStore
import TextFormats

/// `/v1/subscriptions`: the endpoints that are notified of events.
package struct SubscriptionController: Sendable {
    let registry: SubscriptionRegistry
    let engine: DeliveryEngine

    package init(registry: SubscriptionRegistry, engine: DeliveryEngine) {
        self.registry = registry
        self.engine = engine
    }

    /// Seconds for which messages are also signed with a replaced secret.
    static let overlap = 0...7 * 86_400
    static let standardOverlap = 86_400
    /// Largest number of secrets with which messages are signed at once.
    static let mostSecrets = 3

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("v1/subscriptions", use: list)
        router.post("v1/subscriptions", use: post)
        router.get("v1/subscriptions/{subscription}", use: get)
        router.patch("v1/subscriptions/{subscription}", use: patch)
        router.delete("v1/subscriptions/{subscription}", use: delete)
        router.post("v1/subscriptions/{subscription}/secret", use: replaceSecret)
        router.post("v1/subscriptions/{subscription}/test", use: test)
    }

    private struct List: Encodable {
        var subscriptions: [SubscriptionView]
    }

    @Sendable private func list(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let all = registry.subscriptions(of: context.app, Set(Subscription.Kind.allCases))
        return jsonResponse(List(subscriptions: all.map { SubscriptionView($0) }))
    }

    @Sendable private func get(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try await answer(try registry.subscription(try context.subscriptionID(), of: context.app))
    }

    @Sendable private func post(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let key = try request.idempotencyKey()
        let id = key.map { Self.id(forKey: $0, context.app) } ?? SubscriptionRegistry.newID()
        let document = try await request.json()
        let asked = try SubscriptionReader(registry: registry).read(document, id: id, app: context.app)
        switch try await registry.make(asked) {
        case .made(let subscription):
            var response = try await answer(
                subscription, status: .created, secret: subscription.document.secrets.first?.text)
            response.headers[.location] = "/v1/subscriptions/\(id)"
            return response
        case .same(let subscription):
            return try await answer(subscription)
        }
    }

    /// Returns the id for a key: the same for the same key, and different in each app.
    private static func id(forKey key: String, _ app: AppID) -> SubscriptionID {
        let digest = SHA256.hash(data: Data("\(app)\u{0}\(key)".utf8)).prefix(12)
        return SubscriptionID("sub-" + Hexadecimal.text(digest))
    }

    @Sendable private func patch(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        try request.checkPatchType()
        let current = try own(context)
        let precondition = try SettingsPrecondition(request.headers)
        try precondition.required(current.tag)
        try precondition.check(current.document.id.rawValue, current.tag)
        let document = try await request.json()
        let reader = SubscriptionReader(registry: registry)
        let changed = try await registry.change(
            current.document.id, of: context.app, [.own], version: precondition.isStrict ? current.version : nil
        ) { subscription throws(OrchestratorError) in
            do throws(InputError) {
                try reader.patch(&subscription, with: document)
            } catch {
                throw OrchestratorError(error)
            }
        }
        return try await answer(changed)
    }

    @Sendable private func delete(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let current = try registry.subscription(try context.subscriptionID(), of: context.app)
        let precondition = try SettingsPrecondition(request.headers)
        try precondition.check(current.document.id.rawValue, current.tag)
        try await registry.remove(
            current.document.id, of: context.app, Set(Subscription.Kind.allCases),
            version: precondition.isStrict ? current.version : nil)
        return Response(status: .noContent)
    }

    /// Adds a new secret; old ones stay valid for a while.
    @Sendable private func replaceSecret(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let current = try own(context)
        let bytes = try await request.bytes()
        var reader = try FieldReader(bytes.isEmpty ? .object([:]) : try JSONValue(parsing: bytes))
        let secret = try SubscriptionReader.secret(&reader) ?? WebhookSignature.newSecret()
        let overlap = try reader.integer("overlapSeconds", in: Self.overlap) ?? Self.standardOverlap
        try reader.finish()
        let now = wallClock()
        let changed = try await registry.change(current.document.id, of: context.app, [.own]) { subscription in
            guard subscription.secrets.first?.text != secret else { return }
            let until = now + Double(overlap)
            let earlier = subscription.secrets.map {
                Subscription.Secret(text: $0.text, validUntil: min($0.validUntil ?? until, until))
            }
            subscription.secrets =
                [.init(text: secret)] + earlier.filter { $0.validUntil ?? 0 > now }.prefix(Self.mostSecrets - 1)
        }
        return try await answer(changed, secret: secret)
    }

    private struct Accepted: Encodable {
        var message: String
    }

    @Sendable private func test(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let current = try registry.subscription(try context.subscriptionID(), of: context.app)
        guard current.document.isEnabled, let message = registry.index.testMessage(for: current.document) else {
            throw OrchestratorError(
                .conflict, "subscription-disabled", "The subscription is disabled",
                detail: "nothing is sent to \(current.document.id): PATCH it with {\"enabled\":true} first")
        }
        _ = try await registry.store.commit(StoreChange(outbox: [message]))
        registry.index.stored([message])
        var response = jsonResponse(Accepted(message: message.id), status: .accepted)
        response.headers[.location] = "/v1/subscriptions/\(current.document.id)/deliveries/\(message.id)"
        return response
    }

    /// Returns a subscription of this service's own kind. Others are changed through the interface in which they were
    /// created.
    private func own(_ context: OrchestratorContext) throws -> Versioned<Subscription> {
        let found = try registry.subscription(try context.subscriptionID(), of: context.app)
        guard found.document.kind == .own else {
            throw OrchestratorError(
                .conflict, "subscription-foreign", "The subscription belongs to another interface",
                detail:
                    "\(found.document.id) was created through the ApsaraVideo Live interface: change it there, or delete it here"
            )
        }
        return found
    }

    private func answer(
        _ subscription: Versioned<Subscription>, status: HTTPResponse.Status = .ok, secret: String? = nil
    ) async throws -> Response {
        let id = subscription.document.id
        var view = SubscriptionView(subscription.document)
        view.secret = secret
        let counts = try await registry.store.deliveryCounts(of: id)
        let isClosed = engine.circuit(of: id) == .closed
        view.delivery = SubscriptionView.Delivery(
            state: !subscription.document.isEnabled ? .disabled : isClosed ? .active : .failing,
            waiting: counts.waiting, dead: counts.dead)
        var response = jsonResponse(view, status: status)
        response.headers[.eTag] = subscription.tag.text
        return response
    }
}

extension Versioned<Subscription> {
    var tag: SettingsTag { SettingsTag(Int64(version)) }
}

extension SettingsPrecondition {
    /// Whether the settings must be as they were when they were read.
    fileprivate var isStrict: Bool {
        if case .isAt(let tags) = self { !tags.isEmpty } else { false }
    }
}

extension OrchestratorContext {
    func subscriptionID() throws -> SubscriptionID { SubscriptionID(try identifier("subscription")) }
}
