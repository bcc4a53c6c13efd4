import EncodedMedia
import EventSubscription
import Foundation
import HTTPTypes
import Hummingbird
import RoomService

/// `PUT /v1/rooms/{room}/streams`: accepts a complete list of the published streams and answers as for an event.
package struct SnapshotController: Sendable {
    let pages: PageSupervisor
    let parser: EventParser
    let metrics: Metrics
    let limits: RateLimits

    package init(pages: PageSupervisor, parser: EventParser, metrics: Metrics, limits: RateLimits) {
        self.pages = pages
        self.parser = parser
        self.metrics = metrics
        self.limits = limits
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.put("v1/rooms/{room}/streams", use: put)
    }

    private struct Counts: Encodable {
        var accepted: Int
        var duplicate: Int
        var stale: Int
    }

    @Sendable private func put(_ request: Request, _ context: OrchestratorContext) async throws -> Response {
        let receivedAt = MonotonicClock.now()
        let room = try context.newRoomID()
        let id = try request.idempotencyKey() ?? UUID.quick().uuidString
        let event = try parser.snapshot(try await request.json(), room: room, id: id)
        try limits.take(events: 1, context)
        let outcome = try await pages.take(event, at: receivedAt).outcome
        metrics.count(.events, outcome.rawValue)
        return jsonResponse(
            Counts(
                accepted: outcome == .accepted ? 1 : 0, duplicate: outcome == .duplicate ? 1 : 0,
                stale: outcome == .stale ? 1 : 0), status: .accepted)
    }
}

extension Request {
    /// Returns the key that identifies the request, so that repeating it has no further effect.
    func idempotencyKey() throws(InputError) -> String? {
        guard let key = HTTPField.Name("Idempotency-Key").flatMap({ headers[$0] }) else { return nil }
        // Visible ASCII only: proxies differ in how they read and trim other characters in header values.
        guard 1...256 ~= key.utf8.count, key.utf8.allSatisfy({ 0x21...0x7E ~= $0 }) else {
            throw InputError(.invalidField, field: "Idempotency-Key", expected: "1 to 256 characters from ! to ~")
        }
        return key
    }
}
